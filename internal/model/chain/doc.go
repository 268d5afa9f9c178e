// Package chain asks the models of a chain, one after the other, until one answers.
//
// A chain is written as one text, "anthropic/large, openai/medium". Each of its models is asked with the keys of its
// provider. The order of attempts is: the same key again, at most once and soon; the next key; the next model. After an
// attempt that failed,
//
//	rate limited                         waits for Retry-After if it is short; then the next key
//	overloaded, unavailable, cut         once more, then the next key
//	auth, billing                        the next key
//	missing                              the next model
//	loading                              the same again, as long as the provider's first token may take
//	refused by a budget, Cheaper         the next model
//	context overflow, refused, cancelled ends the chain: the request itself is the reason
//
// Before the first attempt the chain leaves out the models that may not be told what the prompt says
// ([sessions.Request.Label]) and those that can't take the request. What an attempt has streamed before it failed is
// declared void ([sessions.Chunk]), so that nobody reads two halves of different answers.
//
// A failure moves the chain on until the end of the turn ([Chain.BeginTurn]). Keys and models that have failed cool down
// ([cooldown.Board]): they are passed over, in every session, until their time is over. A chain of one model with one key
// has nothing to fail over to, so only a key that a person must fix stops it from asking; its caller repeats.
package chain
