// Package work works the runs of sessions.
//
//	the session's lane ──► turn: read the queue, pick a batch ──► claim, one commit: runs started, messages in the thread
//	    ──► drive: the agent works; live events, typing and previews show it; messages that come may be given to it (steer)
//	    ──► finish, one commit: last message, end of the runs, delivery of the answer [, next step of an exchange]
//
// What comes in: [Workers.Worker], by which a lane gets the worker of its session. What goes out: commits, live events, and calls
// of the platform for what shows that a run works (typing, previews, reactions).
//
// Each step is a type with its own fields: claimer, driver, finisher; intake brings messages into the thread, steering gives
// messages to a run while it works, shows makes what people see of it, orders carries out commands.
//
// # Failure rules
//
// A run that is running and has no worker is gone on with from its last stored step; after a number of starts it ends as failed.
// What the agent has said is kept while the database is away. A run whose partition goes elsewhere is handed back, and its start
// counts as no attempt. Previews, typing and reactions are a courtesy: what fails of them is left out.
//
// # Goroutines
//
// The timers of a run's show, which its close waits for, and the workers of [Acks], between Start and Stop. Lock order in a
// show: work, mu.
package work
