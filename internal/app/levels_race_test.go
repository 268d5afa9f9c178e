//go:build race

package app_test

import "sluice/policy/flow"

// triedLevels are fewer under the race detector, which makes the thousands of requests seven times as long. Two callers, one below
// the things and one at their level, show it every handler.
func triedLevels() (things, callers []flow.Level) {
	return []flow.Level{flow.Confidential}, []flow.Level{flow.Internal, flow.Confidential}
}
