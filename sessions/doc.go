// Package sessions has the Session step API, which drives a model one completion at
// a time. The packages below it define the parts of a conversation, and names.go repeats
// their names here: address (ids, keys, routes), message (messages and their parts), turn
// (runs), record (stored rows and the port of the store), port (models, tools, the
// monitor), notes (memories), audit (the audit trail), prompt (system prompts).
//
// A run's life:
//
//	accept ──► queued ──► running ──► done
//	             │           ├──────► failed | timeout | aborted
//	             └──────────────────► dropped (queue overflow; the sender is notified)
//
// A conversation is a tree. Record.Head is the leaf of the selected thread; moving
// it (Edit, Retry, Branch, Switch, Undo) deletes nothing. Summaries are not part of the tree:
//
//	question ── answer ── question ── answer ── question ◄─ head
//	    │                    │  └──── answer                 the thread: summary, question
//	    └── another answer   summary of all up to here
//
// Everything that must happen is a row; a row is written in the same
// transaction as its cause. One session has one writer at a time: the owner of
// its partition, whose epoch every write carries.
//
// When something fails: a commit that finds another revision returns ErrConflict
// and writes nothing. If the answer to a commit is lost, the next Persist finds out
// whether it was applied. A completion that fails leaves the thread unchanged. A tool
// call is stored before it runs, and its result after, so it runs at most once.
//
// The only goroutine is that of RequestCompletion; it ends before its channel is closed.
package sessions
