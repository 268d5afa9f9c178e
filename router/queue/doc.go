// Package queue decides what a session works next. It is pure: what waits and the time come in, the runs to work or the time
// to wait go out.
//
// A run that was running when its worker died comes first, with what was merged into it. Commands and what agents say to each other are worked alone. Parts
// of one message (an album, a text that an app has cut) are one message; a message whose next part may still be on its way waits for
// it. The mode decides whether messages that wait together become one run.
package queue
