package view_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

var (
	own    = auth.Caller{Level: flow.Restricted, Role: auth.RoleOwner}
	reader = auth.Caller{Name: "ops", Level: flow.Internal, Role: auth.RoleViewer}
)

func as(who auth.Caller, url string) context.Context {
	return auth.Admit(httptest.NewRequest(http.MethodGet, url, http.NoBody), who).Context()
}

func TestWhoCallsIsForTheRouter(t *testing.T) {
	t.Parallel()
	i := view.Identity{Route: sessions.Route{Channel: "webchat"}}
	require.Empty(t, i.Principal(own))
	require.Equal(t, decider.Verdict{Actor: "operator", Owner: true}, i.Verdict(own))

	channel, id, ok := sessions.ParsePrincipal(i.Principal(reader))
	require.True(t, ok)
	require.Equal(t, "webchat", channel)
	require.Equal(t, decider.TokenUser("ops"), id)
	require.Equal(t, decider.Verdict{Actor: "token:ops", Token: &decider.Token{Principal: i.Principal(reader), Level: flow.Internal}}, i.Verdict(reader))
	operator := reader
	operator.Role = auth.RoleOperator
	require.True(t, i.Token(operator).Operator)
}

func TestNextLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ctx        context.Context
		more       bool
		last, want string
	}{
		"first page":       {as(own, "/v1/runs?limit=2"), true, "run_2", `</v1/runs?after=run_2&limit=2>; rel="next"`},
		"later page":       {as(own, "/v1/runs?after=run_2"), true, "run_4", `</v1/runs?after=run_4>; rel="next"`},
		"an id to escape":  {as(own, "/v1/runs"), true, "a&b>c", `</v1/runs?after=a%26b%3Ec>; rel="next"`},
		"last page":        {as(own, "/v1/runs"), false, "run_2", ""},
		"no rows":          {as(own, "/v1/runs"), true, "", ""},
		"outside requests": {t.Context(), true, "run_2", ""},
	} {
		require.Equal(t, c.want, view.NextLink(c.ctx, &ledger.Bound{More: c.more}, c.last), name)
	}
	first := func(s string) string { return s }
	require.Equal(t, "b", view.LastID([]string{"a", "b"}, first))
	require.Empty(t, view.LastID(nil, first))
	require.NotNil(t, view.NotNil[int](nil))
}

func TestFieldsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	require.Nil(t, view.Optional(time.Time{}))
	require.NotNil(t, view.Optional(time.Unix(1, 0)))
	require.Nil(t, view.OptionalRoute(sessions.Route{}))
	route := sessions.Route{Channel: "slack", Conversation: "C1", Handle: "https://hooks.slack.com/secret"}
	require.Equal(t, sessions.Route{Channel: "slack", Conversation: "C1"}, *view.OptionalRoute(route), "the handle lets others answer")
}

// files has one file, and no other.
type files struct{}

func (files) MediaInfo(_ context.Context, id sessions.MediaID) (ledger.Media, error) {
	if id != "med_1" {
		return ledger.Media{}, sessions.ErrNotFound
	}
	return ledger.Media{ID: id, Name: "a.txt", MIME: "text/plain", Size: 3}, nil
}

func TestFilesThatAreGoneHaveOnlyTheirID(t *testing.T) {
	t.Parallel()
	got := view.FileNames{Rows: files{}}.Of(t.Context(), ledger.Delivery{Files: []sessions.MediaID{"med_1", "med_2"}})
	require.Equal(t, []view.MediaRecord{{ID: "med_1", Name: "a.txt", MIME: "text/plain", Size: 3}, {ID: "med_2"}}, got)
}

// known are sessions by their names, which are their ids as well. It counts the reads.
type known struct {
	rows  map[string]sessions.Record
	reads int
}

func (k *known) ResolveSession(_ context.Context, name string) (sessions.Record, error) {
	if strings.Contains(name, " ") {
		return sessions.Record{}, &request.Error{Text: "bad key"}
	}
	return k.Session(context.Background(), sessions.ID(name))
}

func (k *known) ReadableSession(ctx context.Context, name string) (sessions.Record, error) {
	return k.ResolveSession(ctx, name)
}

func (k *known) SessionOrMain(ctx context.Context, name string) (sessions.Record, error) {
	return k.ResolveSession(ctx, name)
}

func (k *known) MainSession(ctx context.Context, name string) (sessions.Record, error) {
	if name != sessions.MainAlias {
		return sessions.Record{}, sessions.ErrNotFound
	}
	return k.ResolveSession(ctx, "public")
}

func (k *known) Session(_ context.Context, id sessions.ID) (sessions.Record, error) {
	k.reads++
	if r, ok := k.rows[string(id)]; ok {
		return r, nil
	}
	return sessions.Record{}, sessions.ErrNotFound
}

// noted keeps what the operator is told.
type noted struct{ objects []string }

func (n *noted) Commit(_ context.Context, c ledger.Change) error {
	for _, e := range c.Audit {
		n.objects = append(n.objects, e.Object)
	}
	return nil
}

// bench is a Visibility over a public and a restricted session; done gives what the operator was told.
func bench(t *testing.T) (v *view.Visibility, rows *known, done func() []string) {
	t.Helper()
	n := &noted{}
	trail := denials.New(denials.Config{Store: n, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	trail.Start()
	stop := func() []string { trail.Stop(context.WithoutCancel(t.Context())); return n.objects }
	t.Cleanup(func() { stop() })
	rows = &known{rows: map[string]sessions.Record{
		"public": {ID: "public", Taint: flow.Bottom()},
		"secret": {ID: "secret", Taint: flow.Top()},
	}}
	level := func(r sessions.Route) flow.Level {
		return map[string]flow.Level{"slack": flow.Public, "vault": flow.Restricted}[r.Channel]
	}
	return &view.Visibility{Resolver: rows, Rows: rows, SinkLevel: level, Denials: trail}, rows, stop
}

// A session above the caller's level looks like one that does not exist; only the operator is told of it.
func TestHiddenSessionsLookMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who  auth.Caller
		path string
		err  error
		told []string
	}{
		"open":             {reader, "public", nil, nil},
		"main":             {reader, sessions.MainAlias, nil, nil},
		"hidden":           {reader, "secret", wire.ErrNotFound, []string{"secret"}},
		"missing":          {reader, "nothing", sessions.ErrNotFound, nil},
		"no key":           {reader, "a b", wire.ErrNotFound, nil},
		"own token":        {own, "secret", nil, nil},
		"nobody is let in": {auth.Caller{Name: "x"}, "public", wire.ErrNotFound, []string{"public"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, _, done := bench(t)
			_, err := v.Session(as(c.who, "/"), c.path)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.told, done())
		})
	}
}

// An object is hidden by its own label and by that of each session it belongs to. A missing one costs as many reads.
func TestObjectsAreHiddenWithTheirSessions(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk")
	for name, c := range map[string]struct {
		who   auth.Caller
		err   error
		label flow.Label
		of    []sessions.ID
		want  error
		told  []string
		reads int
	}{
		"open":           {reader, nil, flow.Bottom(), []sessions.ID{"public"}, nil, nil, 1},
		"its label":      {reader, nil, flow.Top(), []sessions.ID{"public"}, wire.ErrNotFound, []string{"run_1"}, 1},
		"its session":    {reader, nil, flow.Bottom(), []sessions.ID{"secret"}, wire.ErrNotFound, []string{"run_1"}, 1},
		"one of two":     {reader, nil, flow.Bottom(), []sessions.ID{"public", "secret"}, wire.ErrNotFound, []string{"run_1"}, 2},
		"session gone":   {reader, nil, flow.Bottom(), []sessions.ID{"nothing"}, wire.ErrNotFound, []string{"run_1"}, 1},
		"of no session":  {reader, nil, flow.Bottom(), []sessions.ID{""}, nil, nil, 1},
		"missing":        {reader, sessions.ErrNotFound, flow.Label{}, []sessions.ID{""}, wire.ErrNotFound, nil, 1},
		"missing, owner": {own, sessions.ErrNotFound, flow.Label{}, []sessions.ID{""}, wire.ErrNotFound, nil, 0},
		"own token":      {own, nil, flow.Top(), []sessions.ID{"secret"}, nil, nil, 0},
		"broken":         {reader, broken, flow.Bottom(), []sessions.ID{"public"}, broken, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, rows, done := bench(t)
			err := v.Check(as(c.who, "/"), c.err, denials.Object{Kind: "run", ID: "run_1", Label: c.label}, c.of...)
			require.ErrorIs(t, err, c.want)
			require.Equal(t, c.told, done())
			require.Equal(t, c.reads, rows.reads)
		})
	}
}

func TestSessionsSeen(t *testing.T) {
	t.Parallel()
	v, rows, _ := bench(t)
	ids := []sessions.ID{"public", "secret", "nothing"}
	seen, err := v.SessionsSeen(as(reader, "/"), ids)
	require.NoError(t, err)
	require.Equal(t, []sessions.ID{"public"}, seen)
	rows.reads = 0
	seen, err = v.SessionsSeen(as(own, "/"), ids)
	require.NoError(t, err)
	require.Equal(t, ids, seen)
	require.Zero(t, rows.reads, "who sees everything needs no look")
}

func TestHiddenChannelsLookMissing(t *testing.T) {
	t.Parallel()
	v, _, done := bench(t)
	ctx := as(reader, "/")
	require.NoError(t, v.NeedChannel(ctx, "slack", ""))
	hidden, missing := v.NeedChannel(ctx, "vault", "x"), v.NeedChannel(as(own, "/"), "vault", "")
	require.Error(t, hidden)
	require.NoError(t, missing)
	require.Equal(t, []string{"vault/x"}, done())
	require.NoError(t, view.NeedOperator(as(own, "/")))
	require.ErrorContains(t, view.NeedOperator(ctx), "the token ops has the role viewer")
}
