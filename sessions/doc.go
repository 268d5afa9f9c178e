// Package sessions has the Session step API, which drives a model one completion at
// a time. What a conversation is made of is in the packages below it, and their names
// are here too (names.go): address has ids, keys and routes; message what is said; turn
// the runs; record what is stored, and the port of the store; port the models, tools and
// the monitor; notes the memories; audit the audit trail; prompt the system prompts.
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
