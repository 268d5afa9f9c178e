// Package work carries out the runs of sessions: it claims them, lets the agent work, and stores how they end.
//
//	the session's lane ──► turn: read the queue, pick a batch ──► claim, one commit: runs started, messages in the thread
//	    ──► drive: the agent works; live events, typing and previews show it; messages that come may be given to it (steer)
//	    ──► finish, one commit: last message, end of the runs, delivery of the answer [, next step of an exchange]
//
// What comes in: [Workers.Worker] gives a lane the worker of its session. What goes out: commits, live events, and
// platform calls that show progress (typing, previews, reactions).
//
// Each step is a type with its own fields: claimer, driver, finisher; intake adds messages to the thread, steering gives
// new messages to a run, shows displays its progress, orders carries out commands.
//
// # Failure rules
//
// A running run without a worker continues from its last stored step; after a number of starts it ends as failed. An
// agent's answer is kept in memory while the database is unavailable. A run whose partition moves to another replica is
// handed back, and its start is not counted. Previews, typing and reactions are best effort: failures are ignored.
//
// # Goroutines
//
// The timers of a run's show, which its close waits for, and the workers of [Acks], between Start and Stop. Lock order
// in a show: work, mu.
package work
