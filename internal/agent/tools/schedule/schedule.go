// Package schedule has the tools with which an agent makes and changes jobs: texts that are sent, and prompts that it works on, at
// another time.
//
// What a job may do is decided by [jobs.Jobs]. The tools add who the caller is, which jobs it may know and which it may change: a
// job is seen by the agent of the conversation that it was made in, and by an owner's private conversation. It is read at its own
// level or above, and changed at its own level or below, so that no change tells anything.
package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/internal/agent/tools"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Jobs lists and changes jobs, see [jobs.Jobs].
type Jobs interface {
	List(ctx context.Context, p jobs.Page) (found []jobs.Job, more bool, err error)
	Get(ctx context.Context, id string) (jobs.Job, error)
	Add(ctx context.Context, id string, object json.RawMessage, who jobs.Maker) (jobs.Job, error)
	Update(ctx context.Context, id string, keys map[string]json.RawMessage, who jobs.Maker) (jobs.Job, error)
	Pause(ctx context.Context, id string, who jobs.Maker) (jobs.Job, error)
	Resume(ctx context.Context, id string, who jobs.Maker) (jobs.Job, error)
	Run(ctx context.Context, id string, who jobs.Maker) (ledger.Trigger, error)
	Remove(ctx context.Context, id string, who jobs.Maker) error
	History(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error)
}

// Tools are the tools. A call that is repeated after a crash makes no second job, and fires a job no second time.
type Tools struct {
	Jobs Jobs
	Now  func() time.Time
}

const (
	pageMax   = 200 // jobs read at a time
	shownMax  = 50  // jobs of one answer
	firedMax  = 50  // instants of one answer
	firedSome = 10
)

type jobID struct {
	ID string `json:"id" jsonschema:"of the job, as cron_list shows it" bounds:"minLength=1,maxLength=80"`
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	return []sessions.Tool{
		changing("cron_add", "Makes a job: a text that is sent, or a prompt that you work on, once or again and again. Give one of text and prompt, and one of in, at, every and schedule. You can do nothing at a later time without a job. Tell people when the job is due next.",
			true, ts.add, ts.addBeyond),
		reading("cron_list", "Lists the jobs that you may know of, with the times at which they are due next.", ts.list),
		reading("cron_show", "Shows a job with all its settings.", ts.show),
		undescribed(changing("cron_update", "Changes a job that was made at run time. The parameters are those of cron_add; what you leave out stays as it is.",
			true, ts.update, ts.updateBeyond), "id", "clear"),
		changing("cron_pause", "Pauses a job until cron_resume.", true, ts.pause, beyondHere[jobID](ts, jobID.id)),
		changing("cron_resume", "Ends the pause of a job.", true, ts.resume, beyondHere[jobID](ts, jobID.id)),
		changing("cron_run", "Fires a job once now, beside its schedule.", true, ts.run, beyondHere[jobID](ts, jobID.id)),
		changing("cron_remove", "Removes a job that was made at run time. Its history stays.", false, ts.remove, beyondHere[jobID](ts, jobID.id)),
		reading("cron_history", "Shows what happened at the times of a job, newest first.", ts.history),
	}
}

func (a jobID) id() string { return a.ID }

// reading is a tool that changes nothing.
func reading[A any](name, about string, run func(context.Context, tools.Call[A]) (sessions.ToolResult, error)) sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{Name: name, Description: about},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
	}, tools.Work[A]{Run: run})
}

// changing is a tool that changes a job. What the job says is decided about when it is sent.
func changing[A any](name, about string, again bool, run func(context.Context, tools.Call[A]) (sessions.ToolResult, error), beyond func(context.Context, tools.Call[A]) (bool, error)) sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{Name: name, Description: about},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowDelivery}, Idempotent: again,
	}, tools.Work[A]{Run: run, Beyond: beyond})
}

// undescribed leaves out the descriptions of parameters that are described at another tool: models read all of it with each message.
func undescribed(t sessions.Tool, except ...string) sessions.Tool {
	var tree map[string]any
	if json.Unmarshal(t.Spec.Parameters, &tree) != nil {
		return t // a schema that the library has made can be read
	}
	parameters, _ := tree["properties"].(map[string]any)
	for name, p := range parameters {
		if !slices.Contains(except, name) {
			dropDescriptions(p)
		}
	}
	if short, err := json.Marshal(tree); err == nil {
		t.Spec.Parameters = short
	}
	return t
}

func dropDescriptions(tree any) {
	below, _ := tree.(map[string]any)
	delete(below, "description")
	inner, _ := below["properties"].(map[string]any)
	for _, p := range inner {
		dropDescriptions(p)
	}
}

// maker is the caller as one who makes jobs. It has an owner's authority over where a job delivers if the owner asks for it, and
// nothing from strangers may have led to the call.
func maker(call sessions.Caller, once string) jobs.Maker {
	return jobs.Maker{
		Actor: "agent:" + call.Agent, Level: call.Taint.Level(), Label: call.Taint, Owner: call.Owner && call.Taint.Trust() == flow.Trusted, Bounded: true,
		Session: call.Session, Home: call.Route, Agent: call.Agent, Clearance: call.Clearance, Once: once,
	}
}

// sees reports whether a caller is one of those that a job is for, whatever its level is.
func sees(caller sessions.Caller, j *jobs.Job) bool {
	if j.Row.Agent != "" && j.Row.Agent != caller.Agent {
		return false
	}
	return caller.Audience == sessions.AudienceOwner || from(caller, j)
}

// from reports whether a job was made in the caller's conversation.
func from(caller sessions.Caller, j *jobs.Job) bool {
	home, here := j.Row.Home, caller.Route
	return j.Made && (j.Row.Session == caller.Session ||
		here.Channel != "" && home.Channel == here.Channel && home.Account == here.Account && home.Conversation == here.Conversation)
}

// find is a job that the caller may know of. One that is hidden is as unknown as one that is absent.
func (ts *Tools) find(ctx context.Context, caller sessions.Caller, id string) (jobs.Job, error) {
	unknown := fmt.Errorf("id: there is no job %q; cron_list shows those that you may know of", id)
	j, err := ts.Jobs.Get(ctx, id)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return j, unknown
	case err != nil:
		return j, tools.Inside("read job", err)
	case !sees(caller, &j) || !policy.CallerOf(caller).May(policy.CheckJobsSee, j.Secrecy()) || tools.HiddenFrom(caller.Reader, j.Secrecy()):
		caller.Trail.Add(sessions.AuditEntry{
			At: ts.Now(), Actor: "agent:" + caller.Agent, Action: string(policy.CheckJobsSee) + ".denied", Object: id, Session: caller.Session,
			Label: j.Secrecy().Join(caller.Taint), Detail: map[string]string{"call": caller.CallID},
		})
		return j, unknown
	}
	return j, nil
}

// toChange is a job that the caller may change: nobody may see by it what only the caller knows.
func (ts *Tools) toChange(ctx context.Context, caller sessions.Caller, id string) error {
	j, err := ts.find(ctx, caller, id)
	if err != nil {
		return err
	}
	if level := j.Secrecy().Level(); !policy.CallerOf(caller).MayTell(policy.CheckJobsChange, level) {
		return fmt.Errorf("id: this conversation has learned %s information, and the job is %s: an owner can change it with /cron in another conversation; %s",
			caller.Taint.Level(), level, policy.StartOverHint(level))
	}
	return nil
}

// fault lets a model read what is wrong with its call, and nothing else.
func fault(err error) error {
	wrong, ok := errors.AsType[*request.Error](err)
	switch {
	case err == nil:
		return nil
	case ok:
		return wrong
	case errors.Is(err, sessions.ErrConflict):
		return errors.New("id: somebody else changes the job at this moment: try again")
	}
	return tools.Inside("change job", err)
}

// beyondHere reports whether a call is about a job of another conversation, or one that sends elsewhere.
func beyondHere[A any](ts *Tools, id func(A) string) func(ctx context.Context, call tools.Call[A]) (bool, error) {
	return func(ctx context.Context, call tools.Call[A]) (bool, error) {
		j, err := ts.find(ctx, call.Caller, id(call.Args))
		if err != nil {
			return false, tools.FaultIn(err)
		}
		return !from(call.Caller, &j) || slices.ContainsFunc(slices.Concat(j.Deliver.To, j.Deliver.Fallback), func(t ledger.TriggerTarget) bool {
			return t.Channel != call.Caller.Route.Channel || t.To != string(call.Caller.Route.Conversation)
		}), nil
	}
}
