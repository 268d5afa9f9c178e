// Package inbound takes in what people, platforms and programs send.
//
//	event ──► Admit: who speaks, and may they? ──► a command? ──► which session, and is there room? ──► one commit: event,
//	    and its effects: a run, a notice, a line of the group's history [, a new session] ──► wake the lanes
//
// What comes in: [Intake.Admit] for programs and [Intake.Accept] for adapters. What goes out: one commit for each event, live
// events, wakes, and the reaction that shows that a message was received.
//
// The decisions are functions: handlingOf (where an event goes), findPress (what a button means), fits, skipped and overflowText
// (what a full queue does). Who may speak is decided by package place, what a command wants by package commands.
//
// # Failure rules
//
// A platform is told that an event was accepted only after the commit. The event's key is unique: a repeated event changes
// nothing and gets the first answer. If another commit gets in between (a new session, a full queue), the event is admitted
// again from the start, a bounded number of times. The sweep of the lanes finds the work of a lost wake.
//
// # Goroutines
//
// The package starts none.
package inbound
