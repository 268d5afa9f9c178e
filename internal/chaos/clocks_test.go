package chaos_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack/slacktest"
	"sluice/internal/chaos/child"
	"sluice/internal/faultpoint"
	"sluice/store/postgres"
	"sluice/store/storetest"
)

// machineClock is a file that says how far the clock of a gateway's machine is ahead.
type machineClock string

func newClock(t *testing.T) machineClock {
	t.Helper()
	return machineClock(filepath.Join(t.TempDir(), "clock"))
}

// set sets the clock. The gateway reads the file at any time, so it is replaced as a whole.
func (c machineClock) set(ahead time.Duration) error {
	next := string(c) + ".new"
	if err := os.WriteFile(next, []byte(ahead.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(next, string(c))
}

func (c machineClock) env() []string { return []string{faultpoint.ClockEnv + "=" + string(c)} }

// call sends a request to a gateway and returns its status and answer.
func (r *replicas) call(i int, method, path, token, body string) (int, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.of[i].Listen+path, bytes.NewBufferString(body))
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	answer, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, resp.Body.Close())
	return resp.StatusCode, answer
}

// token makes a token at a gateway.
func (r *replicas) token(i int, name, life string) string {
	r.t.Helper()
	status, answer := r.call(i, http.MethodPost, "/v1/tokens", child.APIToken, fmt.Sprintf(`{"name":%q,"role":"viewer","level":"PUBLIC","expires_in":%q}`, name, life))
	require.Less(r.t, status, 300, string(answer))
	var made struct{ Token string }
	require.NoError(r.t, json.Unmarshal(answer, &made))
	return made.Token
}

// accepts returns the status with which each gateway answers a request with a token.
func (r *replicas) accepts(token string) (statuses []int) {
	r.t.Helper()
	for i := range r.of {
		status, _ := r.call(i, http.MethodGet, "/v1/sessions", token, "")
		statuses = append(statuses, status)
	}
	return statuses
}

// The clocks of two of three machines are set an hour forward and back while jobs are due every second, requests to a hook and
// alerts come in, and people write; the third clock has been wrong from the start. The answers of some sends are lost, others must
// wait, and one gateway is killed. Nobody notices anything: each instant is fired once, in its second; each message is answered
// once; tokens expire when they should, at each gateway.
func TestCausesWhileClocksAreSet(t *testing.T) {
	t.Parallel()
	n := 8
	if *long {
		n = 120
	}
	url := storetest.NewServer(t).Database(t)
	r := startReplicas(t, n, url, startNATS(t))
	var err error
	r.binary, err = built.faulty()
	require.NoError(t, err)
	fake, ok := r.chat.(slackPlatform)
	require.True(t, ok)
	var clocks []machineClock
	for range r.each {
		clock := newClock(t)
		clocks, r.env = append(clocks, clock), append(r.env, clock.env())
	}
	require.NoError(t, clocks[2].set(-time.Hour))
	began := time.Now().Truncate(time.Second)
	r.live()
	for _, p := range r.each {
		require.NoError(t, p.WaitReady(t.Context()))
	}
	lives, short := r.token(2, "long", "10m"), r.token(0, "short", "3s")
	made := time.Now()
	deadline := time.Now().Add(time.Minute + time.Duration(n)*3*time.Second)
	for steps := 0; !r.done() || steps < 6; steps++ {
		require.True(t, time.Now().Before(deadline), "not in time: %d ticks and %d answers of %d", r.saidBy("tick"), r.saidBy("ask"), n)
		require.NoError(t, clocks[steps%2].set([]time.Duration{time.Hour, -time.Hour, 0}[steps/2%3]))
		r.chat.loseAnswers(1)
		if steps%4 == 0 {
			fake.Inject(slacktest.RateLimit(2).On("chat.postMessage").For(1)) // what must wait does so by one clock, perhaps at two gateways
		}
		if steps == n/2 {
			r.each[0].Kill()
			r.each[0] = nil
			r.live()
			require.NoError(t, r.each[0].WaitReady(t.Context()))
		}
		for i := range int64(6) {
			r.say(100+i, "")
		}
		if steps < n/2 {
			r.request(steps)
			r.alarm(steps)
		}
		require.Equal(t, []int{http.StatusOK, http.StatusOK, http.StatusOK}, r.accepts(lives), "a token that lives")
		r.pause(time.Second)
	}
	r.pause(5*time.Second - time.Since(made))
	require.Equal(t, []int{http.StatusUnauthorized, http.StatusUnauthorized, http.StatusUnauthorized}, r.accepts(short), "a token that has expired")
	r.process, r.config = r.each[0], r.of[0]
	r.awaitAnswers()
	r.pause(2 * quiet)
	r.judge()
	require.Equal(t, []int{n, n}, []int{r.saidBy("tick"), r.saidBy("ask")}, "seed -chaos.seed=%d", *seed)
	require.Contains(t, tail(r.of[2].LogPath())+tail(r.of[0].LogPath()), "differs from the database's")
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for job, distance := range map[string]time.Duration{"tick": time.Second, "ask": 2 * time.Second} {
		ended := r.ended(db, job)
		fired, missed := r.judgeInstants(ended, distance)
		require.Equal(t, n, fired, job)
		for _, e := range ended {
			require.WithinRange(t, e.Instant, began, time.Now(), "%s: %s", e.Key, e.Status)
			require.WithinRange(t, e.Ended, began, time.Now(), e.Key)
		}
		t.Logf("%s: %d instants fired, %d recorded as missed", job, fired, missed)
	}
	r.judgeRequests(db)
	r.judgeAlarms()
	r.process = nil
}
