package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

// denied are the audit trail's entries about what was not told, as a level sees them: who, about what.
func (g *gateway) denied(as flow.Level) (all []string) {
	g.t.Helper()
	var got struct {
		Entries []struct {
			Actor, Object, Label string
			Detail               struct {
				Kind  string
				Count int
			}
		}
	}
	body := g.ask(as, "GET", "/v1/audit?action=http.denied&limit=200", "").Body
	require.NoError(g.t, json.Unmarshal([]byte(body), &got), body)
	for _, e := range got.Entries {
		all = append(all, fmt.Sprintf("%s %s %s %s %d", e.Actor, e.Detail.Kind, e.Object, e.Label, e.Detail.Count))
	}
	return all
}

// TestTheOperatorIsToldOfWhatIsHidden: what a low caller is told is not there stands in the audit trail for whom it is
// not hidden from, what was never there does not, and no low caller can read of it.
func TestTheOperatorIsToldOfWhatIsHidden(t *testing.T) {
	t.Parallel()
	g := withLevels(t, flow.Confidential)
	session := g.plantSession(flow.Confidential)
	o := g.plant(session, flow.Public) // hidden by its session alone
	g.plantFile(session)
	ask := func(o things) {
		for _, path := range []string{"/v1/sessions/{id}", "/v1/sessions/{id}/files/{path}", "/v1/runs/{run}", "/v1/exchanges/{exchange}", "/v1/deliveries/{delivery}", "/v1/media/{media}", "/v1/memory/{memory}", "/v1/policy/check?channel=webchat&session={id}"} {
			require.Contains(t, []int{400, 404}, g.ask(flow.Internal, "GET", o.ids().Replace(path), "").Status, path)
		}
		for _, path := range []string{"/v1/approvals/{approval}/allow", "/v1/pairings/{code}/approve"} {
			require.Equal(t, 404, g.ask(flow.Internal, "POST", o.ids().Replace(path), "", "Content-Type", "application/json").Status, path)
		}
		require.Equal(t, 404, g.ask(flow.Internal, "POST", "/v1/policy/simulate", o.ids().Replace(`{"tool_name":"todo_list","session":"{id}"}`), "Content-Type", "application/json").Status)
		require.Equal(t, 200, g.ask(flow.Internal, "POST", "/v1/policy/simulate", `{"tool_name":"message","args":{"channel":"webchat","to":"local","message":"hi"}}`, "Content-Type", "application/json").Status)
	}
	ask(o)
	absent := o
	absent.session.ID, absent.run.ID, absent.delivery.ID, absent.exchange.ID = sessions.NewID(), sessions.NewRunID(), "dlv_000000000000", "xch_000000000000"
	absent.media.ID, absent.approval.ID, absent.memory.ID, absent.pairing.Code = "med_0", "apr_0", "mem_0", "ZZZZZZZZ"
	ask(absent)
	g.end() // stores what has not been stored yet
	g.begin()

	const label, trusted = " CONFIDENTIAL/trusted ", "token:INTERNAL "
	want := []string{
		trusted + "session " + string(session.ID) + label + "3",
		trusted + "run " + string(o.run.ID) + label + "1",
		trusted + "exchange " + o.exchange.ID + label + "1",
		trusted + "delivery " + string(o.delivery.ID) + label + "1",
		trusted + "file " + string(o.media.ID) + label + "1",
		trusted + "memory " + string(o.memory.ID) + label + "1",
		trusted + "approval " + string(o.approval.ID) + label + "1",
		trusted + "pairing webchat/default/" + string(o.pairing.User.ID) + label + "1",
		trusted + "channel webchat/default" + label + "4", // each check of the policy and each simulation, whatever its session
	}
	require.ElementsMatch(t, want, g.denied(flow.Confidential))
	require.ElementsMatch(t, want, g.denied(flow.Restricted))
	require.Empty(t, g.denied(flow.Internal))
	require.Empty(t, g.denied(flow.Public))
	require.NotContains(t, strings.Join(g.denied(flow.Restricted), " "), string(absent.session.ID))
}
