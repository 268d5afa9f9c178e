//go:build !race

package markdown_test

const underRace = false
