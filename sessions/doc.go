// Package sessions holds what a conversation with an agent is made of: keys and
// ids, peers and routes, messages and their tree, runs, and the Session step
// API that drives a model one completion at a time. It also declares the ports
// for models, tools and the store that a Session needs.
//
// A run's life:
//
//	accept ──► queued ──► running ──► done
//	             │           ├──────► failed | timeout | aborted
//	             └──────────────────► dropped (queue overflow, told to the sender)
//
// A conversation is a tree. Record.Head is the leaf of the selected thread; moving
// it (Edit, Retry, Branch, Switch, Undo) deletes nothing. Summaries stand beside it:
//
//	question ── answer ── question ── answer ── question ◄─ head
//	    │                    │  └──── answer                 the thread: summary, question
//	    └── another answer   summary of all up to here
//
// Everything that must happen is a row; a row is written in the same
// transaction as its cause. One session has one writer at a time: the owner of
// its partition, whose epoch every write carries.
//
// When something fails: a commit that meets another revision is ErrConflict and
// wrote nothing. Of a commit whose answer was lost the next Persist finds out
// whether it was applied. A completion that fails leaves the thread as it was. A tool call is
// stored before it runs and its result after: it runs at most once.
//
// The only goroutine is that of RequestCompletion; it ends before its channel is closed.
package sessions
