// Package place decides who may talk to the bot where, and in which session.
//
// What comes in is an event ([Arrival]); what goes out is how it is admitted ([Admit]), and the record of the session
// in which it is worked, with the change that makes or replaces the session. The package writes nothing: who asked
// commits the change.
//
// An owner is always heard in a direct chat. Others are heard as the channel's policy says: paired, listed or
// anybody. A group is heard if it is listed or open; talk that does not address the bot is kept as the group's
// history, unless the session or the group answers everything. A conversation counts under the oldest id that it had.
package place
