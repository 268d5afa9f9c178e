package auth

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sluice/internal/glob"
	"sluice/policy/flow"
)

// Proxy says which proxies may name the person who makes a request, and what each person may do. The zero value trusts
// nobody.
type Proxy struct {
	From   []netip.Prefix // addresses of the proxies
	Header string         // that names the person
	People []Person       // the first that matches applies
	// SignOut is where the proxy signs people out; empty: unknown.
	SignOut string
}

// Person is what a person may see and do whom a proxy names.
type Person struct {
	User  string // as the proxy names them; * stands for any text
	Level flow.Level
	Role  Role
}

// person finds the person whom a trusted proxy names. A page must send its own header with the request: another site's
// page cannot, although the browser would send the proxy's cookie with its request.
func (p Proxy) person(r *http.Request) (Caller, error) {
	user := strings.TrimSpace(r.Header.Get(p.Header))
	if p.Header == "" || user == "" || len(r.Header.Values(p.Header)) > 1 || r.Header.Get(pageHeader) == "" || !p.trusts(r.RemoteAddr) {
		return Caller{}, ErrUnknown
	}
	i := slices.IndexFunc(p.People, func(a Person) bool { return glob.Names([]string{a.User}, user) })
	if i < 0 {
		return Caller{}, ErrUnknown
	}
	return Caller{Name: proxied + user, Level: p.People[i].Level, Role: p.People[i].Role}, nil
}

// trusts reports whether a connection comes from one of the proxies.
func (p Proxy) trusts(remote string) bool {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(p.From, func(f netip.Prefix) bool { return f.Contains(addr.Unmap()) })
}

// streamMax is how long a stream of a person lasts whom a proxy has named. The gateway is not told when they sign out at the
// proxy, so they have to ask again, and the proxy refuses if they have signed out.
const streamMax = time.Minute

// ErrRenew is the cause of a context that ended because its caller has to ask again.
var ErrRenew = errors.New("a proxy has to check the caller again")

// OfStream is the context of a stream that has no end of its own. If a proxy has named the caller, it ends with [ErrRenew].
func OfStream(ctx context.Context) (context.Context, context.CancelFunc) {
	if CallerOf(ctx).Proxied() {
		return context.WithTimeoutCause(ctx, streamMax, ErrRenew)
	}
	return context.WithCancel(ctx)
}
