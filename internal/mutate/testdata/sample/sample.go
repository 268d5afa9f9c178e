// Package sample is broken by the tests of the command mutate.
package sample

import "errors"

// ErrNegative is the error of Root.
var ErrNegative = errors.New("negative")

// Root is the whole part of a square root.
func Root(n int) (int, error) {
	if n < 0 {
		return 0, ErrNegative
	}
	root := 0
	for (root+1)*(root+1) <= n {
		root++
	}
	return root, nil
}

// Between reports whether n is in the half-open range.
func Between(n, from, to int) bool {
	return n >= from &&
		n < to
}

// Untested has no test.
func Untested(list []string) []string {
	list = append(list, "end")
	return list
}
