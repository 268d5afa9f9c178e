// Package chaos kills the gateway and checks the outcome of its messages.
//
// The gateway runs as a child process; the platform's fake and the model run in the test and outlive it. What people
// said, what the bot sent and which sends the gateway itself calls unknown must agree: every message answered, and
// none twice. Over Telegram that leaves out a send whose response a kill has swallowed; Slack and Discord can be
// asked whether it was sent, so there nothing shows twice at all.
//
// Two gateways on one PostgreSQL and one NATS are ended, killed and frozen too: each account is connected once, and
// the other gateway takes it over.
//
// Three gateways are killed while jobs are due every second: each instant is fired once or recorded as missed, and what was fired
// is shown once.
//
// Consent has a campaign of its own: gateways die while calls wait for an owner's word, messages are held by a rule
// and agents remember things. What a tool server outside has done, what people are shown, what the gateway confirmed
// and the audit trail must agree: nothing twice, nothing lost but what is reported as interrupted, nothing that was
// denied.
//
// In plain `go test` the runs are short; `make chaos` (the flag -chaos, or SLUICE_CHAOS=full) makes them long. A run
// prints its seed; -chaos.seed repeats its choices, though not the machine's timing. SLUICE_BIN and
// SLUICE_BIN_FAULTPOINTS name binaries to be tested instead of fresh builds.
package chaos
