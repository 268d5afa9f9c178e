// Package discord is the adapter to Discord: one [Adapter] is one bot.
//
// From github.com/bwmarrin/discordgo come types and constants: components, commands, intents, kinds of message. What it does with a connection is done here instead,
// because it can't be done safely with it:
//
//   - the gateway: the library tries again for ever after a refused token, blocks without a context
//     while it waits for Hello, resumes at the wrong address, answers an invalid session at once, and keeps
//     session and sequence to itself, so that no other process can resume. Here each shard is
//     one loop (shard.go, gateway.go).
//   - events: the library starts a goroutine for each, which loses their order. Here each channel has
//     a lane that goes on to the next event when the Acceptor has the one before.
//   - REST: the library sleeps in its limits without looking at a context, and its addresses are globals of the
//     process. Here each account has its own client with its own limits, and a call that would be refused is not made.
//   - its Message, Guild, Role and Member refuse to be decoded as a whole for one thing that they don't know: a new kind
//     of component, a permission beyond 63 bits. Here wire.go has what is used of them, and [adapters.Decode] leaves
//     out what has another type than expected.
//
// # What is not lost
//
// Discord has no confirmations. A connection that broke is resumed after the last event
// that came; what came waits in its lane until it is accepted. A new process resumes
// the session of the last one after the last event up to which all were done with, so Discord gives
// it the rest; where the session is over, it fetches what was said in each
// channel after the last message that was accepted there. Both may give what is there already: an
// event's name is the same each time, and the Acceptor drops it.
//
// # Goroutines
//
// [Adapter.Run] has one for each shard, one for the heart of each connection, one for each shard
// that saves its position, and one for each channel that has events waiting. It waits
// for all of them. A lane holds at most maxLane events and all lanes maxLanes; when one is full the
// connection is not read until there is room.
package discord
