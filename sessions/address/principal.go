package address

import "strings"

// Principal names a person across channels, "<channel>:<user id>", as in the owners list. [ParsePrincipal] reads it.
func Principal(channel string, id UserID) string { return channel + ":" + string(id) }

// ParsePrincipal takes a principal apart. The user id may contain colons: the bearer of the API's token ops is
// webchat:token:ops. ok is false if the text has no channel or no user id.
func ParsePrincipal(text string) (channel string, id UserID, ok bool) {
	channel, user, _ := strings.Cut(text, ":")
	return channel, UserID(user), channel != "" && user != ""
}
