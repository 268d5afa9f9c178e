package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/tools/schedule"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/sessions"
)

// annsAgent is the agent main in the owner's direct chat.
func annsAgent() sessions.Caller {
	return sessions.Caller{
		Session: "sess_000000000001", Key: "agent:main:test:direct:ann", Agent: "main", Run: "run_1", CallID: "call_1",
		Taint: flow.Bottom(), Clearance: flow.Confidential, Owner: true, Audience: sessions.AudienceOwner,
		Route: sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Direct, Conversation: "ann"},
	}
}

// tool is a tool of jobs.
func (b *bundle) tool(name string) sessions.Tool {
	b.t.Helper()
	all := (&schedule.Tools{Jobs: b.Jobs, Now: time.Now}).All()
	i := slices.IndexFunc(all, func(t sessions.Tool) bool { return t.Spec.Name == name })
	require.GreaterOrEqual(b.t, i, 0, name)
	return all[i]
}

// uses lets a caller use a tool of jobs.
func (b *bundle) uses(by sessions.Caller, name, args string) (string, error) {
	b.t.Helper()
	result, err := b.tool(name).Run(context.Background(), by, json.RawMessage(args))
	return result.Text, err
}

// made is the id of the job that a call of cron_add makes.
func (b *bundle) made(by sessions.Caller, args string) string {
	b.t.Helper()
	text, err := b.uses(by, "cron_add", args)
	require.NoError(b.t, err)
	var job struct{ ID string }
	require.NoError(b.t, json.Unmarshal([]byte(text), &job))
	return job.ID
}

func TestAgentMakesJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader)
		ann := annsAgent()
		id := b.made(ann, `{"name":"tea","text":"tea is ready","in":"20m"}`)
		require.Regexp(t, `^tea-[a-z2-7]{16}$`, id)
		require.Equal(t, id, b.made(ann, `{"name":"tea","text":"tea is ready","in":"20m"}`), "the same call again, after a crash")
		pass(20*time.Minute + 3*time.Second)
		require.Equal(t, []string{"tea is ready"}, b.chat.texts("ann"), "in its own conversation, once")

		ann.CallID = "call_2"
		text, err := b.uses(ann, "cron_history", fmt.Sprintf(`{"id":%q}`, id))
		require.NoError(t, err)
		require.JSONEq(t, `{"id":"`+id+`","times":[{"instant":"2000-01-01T00:20:00Z","status":"ok","deliveries":[{"to":"here","state":"sent"}]}]}`, text)
		for range 2 { // the second time is the same call
			_, err = b.uses(ann, "cron_run", fmt.Sprintf(`{"id":%q}`, id))
			require.NoError(t, err)
			pass(3 * time.Second)
		}
		require.Len(t, b.chat.texts("ann"), 2)

		text, err = b.uses(ann, "cron_update", fmt.Sprintf(`{"id":%q,"every":"1h","clear":["at"],"text":"more tea"}`, id))
		require.NoError(t, err)
		require.Contains(t, text, `"when":"every 1h"`)
		text, err = b.uses(ann, "cron_pause", fmt.Sprintf(`{"id":%q}`, id))
		require.NoError(t, err)
		require.Contains(t, text, `"state":"paused"`)
		_, err = b.uses(ann, "cron_resume", fmt.Sprintf(`{"id":%q}`, id))
		require.NoError(t, err)
		pass(time.Hour + 3*time.Second)
		require.Equal(t, "more tea", b.chat.texts("ann")[2])
		_, err = b.uses(ann, "cron_remove", fmt.Sprintf(`{"id":%q}`, id))
		require.NoError(t, err)
		text, err = b.uses(ann, "cron_list", `{}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"jobs":[]}`, text)
		_, err = b.uses(ann, "cron_show", fmt.Sprintf(`{"id":%q}`, id))
		require.EqualError(t, err, `id: there is no job "`+id+`"; cron_list shows those that you may know of`)
	})
}

func TestAgentsJobHasItsMakersRights(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader, doing(hourly("water", "ann")))
		synctest.Wait()
		ann := annsAgent()
		id := b.made(ann, `{"name":"brief","prompt":"what is new?","every":"1h"}`)
		j, err := b.Jobs.Get(t.Context(), id)
		require.NoError(t, err)
		require.False(t, j.Owner, "its words are the agent's")
		require.Equal(t, flow.Confidential, j.Clearance)
		require.Equal(t, "main", j.Agent)
		_, err = b.uses(ann, "cron_add", `{"prompt":"x","every":"10s"}`)
		require.EqualError(t, err, "job: is due every 10s; the smallest distance is 1m0s")
		_, err = b.uses(ann, "cron_add", `{"text":"x","every":"1h","deliver":{"to":["webchat:bob"]}}`)
		require.NoError(t, err, "an owner asks for it")

		strange := ann
		strange.Taint, strange.CallID = flow.NewLabel(flow.Public, flow.Untrusted), "call_2"
		_, err = b.uses(strange, "cron_add", `{"text":"x","every":"1h","deliver":{"to":["webchat:bob"]}}`)
		require.ErrorContains(t, err, "only an owner may have a job deliver to another conversation", "a stranger's text may have led to it")

		guest := annsAgent()
		guest.Session, guest.Key, guest.Owner, guest.Audience = "sess_000000000002", "agent:main:test:direct:bob", false, "agent:main:test:direct:bob"
		guest.Route.Conversation = "bob"
		for _, job := range []string{id, "water"} {
			_, err = b.uses(guest, "cron_remove", fmt.Sprintf(`{"id":%q}`, job))
			require.ErrorContains(t, err, "there is no job")
		}
		his := b.made(guest, `{"text":"wake up","every":"24h"}`)
		text, err := b.uses(guest, "cron_list", `{}`)
		require.NoError(t, err)
		require.Contains(t, text, his)
		require.NotContains(t, text, id)
		guest.Session = "sess_000000000003" // after /new
		_, err = b.uses(guest, "cron_remove", fmt.Sprintf(`{"id":%q}`, his))
		require.NoError(t, err)

		other := ann
		other.Agent = "ops"
		_, err = b.uses(other, "cron_show", fmt.Sprintf(`{"id":%q}`, id))
		require.ErrorContains(t, err, "there is no job", "another agent has made it")
		sub := ann
		sub.Key = "agent:main:subagent:1"
		_, err = b.uses(sub, "cron_add", `{"text":"x","every":"1h"}`)
		require.ErrorContains(t, err, "a sub-agent can't make jobs")
		sub.Key = "cron:" + sessions.Key(id)
		_, err = b.uses(sub, "cron_add", `{"text":"x","every":"1h"}`)
		require.ErrorContains(t, err, "can't make jobs")

		_, err = b.Jobs.Update(t.Context(), id, map[string]json.RawMessage{"prompt": json.RawMessage(`"tell me all"`)}, jobs.Maker{Actor: "token:x", Level: flow.Public, Label: flow.Bottom(), Owner: true, Bounded: true})
		require.ErrorContains(t, err, "only an owner, or who has made this job", "the session that the job works in may know more than the token")
	})
}

// A call that says something outside its conversation needs an owner's yes if strangers may have led to it.
func TestCallsAboutJobsReachBeyond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader, doing(hourly("water", "bob")))
		synctest.Wait()
		ann := annsAgent()
		mine := b.made(ann, `{"text":"x","every":"24h"}`)
		for args, want := range map[string]bool{
			`cron_add {"text":"x","in":"1h"}`:                                   false,
			`cron_add {"text":"x","in":"1h","deliver":{"to":["none"]}}`:         false,
			`cron_add {"prompt":"x","in":"1h"}`:                                 true,
			`cron_add {"text":"x","in":"1h","deliver":{"to":["owner"]}}`:        true,
			`cron_add {"text":"x","in":"1h","deliver":{"fallback":["owner"]}}`:  true,
			`cron_pause {"id":"` + mine + `"}`:                                  false,
			`cron_update {"id":"` + mine + `","text":"y"}`:                      false,
			`cron_update {"id":"` + mine + `","prompt":"y"}`:                    true,
			`cron_update {"id":"` + mine + `","clear":["deliver"]}`:             true,
			`cron_pause {"id":"water"}`:                                         true,
			`cron_run {"id":"water"}`:                                           true,
			`cron_run {"id":"nothing"}`:                                         false,
			`cron_remove {"id":"` + mine + `"}`:                                 false,
			`cron_update {"id":"` + mine + `","deliver":{"to":["telegram:1"]}}`: true,
		} {
			var name, raw string
			_, err := fmt.Sscanf(args, "%s", &name)
			require.NoError(t, err)
			raw = args[len(name)+1:]
			beyond, err := b.tool(name).Beyond(t.Context(), ann, json.RawMessage(raw))
			require.NoError(t, err)
			require.Equal(t, want, beyond, args)
		}
	})
}

var _ schedule.Jobs = (*jobs.Jobs)(nil)
