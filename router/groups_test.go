package router_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// inSpace is a message in a group of a guild.
func inSpace(space, group, who string, mentioned bool) adapters.Inbound {
	m := inGroup(group, who, group+who, "hi", mentioned)
	m.Route.Space = space
	return m
}

// policies are the settings of groups that the tests below look at.
func policies(b *bundle) {
	b.settings.Channels["test"] = place.ChannelSettings{
		GroupPolicy: place.AccessAllowlist,
		Groups: map[string]place.GroupSettings{
			"open":    {AllowFrom: []string{"*"}},
			"staff":   {RequireMention: true, AllowFrom: []string{"ann"}, AllowRoles: []string{"mods"}},
			"forum":   {RequireMention: true, Topics: map[string]place.TopicSettings{"12": {RequireMention: false}}},
			"inherit": {RequireMention: false},
		},
		Spaces: map[string]place.GroupSettings{"guild": {RequireMention: true, AllowRoles: []string{"members"}}},
	}
}

func TestActivation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		hear := func(id string) ledger.Outcome { return b.hear(inGroup("g1", "ann", id, "hi", false)).Outcome }
		say := func(id, text string) string {
			synctest.Wait()
			b.hear(inGroup("g1", "owner", id, text, true))
			return b.last("g1")
		}
		require.Equal(t, ledger.OutcomeHistory, hear("1"))
		require.Contains(t, say("2", "/activation always"), "I answer every message here")
		require.Equal(t, ledger.OutcomeRun, hear("3"))
		require.Contains(t, say("4", "/status"), "activation: always")
		say("5", "/new")
		require.Equal(t, ledger.OutcomeRun, hear("6"), "a new session is bound as the old one was")
		require.Equal(t, ledger.OutcomeHistory, b.hear(inGroup("g2", "ann", "7", "hi", false)).Outcome, "elsewhere nothing has changed")
		require.Contains(t, say("8", "/activation inherit"), "follows the configuration")
		require.Equal(t, ledger.OutcomeHistory, hear("9"))
		require.Contains(t, say("10", "/activation"), "Usage")
		require.Equal(t, 2, b.audited("session.activation"))

		b.hear(inGroup("g1", "ann", "11", "/activation always", true))
		require.Equal(t, ledger.OutcomeHistory, hear("12"), "only the owner may")
		b.hear(in("owner", "13", "/activation always"))
		require.Contains(t, b.last("owner"), "for groups")
	})
}

// What is set in a group counts for its threads, until one of them has a setting of its own.
func TestActivationReachesThreads(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	in := func(thread, who, id, text string, mentioned bool) adapters.Inbound {
		m := inGroup("g1", who, id, text, mentioned)
		m.Route.Thread = sessions.ThreadID(thread)
		return m
	}
	require.Equal(t, ledger.OutcomeHistory, b.hear(in("t1", "ann", "1", "hi", false)).Outcome)
	b.hear(in("", "owner", "2", "/activation always", true))
	require.Equal(t, ledger.OutcomeRun, b.hear(in("t1", "ann", "3", "hi", false)).Outcome)
	require.Equal(t, ledger.OutcomeRun, b.hear(in("t2", "ann", "4", "hi", false)).Outcome, "a new thread")
	b.hear(in("t1", "owner", "5", "/activation mention", true))
	require.Equal(t, ledger.OutcomeHistory, b.hear(in("t1", "bob", "6", "hi", false)).Outcome, "its own setting comes first")
	require.Equal(t, ledger.OutcomeRun, b.hear(in("t2", "bob", "7", "hi", false)).Outcome)
	b.hear(in("t1", "owner", "8", "/activation inherit", true))
	require.Equal(t, ledger.OutcomeRun, b.hear(in("t1", "cid", "9", "hi", false)).Outcome)
	b.hear(in("", "owner", "10", "/activation inherit", true))
	require.Equal(t, ledger.OutcomeHistory, b.hear(in("t3", "ann", "11", "hi", false)).Outcome)
}

// A mention can be asked for where the configuration wants none.
func TestActivationMention(t *testing.T) {
	t.Parallel()
	b := newBundle(t, policies)
	require.Equal(t, ledger.OutcomeRun, b.hear(inSpace("", "open", "ann", false)).Outcome)
	b.hear(inGroup("open", "owner", "2", "/activation mention", false))
	require.Equal(t, ledger.OutcomeHistory, b.hear(inSpace("", "open", "bob", false)).Outcome)
	require.Equal(t, ledger.OutcomeCommand, b.hear(inGroup("open", "owner", "3", "/activation inherit", false)).Outcome, "the owner is still heard")
}

func TestBindingsOfASpace(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(b *bundle) {
		b.settings.Channels["test"] = place.ChannelSettings{GroupPolicy: place.AccessOpen}
		b.settings.Bindings = []place.Binding{{Space: "guild", Group: "special", Agent: "first"}, {Space: "guild", Agent: "second"}, {Space: "team", Agent: "third"}}
	})
	agentOf := func(m adapters.Inbound) string {
		record, err := b.store.Session(t.Context(), b.hear(m).Session)
		require.NoError(t, err)
		return record.Agent
	}
	require.Equal(t, "first", agentOf(inSpace("guild", "special", "ann", true)))
	require.Equal(t, "second", agentOf(inSpace("guild", "g1", "ann", true)))
	require.Equal(t, "third", agentOf(inSpace("team", "g2", "ann", true)))
	require.Equal(t, "main", agentOf(inSpace("", "g3", "ann", true)))

	// A program does not say in which guild a conversation is; its session is found all the same.
	b.hear(inSpaceText("guild", "g1", "owner", "/send off"))
	d, err := b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", ChatType: sessions.Group, To: "g1"})
	require.NoError(t, err)
	require.Equal(t, "override", d.Reason)
}

func inSpaceText(space, group, who, text string) adapters.Inbound {
	m := inSpace(space, group, who, true)
	m.Text = text
	m.Event += text
	return m
}

// A command of the platform's own menu is answered to its sender alone, and always.
func TestMenuCommandsAreAnsweredPrivately(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options func(*bundle)
		who     string
		text    string
		want    string
	}{
		"carried out":  {nil, "ann", "/whoami", "a guest"},
		"denied":       {nil, "ann", "/send off", "Only an owner can"},
		"unknown":      {nil, "ann", "/frobnicate now", "the command `/frobnicate`. `/help`"},
		"not admitted": {policies, "ann", "/help", "can't use commands here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				chat := &handles{chat: newChat()}
				b := newBundle(t, func(b *bundle) {
					b.chat, b.adapter = chat.chat, chat
					if c.options != nil {
						c.options(b)
					}
				})
				m := inGroup("g1", c.who, "1", c.text, true)
				m.Route.Handle = "interaction"
				b.hear(m)
				require.Contains(t, b.last("g1"), c.want)
				require.Equal(t, []string{"interaction"}, chat.seen)
			})
		})
	}
}

// handles notes with which handles messages are sent.
type handles struct {
	*chat
	seen []string
}

func (h *handles) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	h.mu.Lock()
	h.seen = append(h.seen, out.Route.Handle)
	h.mu.Unlock()
	return h.chat.Send(ctx, out)
}
