package router_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/alertmanager/timeinterval"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/policy"
	"sluice/policy/flow"
	router_alert "sluice/router/alert"
	"sluice/router/ledger"
	"sluice/sessions"
)

// alerting makes a plan whose only receiver has these steps.
func alerting(change func(p *alert.Plan), steps ...alert.Step) func(*bundle) {
	p := &alert.Plan{
		Root: &alert.Route{
			Path: "0", Receiver: "ops", GroupBy: []string{"service"}, GroupWait: 30 * time.Second, GroupInterval: 5 * time.Minute, RepeatInterval: 4 * time.Hour,
		},
		Receivers: map[string]*alert.Receiver{"ops": {Name: "ops", Steps: steps}}, Targets: map[string]alert.Target{}, ResolveTimeout: 5 * time.Minute,
	}
	for _, who := range []string{"ann", "bob", "eve"} {
		p.Targets[who] = alert.Target{Name: who, Channel: "test", To: who}
	}
	if change != nil {
		change(p)
	}
	return func(b *bundle) { b.alerts, b.adapter = p, boarded{editable{b.chat}} }
}

// boarded is a chat that shows buttons.
type boarded struct{ editable }

func (boarded) MaxButtons() int { return 5 }

func firing(key string, severity alert.Severity) alert.Incoming {
	return alert.Incoming{Key: key, Severity: severity, Title: key + " is down", Labels: map[string]string{"service": "db"}, Source: "test", Label: flow.Bottom()}
}

func (b *bundle) report(all ...alert.Incoming) {
	b.t.Helper()
	require.NoError(b.t, b.Router.Alerts().Receive(b.t.Context(), all))
}

var shortName = regexp.MustCompile(" `al-[0-9a-f]{8}`")

// alarms is what a conversation shows, without the short names of alerts.
func (b *bundle) alarms(conversation string) (all []string) {
	for _, text := range b.chat.texts(conversation) {
		all = append(all, shortName.ReplaceAllString(text, ""))
	}
	return all
}

// notes are the reasons of the notifications about an alert, the oldest first.
func (b *bundle) notes(key string) (all []string) {
	b.t.Helper()
	x, err := b.Router.Alerts().Show(b.t.Context(), key, flow.Restricted)
	require.NoError(b.t, err)
	for _, n := range x.Notes {
		all = append([]string{fmt.Sprintf("%s %s %s", n.Target, n.Reason, n.Status)}, all...)
	}
	return all
}

// A group is told once after its wait, and its message is edited as it changes.
func TestAlertIsToldAndEdited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		b.report(firing("one", alert.Error), firing("two", alert.Critical))
		pass(29 * time.Second)
		require.Empty(t, b.chat.texts("ann"))
		pass(time.Second)
		require.Equal(t, []string{"**CRITICAL** two is down\n**ERROR** one is down"}, b.alarms("ann"), "the worst first")
		b.report(firing("one", alert.Error), firing("three", alert.Info))
		b.restart()
		pass(4*time.Minute + 59*time.Second)
		require.Len(t, b.notes("two"), 1, "not before the group's interval")
		pass(time.Second)
		require.Equal(t, []string{"**CRITICAL** two is down\n**ERROR** one is down\n**INFO** three is down"}, b.alarms("ann"), "the message is edited")
		over := firing("one", "")
		over.Action = alert.Resolve
		other := over
		other.Key, other.Source = "two", "somebody else"
		b.report(over, other)
		pass(6 * time.Minute)
		require.Equal(t, []string{"**CRITICAL** two is down\n**INFO** three is down\n**RESOLVED** one is down"}, b.alarms("ann"), "only its source resolves an alert")
		changed, err := b.Router.Alerts().Obey(t.Context(), router_alert.Order{Action: alert.Resolve, Name: router_alert.GroupName + mustAlert(b, "two").Groups[0], Actor: "test:owner", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		require.Len(t, changed, 2)
		pass(time.Second)
		texts := b.chat.texts("ann")
		require.Len(t, texts, 2)
		require.Contains(t, b.alarms("ann")[0], "**RESOLVED** two is down\nResolved by `test:owner` at 00:11 UTC")
		require.Contains(t, texts[1], "Resolved at ", "the thread is told once")
		edits := 0
		for _, d := range b.deliveries(ledger.DeliverySent) {
			if edit, over := alert.IsOver(d.Idempotency); over {
				changed, err := b.store.Delivery(t.Context(), ledger.DeliveryID(edit))
				require.NoError(t, err)
				require.NotEmpty(t, changed.Revises, "the message in the thread names the edit that it belongs to")
				edits++
			}
		}
		require.Equal(t, 1, edits)
		require.Equal(t, []string{"ann first queued", "ann new_in_group queued", "ann some_resolved queued", "ann all_resolved queued"}, b.notes("two"))
		pass(24 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 2)
	})
}

// An alert that fires again after retention has removed its group is told as a new one.
func TestAlertAfterRetention(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		b.report(firing("one", alert.Error))
		pass(time.Minute)
		over := firing("one", "")
		over.Action = alert.Resolve
		b.report(over)
		pass(time.Hour)
		told := len(b.chat.texts("ann"))
		for _, kind := range []ledger.PruneKind{ledger.PruneDeliveries, ledger.PruneAlerts} {
			for range 3 {
				_, err := b.store.Prune(t.Context(), ledger.Prune{Kind: kind, Before: time.Now()})
				require.NoError(t, err)
			}
		}
		b.report(firing("one", alert.Error))
		pass(time.Minute)
		require.Len(t, b.chat.texts("ann"), told+1)
	})
}

func mustAlert(b *bundle, key string) alert.Alert {
	b.t.Helper()
	found, err := b.Router.Alerts().Show(b.t.Context(), key, flow.Restricted)
	require.NoError(b.t, err)
	return found.Alert
}

// Nobody hears of an alert that is over before the wait of its group, or whose sender falls silent.
func TestAlertOverBeforeItsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		short := firing("short", alert.Critical)
		short.Ends = time.Now().Add(20 * time.Second)
		b.report(short, firing("mended", alert.Critical))
		over := firing("mended", "")
		over.Action = alert.Resolve
		b.report(over)
		pass(time.Hour)
		require.Empty(t, b.chat.texts("ann"))
		require.Equal(t, alert.Expired, mustAlert(b, "short").Status)
		require.Equal(t, alert.Resolved, mustAlert(b, "mended").Status)
		require.Empty(t, b.notes("short"))
		b.report(firing("short", alert.Critical))
		pass(30 * time.Second)
		require.Len(t, b.chat.texts("ann"), 1)
		require.Equal(t, 2, mustAlert(b, "short").Occurrences)
	})
}

// A step counts only with a receipt: without one the next follows at once. An acknowledgement ends the escalation.
func TestEscalation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}, alert.Step{Wait: 10 * time.Minute, Notify: []string{"bob"}}, alert.Step{Wait: 15 * time.Minute, Notify: []string{"eve"}, Repeat: 1}))
		b.report(firing("one", alert.Critical))
		pass(30*time.Second + 5*time.Second)
		require.Len(t, b.chat.texts("ann"), 1)
		require.Empty(t, b.chat.texts("bob"))
		b.restart()
		pass(10 * time.Minute)
		require.Equal(t, []string{"Nobody has acknowledged this yet:\n**CRITICAL** one is down"}, b.alarms("bob"))
		pass(15*time.Minute + 10*time.Second)
		require.Len(t, b.chat.texts("eve"), 1)
		pass(16 * time.Minute)
		require.Len(t, b.chat.texts("eve"), 2, "the last step is repeated")
		pass(3 * time.Hour)
		require.Len(t, b.chat.texts("eve"), 2)
		require.Equal(t, []string{"ann first queued", "bob escalation queued", "eve escalation queued", "eve escalation queued"}, b.notes("one"))

		b.chat.fails(func(out adapters.Outbound, _ int) error {
			if out.Route.Conversation == "ann" {
				return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("gone")}
			}
			return nil
		})
		other := firing("two", alert.Critical)
		other.Labels = map[string]string{"service": "web"}
		b.report(other)
		pass(35 * time.Second)
		require.Len(t, b.chat.texts("bob"), 2, "ann has no receipt")
		_, err := b.Router.Alerts().Obey(t.Context(), router_alert.Order{Action: alert.Acknowledge, Name: alert.Ref("two"), Actor: "test:bob", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		pass(time.Second)
		require.Contains(t, b.alarms("bob")[1], "**ACKNOWLEDGED** two is down\nAcknowledged by `test:bob`")
		pass(16 * time.Minute)
		require.Len(t, b.chat.texts("eve"), 2, "nobody else is called")
	})
}

// Silences and inhibition keep alerts quiet when they are told, and a place that may not know an alert hears only that there
// is one.
func TestQuietAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(func(p *alert.Plan) {
			source, err := alert.ParseMatchers(`severity="critical"`)
			require.NoError(t, err)
			target, err := alert.ParseMatchers(`severity="warning"`)
			require.NoError(t, err)
			p.Inhibitions = []alert.Inhibition{{Source: source, Target: target, Equal: []string{"service"}}}
			p.Root.GroupBy = []string{"key"}
		}, alert.Step{Notify: []string{"ann"}}), func(b *bundle) {
			b.gate.forbid = func(e policy.Egress) *policy.Decision {
				if e.Route.Conversation == "ann" && e.Label.Level() != flow.Public {
					return &policy.Decision{Action: policy.Block, Reason: "too secret"}
				}
				return nil
			}
		})
		_, err := b.Router.Alerts().SetSilence(t.Context(), alert.Silence{
			Ends: time.Now().Add(time.Hour), SilenceDetail: alert.SilenceDetail{Author: "test:owner", Matchers: []alert.Matcher{{Name: "key", Value: "silence.*", IsRegex: true, IsEqual: true}}},
		}, "test:owner")
		require.NoError(t, err)
		b.report(firing("silenced", alert.Critical), firing("inhibited", alert.Warning), firing("loud", alert.Error))
		pass(time.Minute)
		require.Equal(t, []string{"**ERROR** loud is down"}, b.alarms("ann"))
		pass(time.Hour + 6*time.Minute)
		require.Contains(t, b.alarms("ann"), "**CRITICAL** silenced is down", "the silence has ended")

		secret := firing("secret", alert.Critical)
		secret.Label = flow.NewLabel(flow.Confidential, flow.Untrusted)
		b.report(secret)
		pass(40 * time.Second)
		require.Contains(t, b.chat.texts("ann"), "alert `"+alert.Ref("secret")+"` withheld here.")
		require.Equal(t, []string{"Nobody has acknowledged this yet:\n**CRITICAL** secret is down"}, b.alarms("owner"), "the owner may know it")
	})
}

// Quiet hours and the budget of a target hold back what is not critical: one digest says it afterwards.
func TestDigests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(func(p *alert.Plan) {
			p.Root.GroupBy, p.Budget = []string{"..."}, alert.Budget{Max: 2, Per: time.Hour}
		}, alert.Step{Notify: []string{"ann"}}))
		for i := range 5 {
			b.report(firing(fmt.Sprint("a", i), alert.Error))
		}
		pass(time.Minute)
		b.report(firing("worst", alert.Critical))
		pass(time.Minute)
		require.Len(t, b.chat.texts("ann"), 3, "two, and the critical one")
		pass(30 * time.Minute)
		texts := b.chat.texts("ann")
		require.Len(t, texts, 4)
		require.Equal(t, "Held back until now: 3 alerts.\n", texts[3][:len("Held back until now: 3 alerts.\n")])
		pass(3 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 4)
	})
}

// What a budget has held back waits for the end of quiet hours that have begun since. What a place may not know hides nothing else.
func TestADigestWaitsForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, publicOnly, alerting(func(p *alert.Plan) {
			p.Root.GroupBy, p.Budget = []string{"..."}, alert.Budget{Max: 1, Per: 10 * time.Minute}
		}, alert.Step{Notify: []string{"ann"}}))
		b.report(firing("first", alert.Error))
		pass(time.Minute)
		secret := firing("secret", alert.Error)
		secret.Label = flow.NewLabel(flow.Confidential, flow.Untrusted)
		b.report(firing("second", alert.Error), secret)
		pass(time.Minute)
		require.Len(t, b.chat.texts("ann"), 1, "the budget is used up")
		plan := *b.Router.Alerts().Plan()
		now := time.Now().UTC()
		plan.Quiet = alert.Intervals{{Times: []timeinterval.TimeRange{{EndMinute: 60*now.Hour() + now.Minute() + 120}}}}
		b.Router.Alerts().Configure(&plan)
		pass(30 * time.Minute)
		require.Len(t, b.chat.texts("ann"), 1, "it is quiet")
		pass(2 * time.Hour)
		require.Equal(t, []string{"**ERROR** first is down", "Held back until now: 1 alert.\n\n- **ERROR** second is down", "alert withheld here."}, b.alarms("ann"))
	})
}

// Another replica posts to the target after this one has counted: together they do not exceed the budget.
func TestTheBudgetOfATargetHoldsOverReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withFailing, alerting(func(p *alert.Plan) { p.Budget = alert.Budget{Max: 1, Per: time.Hour} }, alert.Step{Notify: []string{"ann"}}))
		b.failing.posted = func() {
			note := alert.Note{Key: "alert/other/ann/1", Group: "other", Target: "ann", Sequence: 1, Reason: alert.First, Status: alert.NoteQueued, Label: flow.Bottom(), Created: time.Now()}
			var change ledger.Change
			change.AlertNotes, change.AlertBudgets = []alert.Note{note}, []alert.Spent{{Target: "ann"}}
			if err := b.store.Commit(context.Background(), change); err != nil {
				t.Error(err)
			}
		}
		b.report(firing("disk", alert.Error))
		pass(time.Minute)
		require.Empty(t, b.chat.texts("ann"))
		require.Equal(t, []string{"ann first waiting"}, b.notes("disk"))
		pass(2 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 1, "the digest")
	})
}

// With 1,000 open alerts the lists and names of alerts read a few rows, and inhibition only those that may keep others quiet.
func TestManyOpenAlertsCostLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		severe, err := alert.ParseMatchers(`severity="critical"`)
		require.NoError(t, err)
		mild, err := alert.ParseMatchers(`severity="warning"`)
		require.NoError(t, err)
		b := newBundle(t, withFailing, alerting(func(p *alert.Plan) { p.Inhibitions = []alert.Inhibition{{Source: severe, Target: mild}} }, alert.Step{Notify: []string{"ann"}}))
		var all []alert.Incoming
		for i := range 1000 {
			all = append(all, firing(fmt.Sprintf("a%04d", i), alert.Warning))
		}
		b.report(all...)
		b.report(firing("worst", alert.Critical))
		pass(2 * time.Minute)
		read := func(do func()) int64 {
			before := b.failing.alertsRead.Load()
			do()
			return b.failing.alertsRead.Load() - before
		}
		require.LessOrEqual(t, read(func() { require.Contains(t, b.tell("owner", "/alerts"), "… and more") }), int64(200))
		require.LessOrEqual(t, read(func() {
			x, err := b.Router.Alerts().Find(t.Context(), alert.Ref("a0007"), flow.Restricted)
			require.NoError(t, err)
			require.Equal(t, "a0007", x.Key)
		}), int64(1))
		require.LessOrEqual(t, read(func() {
			x, err := b.Router.Alerts().Show(t.Context(), "a0001", flow.Restricted)
			require.NoError(t, err)
			require.Equal(t, []string{"worst"}, x.InhibitedBy)
		}), int64(1))
	})
}

// A group that can't be worked on delays no other group of its partition, and goes on when its fault has gone.
func TestBrokenGroupOfAlertsStopsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withFailing, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		b.report(firing("one", alert.Error))
		b.failing.breakGroup(mustAlert(b, "one").Groups[0])
		pass(29 * time.Second)
		for i := range 2 * partitions { // each partition has some
			other := firing(fmt.Sprint("other", i), alert.Error)
			other.Labels = map[string]string{"service": other.Key}
			b.report(other)
		}
		pass(32 * time.Second)
		require.Len(t, b.chat.texts("ann"), 2*partitions)
		b.failing.breakGroup("")
		pass(30 * time.Second)
		require.Contains(t, b.alarms("ann"), "**ERROR** one is down")
	})
}

// Nobody can silence an alert that they may not know.
func TestSilencesReachWhatTheirAuthorMayKnow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(func(p *alert.Plan) { p.Root.GroupBy = []string{"key"} }, alert.Step{Notify: []string{"ann"}}))
		silence := func(reach flow.Level) {
			_, err := b.Router.Alerts().SetSilence(t.Context(), alert.Silence{
				Ends: time.Now().Add(24 * time.Hour), SilenceDetail: alert.SilenceDetail{
					Author: "token:eve", Reach: reach, Matchers: []alert.Matcher{{Name: "key", Value: ".+", IsRegex: true, IsEqual: true}},
				},
			}, "token:eve")
			require.NoError(t, err)
		}
		silence(flow.Public)
		known, secret, quiet := firing("known", alert.Error), firing("secret", alert.Error), firing("quiet", alert.Error)
		known.Label = flow.NewLabel(flow.Public, flow.Untrusted)
		secret.Label, quiet.Label = flow.NewLabel(flow.Confidential, flow.Untrusted), flow.NewLabel(flow.Confidential, flow.Untrusted)
		b.report(known, secret)
		pass(time.Minute)
		require.Equal(t, []string{"**ERROR** secret is down"}, b.alarms("ann"))
		silence(flow.Confidential)
		b.report(quiet)
		pass(time.Minute)
		require.Equal(t, []string{"**ERROR** secret is down"}, b.alarms("ann"))
	})
}

// The audit trail names who has made a silence, whatever author the silence claims.
func TestSilencesHaveAnActor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		claimed := alert.Silence{
			Ends: time.Now().Add(time.Hour), Label: flow.NewLabel(flow.Internal, flow.Untrusted),
			SilenceDetail: alert.SilenceDetail{Author: "test:owner", Matchers: []alert.Matcher{{Name: "key", Value: "x", IsEqual: true}}},
		}
		id, err := b.Router.Alerts().SetSilence(t.Context(), claimed, "token:eve")
		require.NoError(t, err)
		require.NoError(t, b.Router.Alerts().ExpireSilence(t.Context(), id, "token:bob", flow.Internal))
		_, err = b.Router.Alerts().SetSilence(t.Context(), claimed, "")
		require.ErrorContains(t, err, "missing")
		var actors []string
		entries, err := b.store.ListAudit(t.Context(), ledger.AuditQuery{MaxLevel: flow.Restricted, Limit: 10})
		require.NoError(t, err)
		for _, e := range entries {
			if e.Object == id {
				actors = append(actors, e.Action+" "+e.Actor)
				require.Equal(t, claimed.Label, e.Label)
			}
		}
		require.ElementsMatch(t, []string{"silence.set token:eve", "silence.expired token:bob"}, actors)
		kept, err := b.Router.Alerts().Silence(t.Context(), id, flow.Internal)
		require.NoError(t, err)
		require.Equal(t, "test:owner", kept.Author)
	})
}

// Labels that are no valid text lead to the same group whoever reads them: an acknowledgement tells nobody a second time.
func TestAlertWithInvalidTexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		broken := firing("one", alert.Error)
		broken.Title, broken.Labels = "nul \x00 and \xff", map[string]string{"service": "db\x00\xff"}
		b.report(broken)
		pass(time.Minute)
		require.Equal(t, []string{"**ERROR** nul \uFFFD and \uFFFD"}, b.alarms("ann"))
		groups := mustAlert(b, "one").Groups
		_, err := b.Router.Alerts().Obey(t.Context(), router_alert.Order{Action: alert.Acknowledge, Name: "one", Actor: "test:owner", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		pass(time.Minute)
		require.Equal(t, groups, mustAlert(b, "one").Groups)
		require.Len(t, b.chat.texts("ann"), 1)
		broken.Key = "two\x00"
		require.ErrorContains(t, b.Router.Alerts().Receive(t.Context(), []alert.Incoming{broken}), "valid UTF-8")
	})
}

// Everybody where an alert was posted may acknowledge it; only owners and operators may silence and resolve.
func TestAlertCommands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		b.report(firing("one", alert.Critical))
		pass(31 * time.Second)
		require.Equal(t, []string{"**CRITICAL** one is down `" + alert.Ref("one") + "`"}, b.chat.texts("ann"))
		say := func(who, id, text string) {
			m := in(who, id, text)
			m.Route.Conversation = sessions.ConversationID(who)
			b.hear(m)
			pass(2 * time.Second)
		}
		say("bob", "1", "/ack one")
		require.Equal(t, alert.Firing, mustAlert(b, "one").Status, "bob was not told of it")
		say("ann", "2", "/resolve one")
		require.Equal(t, alert.Firing, mustAlert(b, "one").Status, "ann is neither owner nor operator")
		say("ann", "3", "/ack "+alert.Ref("one"))
		require.Equal(t, alert.Acknowledged, mustAlert(b, "one").Status)
		require.Equal(t, "test:ann", mustAlert(b, "one").By)
		say("owner", "4", "/alerts")
		require.Contains(t, b.alarms("owner"), "- **ACKNOWLEDGED** one is down `one`")
		say("owner", "5", "/silence one 2y")
		require.Contains(t, b.alarms("owner"), "That did not work: no open alert is called \"one 2y\", and \"2y\" is not a duration such as 2h or 30m.")
		say("owner", "5b", "/silence one 2h")
		silences, err := b.Router.Alerts().Silences(t.Context(), time.Now(), flow.Restricted)
		require.NoError(t, err)
		require.Len(t, silences, 1)
		require.Equal(t, []alert.Matcher{{Name: "key", Value: "one", IsEqual: true}}, silences[0].Matchers)
		say("owner", "6", "/resolve one")
		require.Equal(t, alert.Resolved, mustAlert(b, "one").Status)
	})
}

// A command about an alert that the conversation may not know says the same as about one that does not exist, unless the
// conversation was told that the alert is withheld.
func TestAlertCommandsConfirmNothingSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(func(p *alert.Plan) { p.Operators = []string{"test:eve"} }, alert.Step{Notify: []string{"ann"}}))
		b.carrying(flow.Public)
		secret := firing("layoffs", alert.Critical)
		secret.Label = flow.NewLabel(flow.Confidential, flow.Trusted)
		b.report(secret)
		pass(31 * time.Second)
		ref := alert.Ref("layoffs")
		require.Equal(t, []string{"alert `" + ref + "` withheld here."}, b.chat.texts("ann"))
		said := 0
		say := func(who, text string) string {
			said++
			m := in(who, fmt.Sprint(said), text)
			place := "with " + who // where nobody is told of alerts
			if who == "ann" {
				place = who
			}
			m.Route.Conversation = sessions.ConversationID(place)
			b.hear(m)
			pass(2 * time.Second)
			texts := b.chat.texts(place)
			return texts[len(texts)-1]
		}
		for _, command := range []string{"/ack %s", "/resolve %s", "/silence %s 1h"} {
			for _, name := range []string{"layoffs", ref} {
				for _, who := range []string{"owner", "eve", "bob"} {
					hidden := say(who, fmt.Sprintf(command, name))
					absent := say(who, fmt.Sprintf(command, "nothing"))
					require.Equal(t, strings.ReplaceAll(absent, "nothing", name), hidden, who)
				}
			}
		}
		require.Equal(t, alert.Firing, mustAlert(b, "layoffs").Status)
		say("ann", "/ack "+ref)
		require.Equal(t, alert.Acknowledged, mustAlert(b, "layoffs").Status, "ann was told of it")
	})
}

// Where too many alerts are open, new ones are refused, and the open ones can still be changed and resolved.
func TestOpenAlertsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		var all []alert.Incoming
		for i := range alert.ListMax - 1 {
			all = append(all, firing(fmt.Sprint("n", i), alert.Info))
		}
		b.report(all...)
		over := firing("n0", "")
		over.Action = alert.Resolve
		err := b.Router.Alerts().Receive(t.Context(), []alert.Incoming{firing("a", alert.Error), firing("b", alert.Error), firing("n1", alert.Critical)})
		require.ErrorContains(t, err, `"b" is not stored, because 10000 alerts are open, which is the maximum: resolve some`)
		require.Equal(t, alert.Error, mustAlert(b, "a").Severity)
		require.Equal(t, alert.Critical, mustAlert(b, "n1").Severity, "the open ones change")
		b.report(over)
		b.report(firing("b", alert.Error))
		require.Equal(t, alert.Firing, mustAlert(b, "b").Status)
	})
}

// The metrics show how many alerts are open, whoever reported them.
func TestOpenAlertsAreAMetric(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		b.report(firing("one", alert.Error), firing("two", alert.Error), firing("three", alert.Info))
		_, err := b.Router.Alerts().Obey(t.Context(), router_alert.Order{Action: alert.Acknowledge, Name: "one", Actor: "test:owner", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		over := firing("three", "")
		over.Action = alert.Resolve
		b.report(over)
		require.NoError(t, testutil.GatherAndCompare(b.registry, strings.NewReader(`# HELP sluice_alerts Open alerts by status (firing, acknowledged) and severity, on all replicas together.
# TYPE sluice_alerts gauge
sluice_alerts{severity="error",status="acknowledged"} 1
sluice_alerts{severity="error",status="firing"} 1
`), "sluice_alerts"))
	})
}

// A critical alert is sent at once also if its group was held back before.
func TestCriticalAlertOfAHeldGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(func(p *alert.Plan) { p.Budget = alert.Budget{Max: 1, Per: time.Hour} }, alert.Step{Notify: []string{"ann"}}))
		other := firing("other", alert.Error)
		other.Labels = map[string]string{"service": "web"}
		b.report(other)
		pass(time.Minute)
		b.report(firing("held", alert.Error))
		pass(time.Minute)
		require.Len(t, b.chat.texts("ann"), 1, "the budget is used up")
		b.report(firing("worse", alert.Critical))
		pass(6 * time.Minute)
		require.Contains(t, b.alarms("ann"), "**CRITICAL** worse is down\n**ERROR** held is down")
		require.Equal(t, []string{"ann new_in_group queued"}, b.notes("worse"))
	})
}

// A digest waits for a target that can't be found for a while.
func TestDigestWaitsForItsTarget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(func(p *alert.Plan) {
			p.Root.GroupBy, p.Budget = []string{"..."}, alert.Budget{Max: 1, Per: time.Hour}
		}, alert.Step{Notify: []string{"ann"}}))
		b.report(firing("one", alert.Error), firing("two", alert.Error))
		pass(time.Minute)
		require.Len(t, b.chat.texts("ann"), 1)
		plan := b.Router.Alerts().Plan()
		without := *plan
		without.Targets = map[string]alert.Target{}
		b.Router.Alerts().Configure(&without)
		pass(2 * time.Hour)
		require.Len(t, b.chat.texts("ann"), 1)
		b.Router.Alerts().Configure(plan)
		pass(2 * time.Minute)
		require.Len(t, b.chat.texts("ann"), 2)
		require.Contains(t, b.chat.texts("ann")[1], "Held back until now: 1 alert.")
	})
}

// What happens to an alert while its message waits for the platform is shown as soon as the message has arrived.
func TestAlertChangesBeforeItsMessageArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		b.chat.fails(func(adapters.Outbound, int) error {
			return &adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Minute, Certain: true, Err: errors.New("429")}
		})
		b.report(firing("one", alert.Error))
		pass(time.Minute)
		_, err := b.Router.Alerts().Obey(t.Context(), router_alert.Order{Action: alert.Acknowledge, Name: "one", Actor: "test:owner", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		pass(10 * time.Minute)
		require.Empty(t, b.chat.texts("ann"))
		b.chat.fails(nil)
		pass(3 * time.Minute)
		require.Len(t, b.chat.texts("ann"), 1)
		require.Contains(t, b.alarms("ann")[0], "**ACKNOWLEDGED** one is down\nAcknowledged by `test:owner`")
		count := len(b.notes("one"))
		pass(time.Hour)
		require.Len(t, b.notes("one"), count, "it is edited once")
	})
}

// A short name that several alerts have names no alert.
func TestSharedShortName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		name := alert.Ref("one")
		b.report(firing("one", alert.Error), firing(name, alert.Error)) // the second one's key looks like the name of the first
		order := router_alert.Order{Action: alert.Acknowledge, Name: name, Actor: "test:owner", MaxLevel: flow.Restricted}
		_, err := b.Router.Alerts().Obey(t.Context(), order)
		require.ErrorContains(t, err, "2 open alerts are called \""+name+"\": use the key of one")
		require.Equal(t, alert.Firing, mustAlert(b, "one").Status)
	})
}

// What is told once does not come back after a person has resolved it, until its time is over. What has ended by itself does.
func TestAnAlertThatIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, alerting(nil, alert.Step{Notify: []string{"ann"}}))
		period := func(days int) alert.Incoming {
			in := firing("budget", alert.Warning)
			in.Once, in.Ends = true, time.Date(2000, 1, 1+days, 0, 0, 0, 0, time.UTC)
			return in
		}
		b.report(period(1))
		over := period(1)
		over.Action = alert.Resolve
		b.report(over)
		b.report(period(1))
		require.Equal(t, alert.Firing, mustAlert(b, "budget").Status, "there was room for a while")
		_, err := b.Router.Alerts().Obey(t.Context(), router_alert.Order{Action: alert.Resolve, Name: "budget", Actor: "test:owner", MaxLevel: flow.Restricted})
		require.NoError(t, err)
		b.report(period(1))
		require.Equal(t, alert.Resolved, mustAlert(b, "budget").Status)
		b.report(period(2))
		require.Equal(t, alert.Firing, mustAlert(b, "budget").Status, "the next period")
	})
}
