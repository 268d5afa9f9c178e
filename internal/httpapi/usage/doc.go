// Package usage has the handlers for the usage and cost of model calls, and for budgets.
//
// Sums count only calls that the caller may see one by one: a call counts only if its own level and the level of its session
// are within the caller's. So nothing above the caller's level changes a number.
package usage
