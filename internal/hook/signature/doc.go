// Package signature checks who has sent a webhook: the signature, token or password of a request. It is pure: it reads headers, the
// body's bytes and the time, and keeps nothing.
//
// A [Verifier] has one scheme and one or more secrets, so that a secret can be replaced while both sides still use the old one. All
// comparisons of secrets and signatures take constant time. A request without a proof, or with a malformed one, is an error of its own
// kind, so that the sender can be told what to mend.
package signature
