// Package discord is the adapter to Discord: one [Adapter] is one bot.
//
// The package uses types and constants of github.com/bwmarrin/discordgo: components, commands, intents, kinds of message. It
// implements the connections itself, because the library does not handle them safely:
//
//   - the gateway: after a refused token the library retries forever. It waits for Hello without a context,
//     resumes at the wrong address, answers an invalid session at once, and does not expose session and sequence,
//     so that no other process can resume. Here each shard is one loop (shard.go, gateway.go).
//   - events: the library starts a goroutine for each event and so loses their order. Here each channel has
//     a lane, which handles the next event when the Acceptor has the previous one.
//   - REST: the library waits for rate limits without a context, and its addresses are global variables. Here
//     each account has its own client and limits, and a call that would be refused is not made.
//   - decoding: its Message, Guild, Role and Member fail as a whole on one unknown part, such as a new kind of
//     component or a permission beyond 63 bits. Here wire.go has the fields that are used, and [adapters.Decode]
//     leaves out a field of an unexpected type.
//
// # Delivery
//
// Discord has no confirmations. After a broken connection, the session is resumed behind the last event that arrived;
// events that arrived wait in their lanes until they are accepted. A new process resumes the session of the last one
// behind the event up to which all were accepted, and Discord repeats the rest. If the session has ended, the process
// fetches the messages of each channel after the last one that was accepted there. Events may be repeated: they have
// the same name each time, and the Acceptor drops repetitions.
//
// # Goroutines
//
// [Adapter.Run] has one for each shard, one for the heartbeat of each connection, one for each shard that saves its
// position, and one for each channel with waiting events. It waits for all of them. A lane holds at most maxLane events,
// and all lanes together maxLanes. When a lane is full, the connection is not read until there is room.
package discord
