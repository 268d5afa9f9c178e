// Package budget holds what a message may cost: how many statements, transactions, allocations and bytes.
// Its test drives a whole gateway on both databases and compares what it counts with testdata/budget.txt.
// It uses no clock, so that a busy machine changes nothing.
package budget
