// Package commands works out what chat commands do.
//
// A message comes in; what goes out is an [Answer]: a text, the change to store with it, or an order for a run. This
// package writes and sends nothing. Which text is a command ([Parse], [Of]) and who may give it ([KindOf]) is decided
// by pure functions.
//
// A person sees only what their conversation may carry: the call's quotation shows what others said or set, and gives
// the answer its label.
package commands
