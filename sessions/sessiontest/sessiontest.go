// Package sessiontest has a store in memory, a store that fails when it is told
// to, and a scripted model, for tests of code that drives sessions.
package sessiontest
