package discord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
)

func TestMenuIsPublished(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	require.NoError(t, s.adapter.SetCommands(t.Context(), []adapters.Command{
		{Name: "status", Description: "How things stand"},
		{Name: "Long", Description: strings.Repeat("é", 200)},
		{Name: "no good name", Description: "left out"},
		{Name: "bare"},
	}))
	var menu []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Options     []struct {
			Name     string `json:"name"`
			Required bool   `json:"required"`
		} `json:"options"`
	}
	require.NoError(t, json.Unmarshal(s.srv.Commands(), &menu))
	require.Len(t, menu, 3)
	require.Equal(t, "status", menu[0].Name)
	require.Equal(t, "arguments", menu[0].Options[0].Name)
	require.False(t, menu[0].Options[0].Required)
	require.Len(t, []rune(menu[1].Description), 100)
	require.Equal(t, "bare", menu[2].Description)
}

// Discord is answered after the event is durable, with "thinking…" that only who asked sees.
func TestCommandIsAcknowledgedWhenDurable(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	asked, store := make(chan struct{}, 1), make(chan struct{})
	s.inbox.refuse = func(adapters.Inbound) error {
		asked <- struct{}{}
		<-store
		return nil
	}
	s.run(t)
	token := s.srv.Command(discordtest.General, ada, "status", "now")
	<-asked
	early := s.srv.Acked(token)
	close(store)
	require.False(t, early)
	require.NoError(t, s.srv.WaitAcked(t.Context(), token))
	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, "/status now", in.Text)
	require.Equal(t, discordtest.AppID+"/"+token, in.Route.Handle)
	calls := s.srv.Calls("/interactions/")
	require.JSONEq(t, `{"type": 5, "data": {"flags": 64}}`, string(calls[0].Body))
}

// The answer of a quick command may be ready before Discord has taken "thinking…".
func TestAnswerWaitsForThinking(t *testing.T) {
	t.Parallel()
	var s *setup
	s = newSetup(t, discordtest.Options{BeforeAck: func() {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_ = s.srv.WaitCalls(ctx, "/webhooks/", 1) // that it does not come is what is tested
	}}, nil)
	answered := make(chan error, 1)
	s.inbox.refuse = func(in adapters.Inbound) error {
		go func() { // as a run that begins at once
			_, err := s.adapter.Send(context.WithoutCancel(t.Context()), out(in.Route, "all is well"))
			answered <- err
		}()
		return nil
	}
	s.run(t)
	s.srv.Command(discordtest.General, ada, "status", "")
	require.NoError(t, <-answered)
	shown := s.srv.Shown(discordtest.General)
	require.Len(t, shown, 1)
	require.True(t, shown[0].Private)
	require.Len(t, s.srv.Calls("/webhooks/"), 1)
}

func TestAnswerOfManyPieces(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	token := s.srv.Command(discordtest.DirectID(ada), ada, "status", "")
	require.NoError(t, s.srv.WaitAcked(t.Context(), token))
	in := s.inbox.wait(t, 1)[0]
	for part, text := range []string{"one", "two"} {
		o := out(in.Route, text)
		o.Part = part
		for range 2 - part { // the first is the same however often it is sent
			_, err := s.adapter.Send(t.Context(), o)
			require.NoError(t, err)
		}
		_, ok, err := s.adapter.Reconcile(t.Context(), o, time.Now())
		require.False(t, ok)
		require.Equal(t, part > 0, err != nil, "only the first may simply be sent again")
	}
	shown := s.srv.Shown(discordtest.DirectID(ada))
	require.Len(t, shown, 2)
	require.Equal(t, "one", shown[0].Content)
	require.True(t, shown[0].Private)
	require.Equal(t, "two", shown[1].Content)
	require.True(t, shown[1].Private)
}

func TestAnswerComesTooLate(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	route := group()
	route.Handle = discordtest.AppID + "/a-token-that-is-over"
	_, err := s.adapter.Send(t.Context(), out(route, "all is well"))
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.NotContains(t, err.Error(), "a-token-that-is-over")
	require.Empty(t, s.srv.Shown(discordtest.General), "what is for one person goes to nobody else")
}

func TestPressIsAcknowledged(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	o := out(group(), "May I?")
	o.Buttons = []adapters.Button{{Label: "Yes", Press: "/approve k7w2 yes"}}
	receipt, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	s.srv.GiveRoles(ada, discordtest.MemberRole)
	token := s.srv.Press(discordtest.General, string(receipt.MessageID), ada, "/approve k7w2 yes")
	require.NoError(t, s.srv.WaitAcked(t.Context(), token))
	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, "/approve k7w2 yes", in.Press)
	require.Empty(t, in.Text, "what a press means is not the platform's to say")
	require.Equal(t, []string{discordtest.MemberRole}, in.Roles)
	require.Equal(t, receipt.MessageID, in.MessageID)
	require.Empty(t, in.Route.Handle, "all see the answer")
	require.JSONEq(t, `{"type": 6}`, string(s.srv.Calls("/interactions/")[0].Body))
}

func TestTypingIsThinking(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	route := group()
	require.NoError(t, s.adapter.Typing(t.Context(), route))
	route.Handle = discordtest.AppID + "/token"
	require.NoError(t, s.adapter.Typing(t.Context(), route))
	require.Equal(t, 1, s.srv.Typing(discordtest.General), "who gave a command sees it already, others need not")
}

func TestOtherInteractions(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Occur("INTERACTION_CREATE", map[string]any{
		"id": "1", "application_id": discordtest.AppID, "type": 4, "token": "x", "channel_id": discordtest.General, "user": map[string]any{"id": "1001"},
	})
	s.srv.Say(discordtest.General, ada, "last")
	require.Equal(t, []string{"last"}, texts(s.inbox.wait(t, 1)))
}

// A file is not shown to all because its answer is private.
func TestFileOfPrivateAnswerIsRefused(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	route := group()
	route.Handle = discordtest.AppID + "/token"
	_, err := s.adapter.SendFile(t.Context(), out(route, ""), adapters.File{Name: "secret.txt", Size: 1, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("x")), nil
	}})
	require.Equal(t, adapters.Unsupported, adapters.AsFailure(err).Kind)
	require.True(t, adapters.AsFailure(err).Certain)
	require.Empty(t, s.srv.Shown(discordtest.General), "what only one shall see is never shown to all")
}

// Who reads the log must not be able to answer an interaction in the bot's place.
func TestSecretsOfWhatCanNotBeReadStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	stop := s.run(t)
	s.srv.Occur("INTERACTION_CREATE", map[string]any{"id": "1", "type": "press", "token": "aW50-hidden", "channel_id": discordtest.General})
	s.srv.SendRaw(`{"op":0,"t":"INTERACTION_CREATE","s":1000,"d":{"token" :
		"aW50-hidden","type":"press","message":{"interaction":{"token":"inner-hidden"}}}}`)
	s.srv.Say(discordtest.DirectID(ada), ada, "it goes on")
	s.inbox.wait(t, 1)
	stop()
	require.Equal(t, 2, strings.Count(log.String(), "malformed discord event"))
	require.NotContains(t, log.String(), "hidden")
	require.Contains(t, log.String(), discordtest.General, "the rest is there")
}
