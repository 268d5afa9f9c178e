// Package hooks serves requests to hooks, and lets operators see and replay them.
//
// POST /hooks/{name} needs no token: the request proves who sent it. The gateway reads at most [BodyMax] bytes, checks the sender, and
// answers 202 once the request is stored. Reading is bounded for all senders together and for each address. A sender who fails too often
// gets 429 instead of 401, and is no longer recorded; valid requests from the same address pass, because a proxy in front of the
// gateway gives all senders one address.
package hooks
