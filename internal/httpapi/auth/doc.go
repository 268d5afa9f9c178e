// Package auth says who makes a request to the API: which token it carries, with which role and level, whether it comes
// from the gateway's own page, and which label the caller's words get.
package auth
