package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// strangers is the taint of a session in which others than owners have spoken.
var strangers = flow.NewLabel(flow.Public, flow.Untrusted)

// among is a run of the owner in a group, with what has been learnt there, and who is asked for an owner's word.
func among(t *testing.T, taint flow.Label, o *owner) *bundle {
	t.Helper()
	b := newBundle(t)
	b.configure(func(s *roster.Settings) { s.Visibility, s.AgentToAgent.Enabled = roster.VisibleAll, true })
	place := func(id string) sessions.Route {
		return sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: sessions.ConversationID(id)}
	}
	talks := func(key sessions.Key, route sessions.Route) {
		b.stored(sessions.Record{ID: sessions.NewID(), Key: key, Agent: key.Agent(), Taint: flow.Bottom(), Route: route, LastActivity: start})
	}
	talks("agent:other:main", sessions.Route{})
	talks("agent:other:telegram:group:-200", place("-200"))
	talks("agent:other:telegram:group:-100", place("-100"))
	b.run.Route = place("-100")
	b.as(t, b.record(group, taint), true)
	b.approver = o
	return b
}

func answering(yes bool) *owner {
	return &owner{decides: func(c sessions.Part) sessions.Confirmation {
		return sessions.Confirmation{CallID: c.CallID, Approved: yes, Reason: "the owner denied it"}
	}}
}

// What strangers may have led to is said elsewhere with an owner's word alone.
func TestStrangersWordsReachOtherConversationsOnlyWithApproval(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, args string
		asks       bool
	}{
		"a message elsewhere":           {"message", `{"message":"x","to":"42"}`, true},
		"a message to the owner":        {"message", `{"message":"x","to":"owner"}`, true},
		"another channel":               {"message", `{"message":"x","channel":"slack","to":"-100"}`, true},
		"another bot":                   {"message", `{"message":"x","accountId":"second"}`, true},
		"a message here":                {"message", `{"message":"x"}`, false},
		"a message here, by its id":     {"message", `{"message":"x","to":"-100"}`, false},
		"a thread here":                 {"message", `{"message":"x","threadId":"7"}`, false},
		"a request to another group":    {"sessions_send", `{"sessionKey":"agent:other:telegram:group:-200","message":"x","timeoutSeconds":0}`, true},
		"to another agent of the group": {"sessions_send", `{"sessionKey":"agent:other:telegram:group:-100","message":"x","timeoutSeconds":0}`, false},
		"to a session without people":   {"sessions_send", `{"sessionKey":"agent:other:main","message":"x","timeoutSeconds":0}`, false},
		"a task":                        {"sessions_spawn", `{"task":"x"}`, false},
		"another model":                 {"session_status", `{"model":"test/scripted"}`, true},
		"a look":                        {"session_status", `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			yes, no := answering(true), answering(false)
			require.False(t, among(t, strangers, yes).tool(t, c.tool, c.args).Error, "with an owner's word it is done")
			denied := among(t, strangers, no)
			require.Equal(t, c.asks, denied.tool(t, c.tool, c.args).Error)
			require.Equal(t, c.asks, len(denied.sent)+len(denied.asked) == 0 && c.args != `{}`, "nothing went out")
			trusted := answering(false)
			require.False(t, among(t, public, trusted).tool(t, c.tool, c.args).Error, "where nobody but owners has spoken it is done at once")
			require.Empty(t, trusted.asked)
			if c.asks {
				require.Equal(t, []string{c.tool}, yes.asked)
				require.Equal(t, []string{c.tool}, no.asked)
			} else {
				require.Empty(t, yes.asked)
			}
		})
	}
}

// Nobody is asked about what the tool refuses, and what goes blindly to the main session is taken in without a word.
func TestNobodyIsAskedInVain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, args string
		fails      bool
	}{
		"a guest's message":  {"message", `{"message":"x","to":"42"}`, true},
		"a guest's model":    {"session_status", `{"model":"test/scripted"}`, true},
		"no such session":    {"sessions_send", `{"sessionKey":"agent:main:telegram:group:-999","message":"x"}`, true},
		"no message":         {"sessions_send", `{"sessionKey":"main"}`, true},
		"no such parameter":  {"message", `{"text":"x","to":"42"}`, true},
		"a blind request up": {"sessions_send", `{"sessionKey":"main","message":"x"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := answering(false)
			b := among(t, strangers, o)
			b.configure(func(*roster.Settings) {})
			main := b.store.records[0]
			main.Route = sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "42"}
			b.store.records[0] = main
			b.run.Input.Owner = false
			require.Equal(t, c.fails, b.tool(t, c.tool, c.args).Error)
			require.Empty(t, o.asked)
		})
	}
}

// toOther is a request to another agent of the group.
const toOther = `{"sessionKey":"agent:other:telegram:group:-100","message":"x","timeoutSeconds":0}`

// While the store does not answer where a request goes, the session can be read, and the run's end ends the read.
func TestSessionIsNotLockedWhileItsStoreHangs(t *testing.T) {
	t.Parallel()
	const soon = 2 * time.Second // far below what a read may take by itself
	b := among(t, strangers, answering(false))
	reading, ended := make(chan struct{}, 1), make(chan error, 1)
	b.store.byKey = func(ctx context.Context, _ sessions.Record) (sessions.Record, error) {
		select {
		case reading <- struct{}{}:
		default: // it was told before
		}
		<-ctx.Done()
		return sessions.Record{}, ctx.Err()
	}
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("sessions_send", toOther, "call_1")}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		_, err := b.ask(ctx, "ask the other one")
		ended <- err
	}()
	<-reading
	seen := make(chan struct{})
	go func() {
		b.session.Record()
		b.session.CurrentParts()
		close(seen)
	}()
	select {
	case <-seen:
	case <-time.After(soon):
		t.Error("the session is locked while its store is read")
	}
	stop()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(soon):
		t.Error("the read goes on although its run was stopped")
		require.Error(t, <-ended)
	}
	<-seen
	require.Empty(t, b.asked)
}

// Where a request goes is looked up when it is about to run, too: an approval never counts for a question that was not asked.
func TestTargetThatMovesIsAskedAbout(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		o := answering(yes)
		b := among(t, strangers, o)
		reads := 0
		b.store.byKey = func(_ context.Context, r sessions.Record) (sessions.Record, error) {
			if reads++; reads > 1 {
				r.Route.Conversation = "-300"
			}
			return r, nil
		}
		require.Equal(t, !yes, b.tool(t, "sessions_send", toOther).Error)
		require.Equal(t, []string{"sessions_send"}, o.asked)
		require.Equal(t, yes, len(b.asked) == 1)
	}
}

// A request whose target can't be looked up waits for an owner.
func TestUnknownTargetIsAskedAbout(t *testing.T) {
	t.Parallel()
	o := answering(false)
	b := among(t, strangers, o)
	b.store.byKey = func(context.Context, sessions.Record) (sessions.Record, error) {
		return sessions.Record{}, errors.New("the disk is gone")
	}
	require.Equal(t, "the owner denied it", b.tool(t, "sessions_send", toOther).Text)
	require.Equal(t, []string{"sessions_send"}, o.asked)
	require.Empty(t, b.asked)
}

// Where only owners have spoken nothing is looked up before a request but what the tool itself reads.
func TestTrustedRequestCostsOneRead(t *testing.T) {
	t.Parallel()
	b := among(t, public, answering(false))
	reads := 0
	b.store.byKey = func(_ context.Context, r sessions.Record) (sessions.Record, error) {
		reads++
		return r, nil
	}
	require.False(t, b.tool(t, "sessions_send", toOther).Error)
	require.Equal(t, 1, reads)
}
