package router_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/sessions"
)

// keyed is a chat whose messages can have buttons and be edited. The last form of each message is kept.
type keyed struct {
	editable
	buttons map[sessions.PlatformMessageID][]adapters.Button
	broken  error // of an edit
}

func withKeys(b *bundle) *keyed {
	k := &keyed{editable: editable{b.chat}, buttons: map[sessions.PlatformMessageID][]adapters.Button{}}
	b.adapter = k
	return k
}

func (*keyed) MaxButtons() int { return 5 }

func (k *keyed) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	receipt, err := k.editable.Send(ctx, out)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.buttons[receipt.MessageID] = out.Buttons
	}
	return receipt, err
}

func (k *keyed) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	if k.broken != nil {
		return k.broken
	}
	err := k.editable.Edit(ctx, id, out)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.buttons[id] = out.Buttons
	return err
}

// open is how many messages have buttons.
func (k *keyed) open() (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, buttons := range k.buttons {
		if len(buttons) > 0 {
			n++
		}
	}
	return n
}

// asked is a bundle on a chat with buttons whose owner was asked about a call: the approval and the question.
func asked(t *testing.T) (*bundle, *keyed, ledger.Approval, ledger.Delivery) {
	t.Helper()
	var k *keyed
	b := newBundle(t, func(b *bundle) { k = withKeys(b) })
	asking(b)
	b.hear(in("owner", "1", "clean up"))
	synctest.Wait()
	require.Equal(t, 1, k.open())
	return b, k, b.onlyApproval(ledger.ApprovalPending), b.deliveries(ledger.DeliverySent)[0]
}

// However a question is decided, its buttons go and its message says how.
func TestButtonsGoWhenTheirQuestionIsDecided(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(b *bundle, p ledger.Approval, q ledger.Delivery)
		want   string
	}{
		"by a press":     {func(b *bundle, _ ledger.Approval, q ledger.Delivery) { b.hear(b.press(q, 0, "owner")) }, "Allowed."},
		"by a press, no": {func(b *bundle, _ ledger.Approval, q ledger.Delivery) { b.hear(b.press(q, 1, "owner")) }, "Denied."},
		"by a rule": {func(b *bundle, p ledger.Approval, q ledger.Delivery) {
			b.hear(b.press(q, 2, "owner"))
			synctest.Wait()
			require.Equal(b.t, ledger.ApprovalPending, b.onlyApproval(ledger.ApprovalPending).Status)
			b.hear(b.press(b.proposed(p), 0, "owner"))
		}, "Allowed."},
		"while a rule is shown": {func(b *bundle, p ledger.Approval, q ledger.Delivery) {
			b.hear(b.press(q, 2, "owner"))
			synctest.Wait()
			_, err := b.Approvals.DecideApproval(context.Background(), p.ID, decider.Verdict{Actor: "operator", Owner: true})
			require.NoError(b.t, err)
		}, "Denied."},
		"by a command": {func(b *bundle, p ledger.Approval, _ ledger.Delivery) {
			b.hear(in("owner", "2", "/approve "+string(p.ID)+" deny because"))
		}, "Denied."},
		"over the API": {func(b *bundle, p ledger.Approval, _ ledger.Delivery) {
			_, err := b.Approvals.DecideApproval(context.Background(), p.ID, decider.Verdict{Allow: true, Actor: "operator", Owner: true})
			require.NoError(b.t, err)
		}, "Allowed."},
		"by silence": {func(*bundle, ledger.Approval, ledger.Delivery) { time.Sleep(11 * time.Minute) }, "No answer came in time, which counts as a no."},
		"with the run's end": {func(b *bundle, _ ledger.Approval, _ ledger.Delivery) {
			b.hear(in("owner", "2", "/stop"))
		}, "This question has expired."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, k, p, q := asked(t)
				c.decide(b, p, q)
				synctest.Wait()
				require.Zero(t, k.open(), "no button is left")
				require.Contains(t, b.chat.texts("owner")[0], "May I use `exec`?")
				require.Contains(t, b.chat.texts("owner")[0], c.want)
				require.NotContains(t, b.chat.texts("owner")[0], "because", "why may be for other eyes")
				require.Empty(t, b.delivery(q.ID).Asks)
				late := b.hear(b.press(q, 0, "owner"))
				require.Equal(t, "This has already been decided.", late.Notice)
			})
		})
	}
}

func TestOnlyWhoMayPressesAQuestionsButton(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, k, p, q := asked(t)
		m := b.press(q, 0, "ann")
		require.Equal(t, ledger.OutcomeCommand, b.hear(m).Outcome)
		synctest.Wait()
		require.Equal(t, 1, b.audited("command.denied"))
		require.Equal(t, 1, k.open())
		require.Equal(t, ledger.ApprovalPending, b.onlyApproval(ledger.ApprovalPending).Status, p.ID)
	})
}

// A question that is decided before the platform has taken it is not asked any more.
func TestADecidedQuestionIsNotAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var k *keyed
		b := newBundle(t, func(b *bundle) { k = withKeys(b) })
		asking(b)
		b.chat.fail = func(_ adapters.Outbound, n int) error {
			if n == 0 {
				return &adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Minute, Certain: true, Err: errors.New("slow down")}
			}
			return nil
		}
		heard := b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		p := b.onlyApproval(ledger.ApprovalPending)
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Actor: "operator", Owner: true})
		require.NoError(t, err)
		b.ended(heard.Run)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Zero(t, k.open())
		require.Equal(t, []string{"call_1 false the owner denied it"}, b.chat.texts("owner"))
		require.Equal(t, "its question is already decided", b.deliveries(ledger.DeliveryDiscarded)[0].LastError)
	})
}

// A process that dies between the decision and the end of the buttons leaves them to the next one. The message may be gone.
func TestButtonsGoAfterARestartAndOnlyOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, k, p, q := asked(t)
		b.stop()
		p.Status, p.By = ledger.ApprovalDenied, "test:owner"
		require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Approvals: []ledger.ApprovalMove{{From: ledger.ApprovalPending, Approval: p}}}))
		k.broken = &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("message to edit not found")}
		b.start()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Len(t, b.chat.texts("owner"), 2, "the question, and what came of the run: nothing is said again")
		require.Empty(t, b.delivery(q.ID).Asks)
		require.Contains(t, b.deliveries(ledger.DeliveryDiscarded)[0].LastError, "could not be changed")
	})
}

// Each owner is asked about a pairing, and all their buttons go.
func TestButtonsOfAPairingGoWithAllOwners(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(b *bundle, code string, q ledger.Delivery)
		want   string
	}{
		"by a press": {func(b *bundle, _ string, q ledger.Delivery) { b.hear(b.press(q, 0, "second")) }, "Admitted."},
		"over the API": {func(b *bundle, code string, _ ledger.Delivery) {
			_, err := b.Pairings.DenyPairing(context.Background(), code, "operator")
			require.NoError(b.t, err)
		}, "Not admitted."},
		"by time passed": {func(*bundle, string, ledger.Delivery) { time.Sleep(3 * time.Hour) }, "The code has expired."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var k *keyed
				b := newBundle(t, pairing, func(b *bundle) {
					k = withKeys(b)
					b.settings.Owners = []string{"test:owner", "test:second"}
				})
				b.hear(in("eve", "1", "hi"))
				synctest.Wait()
				require.Equal(t, 2, k.open())
				var q ledger.Delivery
				for _, d := range b.deliveries(ledger.DeliverySent) {
					if d.Route.Conversation == "second" {
						q = d
					}
				}
				c.decide(b, b.code(), q)
				synctest.Wait()
				require.Zero(t, k.open())
				for _, owner := range []string{"owner", "second"} {
					require.Contains(t, b.chat.texts(owner)[0], c.want)
				}
				wrong := b.audited("pairing.wrong")
				require.Equal(t, "This has already been decided.", b.hear(b.press(q, 0, "second")).Notice)
				require.Equal(t, wrong, b.audited("pairing.wrong"), "a late press is no wrong code")
			})
		})
	}
}

// Where what is asked could not be shown, how it was decided is not said either.
func TestABareQuestionDoesNotTellItsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var k *keyed
		b := newBundle(t, func(b *bundle) { k = withKeys(b) })
		asking(b)
		b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		p, q := b.onlyApproval(ledger.ApprovalPending), b.deliveries(ledger.DeliverySent)[0]
		bare := q
		bare.ID, bare.Idempotency, bare.Label, bare.Text, bare.Asks = ledger.NewDeliveryID(), "", flow.Bottom(), "May I use a tool?", "apr_high"
		high := p
		high.ID, high.Label, high.Status, high.By = "apr_high", flow.NewLabel(flow.Restricted, flow.Trusted), ledger.ApprovalDenied, "test:owner"
		require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Ask: []ledger.Approval{high}, Change: sessions.Change{}, Deliver: []ledger.Delivery{bare}}))
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Actor: "operator", Owner: true})
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, k.open())
		require.Contains(t, b.chat.texts("owner")[0], "This has been decided.", "the later order is of the bare question")
	})
}

// stumbling is a chat whose adapter breaks on a text that says how a question was decided.
type stumbling struct{ *keyed }

func (stumbling) Split(text string) []string {
	if strings.Contains(text, "Allowed.") {
		panic("no such text")
	}
	return []string{text}
}

// A panic of an adapter ended the whole gateway, and again after each restart.
func TestAFaultAboutOneQuestionStopsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.adapter = stumbling{withKeys(b)} })
		asking(b)
		b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		q := b.deliveries(ledger.DeliverySent)[0]
		b.hear(b.press(q, 0, "owner"))
		synctest.Wait()
		require.Empty(t, b.delivery(q.ID).Asks, "it is not tried for ever")
		require.Equal(t, "This has already been decided.", b.hear(b.press(q, 0, "owner")).Notice)
	})
}

// wiping is a chat that can take its messages back.
type wiping struct {
	*keyed
	gone []sessions.PlatformMessageID
}

func (w *wiping) Delete(_ context.Context, _ sessions.Route, id sessions.PlatformMessageID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, id)
	return nil
}

// An order to change a question's message that the gate forbids took the whole question away, as if it were the preview of an answer.
func TestAForbiddenChangeLeavesTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w *wiping
		b := newBundle(t, func(b *bundle) {
			w = &wiping{keyed: withKeys(b)}
			b.adapter = w
		})
		asking(b)
		b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		q := b.deliveries(ledger.DeliverySent)[0]
		b.gate.mu.Lock()
		b.gate.forbid = func(policy.Egress) *policy.Decision {
			return &policy.Decision{Action: policy.Block, Reason: "a new rule"}
		}
		b.gate.mu.Unlock()
		b.hear(b.press(q, 0, "owner"))
		synctest.Wait()
		require.NotEmpty(t, b.deliveries(ledger.DeliveryBlocked))
		require.Empty(t, w.gone)
	})
}
