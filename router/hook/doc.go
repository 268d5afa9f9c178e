// Package hook takes in requests to hooks and says what follows from them.
//
//	request ──► who sent it? ──► payload, id ──► one commit: the request and its trigger, "waiting" ──► 202
//	                                                   │
//	    trigger due ──► filter ──► no: "filtered"      └── known already: the same body: 200, another: 409
//	                       └─────► a run in the hook's session; its reply is delivered as that of any trigger
//	                       └─────► or alerts, in the commit that ends the trigger
//
// What comes in: [Hooks.Receive] from the HTTP server, [Hooks.Fire] from the worker of due triggers. What goes out: commits.
//
// # Failure rules
//
// Nothing is stored of a request whose sender can't be verified, or whose payload can't be read. A request is acknowledged after its
// commit; what follows is a matter of its trigger, which survives crashes and fires once. A request whose filter or templates fail ends
// as failed, with the reason, and can be replayed. The row of a request stays at least [ledger.HookWindow], so that a repetition is noticed.
//
// What a request says is untrusted and has the hook's level. A session that a hook begins may learn at most that level.
//
// # Goroutines
//
// The package starts none.
package hook
