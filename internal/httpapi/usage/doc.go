// Package usage has the handlers for what calls of models have used and cost, and for the budgets.
//
// A caller sees the sums of those calls that it could find one by one: a call counts only if its own level and the level of
// its session are within the caller's. So what is above the caller changes no number.
package usage
