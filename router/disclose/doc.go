// Package disclose decides what callers of the API may see of an agent's answer: who waits for it, follows its session, or
// reads it later.
//
// What comes in: runs with their answers. What goes out: the text and the calls as the gate lets them out, or [Withheld].
// The gate's input is that of the answer's delivery ([outbound.Composer]), so both ways out have the same decision.
//
// There are no goroutines.
package disclose
