package chaos_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack/slacktest"
	"sluice/internal/chaos/child"
)

// paged are the persons whom the two steps of an alert's escalation tell.
var paged = []int64{4, 5}

// onCall tells one person of each alert, and a second later another one.
func onCall() string {
	return fmt.Sprintf(`targets: { first: { channel: slack, to: %q }, second: { channel: slack, to: %q } }
alerts:
  resolve_timeout: 1h
  route: { receiver: oncall, group_by: [alertname], group_wait: 1ms, group_interval: 1s }
  receivers:
    - { name: oncall, escalation: [{ notify: [first] }, { wait: 1s, notify: [second] }] }
`, slacktest.DirectID(int(paged[0])), slacktest.DirectID(int(paged[1])))
}

// alarm reports an alert as Prometheus does: to one replica after the other, until one accepts it.
func (r *replicas) alarm(n int) {
	r.t.Helper()
	name := fmt.Sprintf("disk-%d", n)
	r.post(n, "/api/v2/alerts", fmt.Sprintf(`[{"labels":{"alertname":%q,"severity":"critical"}}]`, name), http.Header{"Authorization": {"Bearer " + child.APIToken}})
	r.alarms = append(r.alarms, name)
}

// paged reports whether each step of each alert has told its person.
func (r *replicas) paged() bool {
	for _, person := range paged {
		if len(r.chat.shown(person)) < len(r.alarms) {
			return false
		}
	}
	return true
}

// judgeAlarms checks that each step of each alert is one message.
func (r *replicas) judgeAlarms() {
	r.t.Helper()
	for step, person := range paged {
		shown := r.chat.shown(person)
		require.Len(r.t, shown, len(r.alarms), "step %d; seed -chaos.seed=%d", step+1, *seed)
		for _, name := range r.alarms {
			require.Equal(r.t, 1, strings.Count(strings.Join(shown, "\n"), name+" "), "step %d of %s: %q; seed -chaos.seed=%d", step+1, name, shown, *seed)
		}
	}
}
