// Package why explains what happened to a message, an answer, a delivery, a run, a job's time, a request to a hook, an approval,
// or a stranger who got no answer: one chain of causes, from what the platform reported to the receipt.
//
// Everything in it was stored when it happened: rules are shown as they were checked then, and steps that were not
// recorded are marked. A step whose object the caller may not know of is left out.
package why
