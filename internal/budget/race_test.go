//go:build race

package budget

// racing: the race detector allocates too, so allocations are not compared.
const racing = true
