//go:build !faultpoints

package faultpoint

import "time"

// Hit marks a step. In this build it does nothing.
func Hit(Point) {}

// Clock returns the machine's clock.
func Clock() func() time.Time { return time.Now }
