// Package commands works out what chat commands want to happen.
//
// A message comes in; what goes out is an [Answer]: a text, the change to store with it, or an order for a run. Nothing is
// written and nothing is sent here. Which text is a command ([Parse], [Of]) and who may give it ([KindOf]) is pure.
//
// A person sees only what their conversation may carry: what others said or set goes through the call's quotation, whose
// label the answer gets.
package commands
