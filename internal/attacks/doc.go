// Package attacks shows by tests that information-flow control holds: against a whole gateway with a model that does
// whatever anybody names, on every way out that there is.
//
// The corpus (corpus*_test.go) are scripted adversaries, each with the path that it takes (L1 to L16 of
// docs/security-model.md). After each, everything that somebody below the secret's level can see is searched for
// the secret. The noninterference test compares two runs byte for byte. The wiring tests fail for a tool, an
// operation or a way out that says nothing of its labels. The mutants (build tag mutants) take one checkpoint away at a time and
// name the attack that then succeeds. `make security-report` writes what came of all of it.
package attacks
