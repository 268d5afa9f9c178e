//go:build !race

package budget

const racing = false
