package auth_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func TestTokensAreIdentified(t *testing.T) {
	t.Parallel()
	tokens := auth.NewTokens(auth.Config{Credentials: []auth.Credential{
		{Token: "own", Level: flow.Restricted, Role: auth.RoleOwner},
		{Name: "ops", Token: "ops-token", Level: flow.Internal, Role: auth.RoleViewer},
	}, PageLevel: func() flow.Level { return flow.Public }, Now: time.Now})
	for name, c := range map[string]struct {
		header http.Header
		want   auth.Caller
		known  bool
	}{
		"none":         {http.Header{}, auth.Caller{}, false},
		"wrong":        {http.Header{"Authorization": {"Bearer own2"}}, auth.Caller{}, false},
		"empty":        {http.Header{"Authorization": {"Bearer "}}, auth.Caller{}, false},
		"other scheme": {http.Header{"Authorization": {"Basic own"}}, auth.Caller{}, false},
		"own":          {http.Header{"Authorization": {"Bearer own"}}, auth.Caller{Level: flow.Restricted, Role: auth.RoleOwner}, true},
		"named":        {http.Header{"Authorization": {"Bearer  ops-token "}}, auth.Caller{Name: "ops", Level: flow.Internal, Role: auth.RoleViewer}, true},
		"page":         {http.Header{"Authorization": {"Bearer own"}, "Sluice-Client": {"page"}}, auth.Caller{Level: flow.Public, Role: auth.RoleOwner, Page: true}, true},
		"browser":      {http.Header{"Authorization": {"Bearer own"}, "Sec-Fetch-Site": {"same-origin"}}, auth.Caller{Level: flow.Public, Role: auth.RoleOwner, Page: true}, true},
		"origin":       {http.Header{"Authorization": {"Bearer ops-token"}, "Origin": {"http://127.0.0.1"}}, auth.Caller{Name: "ops", Level: flow.Public, Role: auth.RoleViewer, Page: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tokens.Identify(&http.Request{Header: c.header}, false)
			require.Equal(t, c.want, got)
			if c.known {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, auth.ErrUnknown)
		})
	}
}

func TestWordsHaveALabel(t *testing.T) {
	t.Parallel()
	owner := auth.Caller{Level: flow.Restricted, Role: auth.RoleOwner}
	page := auth.Caller{Level: flow.Internal, Role: auth.RoleOwner, Page: true}
	ops := auth.Caller{Name: "ops", Level: flow.Internal}
	for name, c := range map[string]struct {
		who   auth.Caller
		label string
		want  flow.Label
		err   string
	}{
		"default":       {owner, "", flow.Bottom(), ""},
		"page":          {page, "", flow.NewLabel(flow.Internal, flow.Trusted), ""},
		"named token":   {ops, "", flow.NewLabel(flow.Public, flow.Untrusted), ""},
		"level":         {owner, "CONFIDENTIAL", flow.NewLabel(flow.Confidential, flow.Trusted), ""},
		"untrusted":     {owner, "INTERNAL/untrusted", flow.NewLabel(flow.Internal, flow.Untrusted), ""},
		"never trusted": {ops, "INTERNAL/trusted", flow.NewLabel(flow.Internal, flow.Untrusted), ""},
		"above":         {ops, "CONFIDENTIAL", flow.Label{}, "label: CONFIDENTIAL is above INTERNAL, the highest level of your token; use a lower label or a token with a higher classification"},
		"unknown":       {owner, "SECRET", flow.Label{}, `label: "SECRET" is not a level; use PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.who.InputLabel(c.label)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := owner.InputLabelFor(sessions.Record{Clearance: flow.Internal}, "CONFIDENTIAL")
	require.EqualError(t, err, "label: the text is CONFIDENTIAL, but the session may learn at most INTERNAL")
}

func TestWhatProgramsSendIsUntrusted(t *testing.T) {
	t.Parallel()
	owner, ops := auth.Caller{Level: flow.Restricted, Role: auth.RoleOwner}, auth.Caller{Name: "ops", Level: flow.Internal}
	for _, c := range []struct {
		who   auth.Caller
		label string
		want  flow.Level
	}{
		{owner, "", flow.Public},
		{owner, "CONFIDENTIAL", flow.Confidential},
		{owner, "PUBLIC/trusted", flow.Public},
		{ops, "", flow.Internal},
		{ops, "PUBLIC", flow.Internal},
	} {
		got, err := c.who.SentLabel(c.label)
		require.NoError(t, err)
		require.Equal(t, flow.NewLabel(c.want, flow.Untrusted), got, c.label)
	}
	_, err := ops.SentLabel("RESTRICTED")
	require.ErrorContains(t, err, "above INTERNAL")
}

func TestKeysBelongToTheirCaller(t *testing.T) {
	t.Parallel()
	require.Empty(t, auth.Caller{Name: "ops"}.Key(""))
	require.Equal(t, "api/1", auth.Caller{}.Key("1"))
	require.Equal(t, "token:ops/1", auth.Caller{Name: "ops"}.Key("1"))
	require.Equal(t, "operator", auth.Caller{}.Actor())
	require.Equal(t, "token:ops", auth.Caller{Name: "ops"}.Actor())
}

func TestTheZeroCallerSeesNothing(t *testing.T) {
	t.Parallel()
	require.False(t, auth.Caller{}.Sees(flow.Bottom()))
	require.Equal(t, auth.Caller{}, auth.CallerOf(t.Context()))
	require.Empty(t, auth.RequestOf(t.Context()).Operation())
}

// What a caller does ends when the configuration changes what the caller may see or do, also in a browser that was signed in,
// and when a configured token takes the name of the caller's. Others go on.
func TestWhatChangedCallersDoEnds(t *testing.T) {
	t.Parallel()
	page := flow.Confidential
	own := auth.Credential{Token: "own", Level: flow.Restricted, Role: auth.RoleOwner}
	ops := func(level flow.Level) auth.Credential {
		return auth.Credential{Name: "ops", Token: "ops-token", Level: level, Role: auth.RoleViewer}
	}
	rows := &signedIn{}
	tokens := auth.NewTokens(auth.Config{
		Credentials: []auth.Credential{own, ops(flow.Confidential)}, PageLevel: func() flow.Level { return page }, Rows: rows, Now: time.Now,
	})
	var err error
	rows.print, err = tokens.Print(t.Context(), "ops")
	require.NoError(t, err)
	watch := func(who auth.Caller) context.Context {
		ctx, release := tokens.Live().Watch(t.Context(), who)
		t.Cleanup(release)
		return ctx
	}
	browser := auth.Caller{Name: "ops", SignIn: "s1", Page: true, Level: flow.Confidential, Role: auth.RoleViewer}
	owner, signed, made := watch(auth.Caller{Level: flow.Restricted, Role: auth.RoleOwner}), watch(browser), watch(auth.Caller{Name: "late", Level: flow.Restricted})
	current := tokens.Current()
	late := auth.Credential{Name: "late", Token: "late-token", Level: flow.Public, Role: auth.RoleViewer}
	tokens.Configure(t.Context(), []auth.Credential{own, ops(flow.Confidential), late}, auth.Proxy{})
	require.False(t, current())
	require.ErrorIs(t, context.Cause(made), auth.ErrEnded)
	require.NoError(t, signed.Err())
	tokens.Configure(t.Context(), []auth.Credential{own, ops(flow.Internal), late}, auth.Proxy{})
	require.ErrorIs(t, context.Cause(signed), auth.ErrEnded, "the same token sees less now")
	browser.Level = flow.Internal
	signed = watch(browser)
	page = flow.Public
	tokens.Configure(t.Context(), []auth.Credential{own, ops(flow.Internal), late}, auth.Proxy{})
	require.ErrorIs(t, context.Cause(signed), auth.ErrEnded, "the page shows less now")
	require.NoError(t, owner.Err())
}

// signedIn has one browser, which was signed in with the token ops.
type signedIn struct {
	auth.Rows
	print string
}

func (s *signedIn) SignIn(context.Context, string) (ledger.SignIn, error) {
	return ledger.SignIn{ID: "s1", Token: "ops", Print: s.print, Expires: time.Now().Add(time.Hour)}, nil
}

func (*signedIn) TokenNamed(_ context.Context, name string) (ledger.APIToken, error) {
	return ledger.APIToken{Name: name, Level: flow.Restricted, Role: "operator"}, nil
}
