package wire

import (
	"net/http"
	"strings"
)

// Bearer is the token in a request's header Authorization. ok: the header has the scheme Bearer, in any case.
func Bearer(r *http.Request) (token string, ok bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return token, ok && strings.EqualFold(scheme, "Bearer")
}
