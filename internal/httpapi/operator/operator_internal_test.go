package operator

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

var (
	own    = auth.Caller{Level: flow.Restricted, Role: auth.RoleOwner}
	reader = auth.Caller{Name: "ops", Level: flow.Internal, Role: auth.RoleViewer}
)

// A browser gets nothing that it would run as a page of the gateway.
func TestFilesAreServedAsHarmlessTypes(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"image/png": "image/png", "IMAGE/PNG; x=1": "image/png", "audio/ogg": "audio/ogg", "video/mp4": "video/mp4",
		"text/plain; charset=utf-8": "text/plain", "application/pdf": "application/pdf", "text/csv": "text/csv",
		"image/svg+xml": "application/octet-stream", "text/html": "application/octet-stream", "application/xhtml+xml": "application/octet-stream",
		"": "application/octet-stream", "image/": "application/octet-stream", "a\r\nb": "application/octet-stream",
	} {
		require.Equal(t, want, harmless(given), "%q", given)
	}
}

// Without a token only kinds are shown: a kind works if all its parts do, and no detail is left.
func TestPartsWithoutATokenAreKinds(t *testing.T) {
	t.Parallel()
	parts := []Health{
		{Name: "store", OK: true, Detail: "/home/ada/state.db"},
		{Name: "telegram/default", Kind: "channels", OK: true, Optional: true},
		{Name: "slack/work", Kind: "channels", OK: false, Optional: true, Detail: "token"},
	}
	require.Equal(t, []Health{{Name: "store", OK: true}, {Name: "channels", Optional: true}}, byKind(parts))
	require.Equal(t, []Health{}, byKind(nil))
	mixed := []Health{{Name: "telegram/default", Kind: "channels", OK: true}, {Name: "slack/work", Kind: "channels", Optional: true}}
	require.Equal(t, []Health{{Name: "channels", Optional: true}}, byKind(mixed), "the one that does not work is optional")
	mixed[1].Optional = false
	mixed = append(mixed, Health{Name: "slack/old", Kind: "channels", Optional: true})
	require.Equal(t, []Health{{Name: "channels"}}, byKind(mixed))
	require.True(t, allOK(parts), "what is optional does not count")
	parts[0].OK = false
	require.False(t, allOK(parts))
}

func TestApprovalAsTheCallerMaySeeIt(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	p := ledger.Approval{
		ID: "apr_1", Args: json.RawMessage(`{"a":1}`), Label: flow.Bottom(), Reason: flow.NewText("the safe's code", flow.Top()),
		Created: at, Expires: at, Terms: sessions.Terms{Approvers: [][]string{nil, {"slack:U1"}}},
	}
	got := approvalOf(own, p)
	require.Equal(t, "the safe's code", got.Reason)
	require.Equal(t, "block", got.OnTimeout)
	require.Equal(t, [][]string{{}, {"slack:U1"}}, got.Approvers, "JSON shows [] for the owners")
	require.Nil(t, got.Decided)
	require.JSONEq(t, `{"a":1}`, string(got.Args))

	p.Terms.AllowOnTimeout, p.Decided, p.Args = true, at, json.RawMessage(`{"a"`)
	got = approvalOf(reader, p)
	require.Equal(t, "it is above your level and is not shown", got.Reason)
	require.Equal(t, "allow", got.OnTimeout)
	require.Equal(t, time.UTC, got.Decided.Location())
	require.Nil(t, got.Args, "what is no JSON would break the answer")
}

// An entry's id and place say how many entries there are; a caller below the highest level gets a sealed id and no place.
func TestAuditEntryAsTheCallerMaySeeIt(t *testing.T) {
	t.Parallel()
	a := &AuditAPI{Cursors: wire.NewCursors([32]byte{1})}
	var r ledger.AuditRecord
	r.ID, r.Place.Seq = "17-6162636465666768", 7
	all := a.record(r, own)
	require.Equal(t, "17-6162636465666768", all.ID)
	require.EqualValues(t, 7, all.Place.Seq)
	some := a.record(r, reader)
	require.Nil(t, some.Place)
	require.NotContains(t, some.ID, "616263")
	require.Equal(t, r.ID, a.Cursors.OpenEntry(some.ID))
}
