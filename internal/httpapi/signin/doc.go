// Package signin serves who may call the API: signing in and out on the page, one-time links, and the tokens that owners
// make and revoke at run time.
//
// A browser signs in with a token, or with a link that `sluice open` has made. It then has a cookie and a key, and needs
// both: other ports of the same host get the cookie too, but never what the page keeps in its own storage. Only hashes of
// them are stored.
package signin

// The paths that every caller may post to, whatever their role.
const (
	LogoutPath = "/logout"
	LinksPath  = "/v1/links"
)
