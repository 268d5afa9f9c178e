// Package job is the source of the triggers of jobs: texts and prompts with a schedule.
//
//	configuration ──► Plan: one waiting trigger for each job ──► due ──► Fire: its text or its run, and the next waiting trigger
//
// What comes in: [Source.Configure] sets the jobs of the configuration; others are rows that package jobs stores. What goes out:
// effects for router/trigger, which stores, sends and follows them. A trigger's key names the job and the instant, so that no replica can store, and therefore fire, an instant twice.
//
// Instants that passed while no replica was running are not made up for: the latest one is fired if it is not older than the
// job's window, and the others are stored as missed, in one row.
//
// Each waiting trigger names the latest one of its job that has, or may get, a run (Before). So one read by key tells whether that run
// still works, and the new instant is skipped, waits, or ends it. A failed run is repeated by making its trigger waiting again.
//
// A job with checks, and a heartbeat, does something only when there is a reason. At other instants its trigger moves on to the next
// instant without a record, so a trigger's key may name an earlier instant than the one at which it fires. Seen counts the news that
// the job knows; it is stored in the commit that fires, so nobody tells them again.
package job
