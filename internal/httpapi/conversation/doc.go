// Package conversation serves what the HTTP API says about one conversation: sessions and their settings, messages and their
// answers, events, history, runs, requests between sessions, and tasks.
//
// In: requests that the guard has let in, with their caller in the context. Out: records as programs see them, without what
// is above the caller's level (view) and without answers that the gate withholds (Answers). Handlers return errors as they
// are. An event stream ends when the caller goes, when the session rises above the caller's level, or with Ending.
package conversation
