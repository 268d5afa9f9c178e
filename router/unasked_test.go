package router_test

import (
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/sessions"
)

// A place that may not know an agent's alert is not told that there is one, not even as a number.
func TestDiscreetAlertsAreNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, publicOnly, toAnn(nil))
		high := annsAgent()
		high.Taint = flow.NewLabel(flow.Restricted, flow.Trusted)
		before := b.hear(in("owner", "1", "/alerts")).Notice
		b.alarmed(high, `{"key":"disk","severity":"critical","title":"secret"}`)
		after := b.hear(in("owner", "2", "/alerts")).Notice
		require.Equal(t, before, after)
	})
}

// A guest in a group can't have the agent fire a job that works with an owner's rights.
func TestGuestsFireNoJobOfAnOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader)
		synctest.Wait()
		made := b.hear(inGroup("g1", "owner", "1", "/cron ask deploy in 20h Deploy it", true)).Notice
		id := regexp.MustCompile("`(deploy[a-z0-9-]*)`").FindStringSubmatch(made)[1]
		j, err := b.Jobs.Get(t.Context(), id)
		require.NoError(t, err)
		guest := annsAgent()
		guest.Session, guest.Owner, guest.Audience, guest.Key = "sess_000000000009", false, "", "agent:main:test:group:g1"
		guest.Taint = flow.NewLabel(j.Row.Label.Level(), flow.Untrusted)
		guest.Route = j.Row.Home
		_, err = b.uses(guest, "cron_run", fmt.Sprintf(`{"id":%q}`, id))
		require.ErrorContains(t, err, "only an owner")
		pass(5 * time.Second)
		for _, r := range b.runsOf(sessions.Key("cron:" + id)) {
			require.False(t, r.Input.Owner, "a guest's call made a run with an owner's rights")
		}
	})
}

// A text is not repeated within a day, however often the heartbeat had nothing to say meanwhile.
func TestHeartbeatRepeatsNoTextWithinADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("- look at the mail"), func(b *bundle) { b.jobs[0].Schedule.Every = 5 * time.Minute })
		_, say := b.counting("The boss has written.")
		pass(6 * time.Minute)
		require.Len(t, b.chat.texts("ann"), 1)
		say.Store(sessions.HeartbeatOK)
		pass(51 * 5 * time.Minute)
		say.Store("The boss has written.")
		pass(6 * time.Minute)
		require.Len(t, b.chat.texts("ann"), 1, "said twice within 24h")
	})
}

// The place where the next page begins is an alert that the caller sees.
func TestPagesOfAlertsNameNoHiddenOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, toAnn(nil))
		guest := annsAgent()
		guest.Session, guest.Owner, guest.Audience, guest.Route.Conversation = "sess_000000000003", false, "", "elsewhere"
		for i := range 60 {
			b.report(firing(fmt.Sprintf("acme-merger-%d", i), alert.Error))
			time.Sleep(time.Second)
		}
		_, err := b.alertTool(guest, "alert_fire", `{"key":"own","title":"x"}`)
		require.NoError(t, err)
		text, err := b.alertTool(guest, "alert_list", `{}`)
		require.NoError(t, err)
		require.NotContains(t, text, "acme-merger")
	})
}

// A group with more alerts than a message looks at still tells of the most severe ones.
func TestManyAlertsHideNoCriticalOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, toAnn(func(p *alert.Plan) { p.Root.GroupBy = nil }))
		var all []alert.Incoming
		for i := range 1000 {
			all = append(all, firing(fmt.Sprintf("a%04d", i), alert.Info))
		}
		b.report(all...)
		pass(time.Minute)
		b.report(firing("zdatabase", alert.Critical))
		pass(20 * time.Minute)
		require.NotEmpty(t, b.notes("zdatabase"))
	})
}

// Alerts that were reported before alerts were switched off are told when they are on again.
func TestAlertsWaitWhileTheyAreOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, toAnn(nil))
		b.report(firing("one", alert.Critical))
		plan := b.Router.Alerts().Plan()
		b.Router.Alerts().Configure(nil)
		pass(time.Minute)
		b.Router.Alerts().Configure(plan)
		pass(3 * time.Hour)
		require.NotEmpty(t, b.chat.texts("ann"))
	})
}

// A text whose delivery is tried again is not said a second time meanwhile.
func TestATextOnItsWayIsNotSaidAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, beating("- look at the mail"), func(b *bundle) { b.jobs[0].Schedule.Every = time.Minute })
		b.counting("The boss has written.")
		since := time.Now()
		b.chat.fails(func(out adapters.Outbound, _ int) error {
			if time.Since(since) < 5*time.Minute {
				return &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: fmt.Errorf("busy")}
			}
			return nil
		})
		pass(20 * time.Minute)
		require.Len(t, b.chat.texts("ann"), 1, "said twice within 24h")
	})
}
