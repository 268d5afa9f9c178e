// Package model finds language models by name, "<provider>/<model>".
//
// Below it stand a package per kind of provider (anthropic, openai, offline) and
// wire, which the network clients share. What a client promises:
//
//   - one request per completion: it never retries, the agent does, inside its budget;
//   - a stream that breaks off is an error, never a short answer;
//   - silence ends it: a time-out until the first byte, another between two bytes;
//   - it starts no goroutine of its own, and a request that waits costs little memory:
//     net/http's two goroutines and small buffers, no copy of the prompt, no read buffer.
//
// How a failure is called, as [sessions.ModelErrorKind]:
//
//	429                                             rate limited, with Retry-After
//	402, 429 and 400 that speak of quota or credit  billing
//	5xx, overloaded inside a stream                 overloaded
//	503 while the server loads the model             loading
//	no connection, no name, TLS, silence            unavailable
//	end of the stream before its end marker         cut
//	4xx that speaks of the prompt's length, 413     context overflow
//	401                                             auth
//	403                                             forbidden; refused if it speaks of moderation
//	404                                             missing
//	every other status, one document for a stream   refused
//
// The texts of errors hold at most 4 KiB of what the provider said, and never the key.
package model
