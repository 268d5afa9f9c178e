//go:build !race

package app_test

import "sluice/policy/flow"

// triedLevels are the levels that things and callers have in the tests of all levels.
func triedLevels() (things, callers []flow.Level) { return flow.Levels(), flow.Levels() }
