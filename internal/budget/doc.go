// Package budget limits the cost of a message: the number of statements, transactions, synced commits, allocations
// and bytes. Its test runs a whole gateway on both databases and compares the counts with testdata/budget.txt. It
// uses no clock, so that a busy machine does not change the result.
package budget
