package router_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
)

// Who asks for something that can't be is told what is wrong, and nothing is stored.
func TestRequestsThatCanNotBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		made, err := b.CreateSession(t.Context(), manage.NewSession{Metadata: json.RawMessage(strings.Repeat("1", sessions.MetadataMax))})
		require.NoError(t, err, "as much as may be")
		path := strings.Repeat("p", sessions.MetadataMax-3)
		_, err = b.CreateSession(t.Context(), manage.NewSession{FileAccess: &sessions.FileAccess{Read: []string{path}}})
		require.NoError(t, err, "as much as may be")
		for want, ask := range map[string]func(context.Context) error{
			`agent: no agent "ghost"`: func(ctx context.Context) error {
				_, err := b.CreateSession(ctx, manage.NewSession{Agent: "ghost"})
				return err
			},
			"metadata: is ": func(ctx context.Context) error {
				_, err := b.CreateSession(ctx, manage.NewSession{Metadata: make([]byte, sessions.MetadataMax+1)})
				return err
			},
			"file_access: has paths": func(ctx context.Context) error {
				_, err := b.CreateSession(ctx, manage.NewSession{FileAccess: &sessions.FileAccess{Write: []string{path + "p"}}})
				return err
			},
			`channel: no channel "none"`: func(ctx context.Context) error {
				_, err := b.Sender.Send(ctx, outbound.Proactive{Channel: "none", To: "x", Text: "hi"})
				return err
			},
			"to: is empty": func(ctx context.Context) error {
				_, err := b.Sender.Send(ctx, outbound.Proactive{Channel: "test", Text: "hi"})
				return err
			},
			`to: "last" needs`: func(ctx context.Context) error {
				_, err := b.Sender.Send(ctx, outbound.Proactive{Channel: "test", To: "last", Text: "hi"})
				return err
			},
			`"last" needs a session`: func(ctx context.Context) error {
				_, err := b.Sender.Send(ctx, outbound.Proactive{Channel: "test", To: "last", Session: made.ID, Text: "hi"})
				return err
			},
			`chat_type: "odd" is not`: func(ctx context.Context) error {
				_, err := b.Sender.CheckPolicy(ctx, outbound.Check{Channel: "test", To: "x", ChatType: "odd"})
				return err
			},
			`no channel "other"`: func(ctx context.Context) error {
				_, err := b.Sender.CheckPolicy(ctx, outbound.Check{Channel: "other", To: "x"})
				return err
			},
		} {
			err := ask(t.Context())
			var wrong *request.Error
			require.ErrorAs(t, err, &wrong, want)
			require.ErrorContains(t, err, want)
		}
		require.Empty(t, b.deliveries(""))
		b.StopIntake()
		for name, ask := range map[string]func(context.Context) error{
			"admit": func(ctx context.Context) error { return b.Intake.Accept(ctx, in("ann", "1", "hi")) },
			"send": func(ctx context.Context) error {
				_, err := b.Sender.Send(ctx, outbound.Proactive{Channel: "test", To: "x", Text: "hi"})
				return err
			},
			"session": func(ctx context.Context) error { _, err := b.CreateSession(ctx, manage.NewSession{}); return err },
			"ask":     func(ctx context.Context) error { _, err := b.Exchanges().Start(ctx, exchange.Ask{}); return err },
		} {
			require.ErrorIs(t, ask(t.Context()), request.ErrStopping, name)
		}
	})
}

// A session that knows more than a reader may see is taken for one that is not there: the reader is told what the gate would decide
// without it, and a message that was sent before is as it was then.
func TestAReaderIsToldNothingOfASessionAbove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		heard := b.hear(in("owner", "1", "hello"))
		synctest.Wait()
		b.learn(heard.Session, flow.NewLabel(flow.Confidential, flow.Trusted))
		var seen []string
		b.gate.mu.Lock()
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			if e.Effects {
				return nil
			}
			seen = append(seen, e.Session.ID)
			return nil
		}
		b.gate.mu.Unlock()
		p := outbound.Proactive{Channel: "test", To: "chat-owner", Text: "hi", Idempotency: "once"}
		for _, c := range []struct {
			reader flow.Level
			shown  sessions.ID
			status ledger.DeliveryStatus
		}{
			{flow.Public, "", ledger.DeliveryQueued},
			{flow.Public, "", ledger.DeliveryQueued},
			{flow.Confidential, heard.Session, ledger.DeliverySent},
			{flow.Level{}, heard.Session, ledger.DeliverySent},
		} {
			p.Reader = c.reader
			d, err := b.Sender.Send(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, c.shown, d.Session, c.reader)
			require.Equal(t, c.status, d.Status, c.reader)
			require.Equal(t, "hi", d.Text)
			synctest.Wait()
		}
		require.Len(t, b.chat.texts("owner"), 2)
		_, err := b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", Session: string(heard.Session), Reader: flow.Public})
		require.ErrorIs(t, err, sessions.ErrNotFound)
		_, err = b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", Session: string(heard.Session), Reader: flow.Confidential})
		require.NoError(t, err)
		seen = nil
		_, err = b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", To: "chat-owner", Reader: flow.Public})
		require.NoError(t, err)
		_, err = b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", To: "chat-owner", Reader: flow.Confidential})
		require.NoError(t, err)
		require.Equal(t, []string{"", string(heard.Session)}, seen)
	})
}

// What a try has said that failed is forgotten with it: neither the preview nor who follows keeps it beside the words of the next.
func TestWordsOfAFailedTryAreTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withEdits)
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the words of a try that fails"})
			time.Sleep(2 * time.Second)
			emit(sessions.Event{Type: sessions.EventRetrying})
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the words of the try that works"})
			time.Sleep(2 * time.Second)
			require.Equal(t, []string{"the words of the try that works"}, b.chat.texts("ann"))
			return "the words of the try that works, and the end", nil
		}
		b.ended(b.hear(in("ann", "1", "hi")).Run)
		synctest.Wait()
		require.Equal(t, []string{"the words of the try that works, and the end"}, b.chat.texts("ann"))
	})
}

// A wake of another replica reaches the lane that it names, and a wake for a partition that is elsewhere reaches nobody here.
func TestWakesOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		defer b.busy()()
		run := b.hear(in("ann", "1", "work"))
		synctest.Wait()
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Abort: []sessions.Abort{{Session: run.Session, At: time.Now()}}}))
		lane := sessions.SessionLane(run.Session)
		b.Owner().Woken(99, lane)
		b.Owner().Woken(lane.Partition(partitions), "abort|"+lane)
		synctest.Wait()
		got, err := b.store.Run(t.Context(), run.Run)
		require.NoError(t, err)
		require.Equal(t, sessions.RunAborted, got.Status)
		waiting := got
		waiting.ID, waiting.Status, waiting.EventKey, waiting.Finished = sessions.NewRunID(), sessions.RunQueued, "another", time.Time{}
		b.agent.answer = echo
		require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Enqueue: []sessions.Run{waiting}}))
		b.Owner().Woken(lane.Partition(partitions), lane)
		require.Equal(t, sessions.RunDone, b.ended(waiting.ID).Status)
	})
}

// A reaction that makes its adapter panic stops no other.
func TestPanicInAReactionIsContained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, option := withReactions("👀", false)
		b := newBundle(t, option, func(b *bundle) { b.adapter = nervous{r} })
		for _, id := range []string{"1", "2"} {
			b.ended(b.hear(in("ann", id, "hi")).Run)
		}
		synctest.Wait()
		require.Equal(t, 1, b.gathered("sluice_router_ack_reactions_total", "failed"))
		require.Equal(t, 1, b.gathered("sluice_router_ack_reactions_total", "shown"))
	})
}

// nervous panics at the first message.
type nervous struct{ *reacting }

func (n nervous) React(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID, how adapters.Reaction) error {
	if id == "1" {
		panic("reaction")
	}
	return n.reacting.React(ctx, route, id, how)
}

// What a command can't do it says, and changes nothing.
func TestCommandsThatCanNotBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Clearance = flow.Internal })
		release := b.busy()
		run := b.hear(in("owner", "1", "hi"))
		synctest.Wait()
		for text, want := range map[string]string{
			"/raise RESTRICTED":  "clearance is INTERNAL",
			"/raise":             "Usage: `/raise LEVEL`",
			"/pair":              "Usage: `/pair approve CODE`",
			"/pair admit ABCD":   "Usage: `/pair approve CODE`",
			"/pair approve":      "Usage: `/pair approve CODE`",
			"/status":            "- working, 0 waiting",
			"/branch 7":          "Usage: `/branch` lists",
			"/undo 101":          "Usage: `/undo` takes back",
			"/subagents stop":    "Usage: `/subagents`",
			"/subagents stop me": "No running sub-agent has that id",
		} {
			require.Contains(t, b.tell("owner", text), want, text)
		}
		release()
		require.Equal(t, sessions.RunDone, b.ended(run.Run).Status)
		synctest.Wait()
		require.Contains(t, b.tell("owner", "/status"), "- idle, 0 waiting")
	})
}
