package ledger

import (
	"time"

	"sluice/policy/flow"
)

// AccessChange has the rows of a change that concern who may call the API.
type AccessChange struct {
	// Tokens inserts tokens. A name or a token that exists is ErrDuplicate.
	Tokens []APIToken
	// RevokeTokens removes tokens by their names, with their sign-ins; ErrNotFound if one is missing.
	RevokeTokens []string
	// SignIns inserts sign-ins, and links to them. It removes those that have expired, and the oldest of the same token
	// beyond [SignInsMax].
	SignIns []SignIn
	// UseLinks turns the link with the same Link into a sign-in that has the other fields; ErrNotFound if the link is
	// missing, used or expired at Created.
	UseLinks []SignIn
	// EndSignIns removes sign-ins by their ids; ErrNotFound if one is missing.
	EndSignIns []string
}

const (
	// SignInsMax is how many sign-ins of one token exist at a time.
	SignInsMax = 50
	// APITokensMax is how many tokens made at run time exist at a time.
	APITokensMax = 200
)

// APIToken is a token of the API that was made at run time.
type APIToken struct {
	ID      string
	Name    string // in the audit trail as token:<name>
	Sum     string // SHA-256 of the token, in hexadecimal
	Role    string
	Level   flow.Level // the highest level that its bearer may see
	By      string     // who made it
	Created time.Time
	Expires time.Time // zero: never
}

// SignIn is a browser that somebody has signed in with a token, or a link that lets one browser in.
type SignIn struct {
	ID    string
	Token string // name of the token; empty: the gateway's own
	Print string // beginning of the token's SHA-256: a sign-in ends with its token
	Link  string // SHA-256 of the link's code; empty once it was used
	// Cookie and Key are the SHA-256 of what the browser must send: of the cookie, and of the key from the page's storage.
	Cookie  string
	Key     string
	Address string // of the browser
	Agent   string // the browser's own name
	Created time.Time
	Expires time.Time
}

// Use is when a token or a sign-in was last used.
type Use struct {
	Subject string // token:<name> or sign-in:<id>
	At      time.Time
}
