package chaos_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack/slacktest"
	"sluice/internal/chaos/child"
	"sluice/internal/freeport"
	"sluice/router/ledger"
	"sluice/store"
	"sluice/store/postgres"
	"sluice/store/storetest"
)

// replicas are gateways on one store and one bus that fire jobs every second.
type replicas struct {
	*world
	each []*child.Process // nil: down
	of   []child.Config
	env  [][]string     // of each; nil: none
	jobs map[string]int // job → the person it writes to
	n    int            // how often each job fires

	accepted []string // requests to the hook that were answered with 202, or with 200 when they were sent again
	repeated int      // requests that were known when they were sent again
	alarms   []string // alerts that were reported
}

// hooked is the person to whom the hook's agent writes, and hookSecret the hook's.
const (
	hooked     = 3
	hookSecret = "secret-of-the-hook"
)

// startReplicas starts three gateways with a job that says a text every second, one that asks the model every two seconds, a hook, and
// alerts.
func startReplicas(t *testing.T, n int, storeURL, busURL string) *replicas {
	t.Helper()
	r := &replicas{n: n, jobs: map[string]int{"tick": 1, "ask": 2}}
	job := `    - { id: %s, schedule: "%s * * * * *", exact: true, %s, ends: { after: %d }, catchUp: { window: 1h }, deliver: { to: ["slack:%s"] } }` + "\n"
	extra := "cron:\n  timezone: UTC\n  jobs:\n" +
		fmt.Sprintf(job, "tick", "*", `text: "tick"`, n, slacktest.DirectID(r.jobs["tick"])) +
		fmt.Sprintf(job, "ask", "*/2", `prompt: "how are things?", overlap: queue`, n, slacktest.DirectID(r.jobs["ask"]))
	extra += fmt.Sprintf("hooks:\n  build: { preset: generic, classification: PUBLIC, secrets: [%q], prompt: \"build {{.payload.n}}\", deliver: { to: [\"slack:%s\"] } }\n", hookSecret, slacktest.DirectID(hooked)) + onCall()
	r.world = newWorld(t, options{platform: "slack socket", owners: askers(), seedPlus: 60, store: storeURL, bus: busURL, extra: extra})
	fake, ok := r.chat.(slackPlatform)
	require.True(t, ok)
	for person := range 6 {
		fake.Join(slacktest.DirectID(person), slacktest.Direct, "", slacktest.Person(person))
	}
	for i := range 3 {
		config := r.config
		addr, err := freeport.Addr()
		require.NoError(t, err)
		config.Listen, config.State = addr, fmt.Sprintf("%s-%d", r.config.State, i)
		r.of, r.each = append(r.of, config), append(r.each, nil)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, c := range r.of {
				r.t.Logf("%s:\n%s", c.Listen, tail(c.LogPath()))
			}
		}
		for _, p := range r.each {
			if p != nil {
				p.Kill()
			}
		}
	})
	return r
}

func tail(path string) string {
	const most = 6000
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// live starts the replicas that are down.
func (r *replicas) live() {
	r.t.Helper()
	for i := range r.each {
		if r.each[i] == nil {
			var env []string
			if r.env != nil {
				env = r.env[i]
			}
			var err error
			r.each[i], err = child.Start(r.binary, r.of[i], env...)
			require.NoError(r.t, err)
			r.lives++
		}
	}
}

// request sends a request to the hook. It has an id of its own, so a replica that died after it had stored the request makes the next one
// answer that it is known.
func (r *replicas) request(n int) {
	r.t.Helper()
	id := fmt.Sprintf("build-%d", n)
	if r.post(n, "/hooks/build", fmt.Sprintf(`{"n":%d}`, n), http.Header{"Authorization": {"Bearer " + hookSecret}, "Idempotency-Key": {id}}) == http.StatusOK {
		r.repeated++
	}
	r.accepted = append(r.accepted, id)
}

// post sends a request to one replica after the other, until one accepts it.
func (r *replicas) post(first int, path, body string, header http.Header) (status int) {
	r.t.Helper()
	header.Set("Content-Type", "application/json")
	for i := first; ; i++ {
		req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+r.of[i%len(r.of)].Listen+path, strings.NewReader(body))
		require.NoError(r.t, err)
		req.Header = header
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			answer, _ := io.ReadAll(resp.Body)
			require.NoError(r.t, resp.Body.Close())
			switch resp.StatusCode {
			case http.StatusOK, http.StatusAccepted:
				return resp.StatusCode
			case http.StatusServiceUnavailable:
			default:
				require.Fail(r.t, "unexpected answer", "%s %s", resp.Status, answer)
			}
		}
		r.pause(askEvery)
	}
}

// judgeRequests checks that each request that was accepted was worked once, and that each reply is shown once.
func (r *replicas) judgeRequests(db *store.DB) {
	r.t.Helper()
	keys := map[string]bool{}
	for _, id := range r.accepted {
		found, err := db.TriggersOf(r.t.Context(), []string{"hook/build/" + id})
		require.NoError(r.t, err)
		require.Len(r.t, found, 1, id)
		require.Equal(r.t, []any{ledger.TriggerOK, 1}, []any{found[0].Status, found[0].Attempts}, "%s: %s; seed -chaos.seed=%d", id, found[0].Why, *seed)
		require.Len(r.t, found[0].Sends, 1, id)
		require.False(r.t, keys[string(found[0].Run)], "two requests have one run")
		keys[string(found[0].Run)] = true
	}
	require.Len(r.t, r.chat.shown(hooked), len(r.accepted), "seed -chaos.seed=%d", *seed)
}

// said is how many messages of a job are shown.
func (r *replicas) saidBy(job string) int { return len(r.chat.shown(int64(r.jobs[job]))) }

// done reports whether each job has said everything.
func (r *replicas) done() bool {
	for job := range r.jobs {
		if r.saidBy(job) < r.n {
			return false
		}
	}
	return len(r.chat.shown(hooked)) >= len(r.accepted) && r.paged()
}

// ended are the triggers of a job once all that fired have ended: receipts are looked for now and then.
func (r *replicas) ended(db *store.DB, job string) []ledger.Trigger {
	r.t.Helper()
	deadline := time.Now().Add(answerWithin)
	for {
		ended, err := db.EndedTriggers(r.t.Context(), ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: job, Limit: 10_000})
		require.NoError(r.t, err)
		fired := 0
		for _, e := range ended {
			if !e.Fired.IsZero() {
				fired++
			}
		}
		if fired >= r.n {
			return ended
		}
		require.True(r.t, time.Now().Before(deadline), "not in time: %d instants of %s have ended", fired, job)
		r.pause(10 * askEvery)
	}
}

// judgeInstants checks that the instants of a job follow each other without a gap, that each was fired once or is recorded as missed, and
// that each that was fired is shown once.
func (r *replicas) judgeInstants(ended []ledger.Trigger, distance time.Duration) (fired, missed int) {
	r.t.Helper()
	slices.SortFunc(ended, func(a, b ledger.Trigger) int { return a.Instant.Compare(b.Instant) })
	next := ended[0].Instant
	for _, e := range ended {
		require.Equal(r.t, next, e.Instant, "%s: a gap, or one instant twice; seed -chaos.seed=%d", e.Key, *seed)
		switch e.Status {
		case ledger.TriggerOK:
			fired++
			next = next.Add(distance)
			require.Len(r.t, e.Sends, 1, e.Key)
		case ledger.TriggerSkipped:
			next = next.Add(distance)
		case ledger.TriggerMissed:
			missed += e.Missed
			next = next.Add(time.Duration(e.Missed) * distance)
		default:
			require.Fail(r.t, "unexpected end", "%s is %s: %s", e.Key, e.Status, e.Why)
		}
	}
	return fired, missed
}

// Three gateways are killed again and again while jobs are due every second, and requests to a hook and alerts come in.
func TestCausesWhileReplicasAreKilled(t *testing.T) {
	t.Parallel()
	n := 6
	if *long {
		n = 150
	}
	server := storetest.NewServer(t)
	url := server.Database(t)
	r := startReplicas(t, n, url, startNATS(t))
	r.live()
	kills := 0
	deadline := time.Now().Add(time.Minute + time.Duration(n)*3*time.Second)
	for !r.done() {
		require.True(t, time.Now().Before(deadline), "not in time: %d ticks and %d answers of %d", r.saidBy("tick"), r.saidBy("ask"), n)
		r.pause(time.Second + time.Duration(r.rng.Int64N(int64(2*time.Second))))
		if victim := r.rng.IntN(len(r.each)); kills < n/2 {
			r.request(2 * kills)
			r.alarm(2 * kills)
			dead := make(chan struct{})
			go func() {
				defer close(dead)
				r.each[victim].Kill()
			}()
			r.request(2*kills + 1) // while a replica dies
			r.alarm(2*kills + 1)
			<-dead
			r.each[victim] = nil
			kills++
			r.pause(time.Duration(r.rng.Int64N(int64(time.Second))))
			r.live()
		}
	}
	r.pause(2 * quiet)
	require.Len(t, r.accepted, 2*kills)
	require.Equal(t, []int{n, n}, []int{r.saidBy("tick"), r.saidBy("ask")}, "seed -chaos.seed=%d", *seed)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for job, distance := range map[string]time.Duration{"tick": time.Second, "ask": 2 * time.Second} {
		fired, missed := r.judgeInstants(r.ended(db, job), distance)
		require.Equal(t, n, fired, job)
		t.Logf("%s: %d instants fired, %d recorded as missed, %d kills, %d lives", job, fired, missed, kills, r.lives)
	}
	r.judgeRequests(db)
	r.judgeAlarms()
	t.Logf("%d alerts with two steps each: %d messages", len(r.alarms), len(r.chat.shown(paged[0]))+len(r.chat.shown(paged[1])))
	t.Logf("%d requests worked once, %d of them known when they were sent again", len(r.accepted), r.repeated)
}
