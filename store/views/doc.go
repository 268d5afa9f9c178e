// Package views has the reads of the operator's views: filters of lists, how many rows they select, what a day was like,
// and whether something has changed.
//
// None of its filters has an index of its own, which every message would pay for. A list with such a filter is searched
// from the newest row on, in windows; a page ends after a few of them, and says where the next one goes on.
package views
