//go:build !windows

package main

import "os"

// asService runs main: other systems stop services with signals.
func asService(_ chan<- os.Signal, main func() int) int { return main() }
