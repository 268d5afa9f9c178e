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
// Everything that must happen is a row; a row is written in the same
// transaction as its cause. One session has one writer at a time: the owner of
// its partition, whose epoch every write carries.
package sessions
