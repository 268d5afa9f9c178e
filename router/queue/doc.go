// Package queue decides which runs a session starts next. Its functions are pure: from the waiting runs and the time they
// compute the runs to start, or the time to wait.
//
// A run that was running when its worker died comes first, with what was merged into it. Commands and messages
// between agents run alone. Parts of one message (an album, a text that an app has cut) are one message; a
// message whose next part may still be on its way waits for it. The mode decides whether messages that wait together
// become one run.
package queue
