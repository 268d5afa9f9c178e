// Package attacks tests information-flow control with attacks on a whole gateway, on every way out, with a model that
// does whatever anybody tells it.
//
// The corpus (corpus*_test.go) consists of scripted adversaries, each with the path that it uses (L1 to L16 of
// docs/security-model.md). After each attack, everything that people below the secret's level can see is searched for
// the secret. The noninterference test compares two runs byte for byte. The wiring tests fail for a tool, an
// operation or a way out that does not declare its labels. The mutants (build tag mutants) remove one checkpoint at a
// time and name the attack that then succeeds. `make security-report` writes the results.
package attacks
