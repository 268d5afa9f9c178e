// Command mutate breaks a package in one place at a time and runs its tests: a
// break that no test notices is a promise without a proof.
//
//	go run ./internal/mutate [-sample N] [-list] [PACKAGE …]
//
// All breaks (mutants) of a package are compiled into one test binary, and an
// environment variable switches one of them on, so that a mutant costs only
// the run of the tests that reach it. A first run of each test alone finds
// which mutants it reaches.
//
// The command prints a line for each package and each survivor. It exits with
// 1 if fewer than nine in ten mutants of a package were killed, or if a
// survivor is missing from accepted.txt, which says for each known survivor
// why it may stay.
package main
