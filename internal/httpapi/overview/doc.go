// Package overview serves what an operator sees first: whether all is well, what waits for a person, and what the last day
// was like. Each number counts exactly the rows of a list, as far as the caller may know of them, and names the list.
package overview
