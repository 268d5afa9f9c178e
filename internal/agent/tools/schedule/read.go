package schedule

import (
	"context"
	"encoding/json"
	"time"

	"sluice/internal/agent/tools"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// row is a job as a model sees it.
type row struct {
	ID             string          `json:"id"`
	State          jobs.State      `json:"state"`
	When           string          `json:"when"`
	Next           string          `json:"next,omitempty"`
	Text           string          `json:"text,omitempty"`
	Prompt         string          `json:"prompt,omitempty"`
	To             []string        `json:"to,omitempty"`
	Place          string          `json:"place,omitempty"` // in sluice.yaml, where it can be changed
	Fault          string          `json:"fault,omitempty"`
	Job            json.RawMessage `json:"job,omitempty"` // its keys
	Classification flow.Level      `json:"classification"`
}

func rowOf(j *jobs.Job, whole bool) row {
	r := row{
		ID: j.ID, State: j.State(), When: j.When, Text: j.Text, Prompt: j.Prompt, Place: j.Place, Fault: j.Fault, Classification: j.Secrecy().Level(),
	}
	for _, t := range j.Deliver.To {
		r.To = append(r.To, t.Name)
	}
	if !j.Next.IsZero() {
		r.Next = j.Next.In(zoneOf(j)).Format(time.RFC3339)
	}
	if whole {
		r.Job = j.Row.Object
	}
	return r
}

// zoneOf is the time zone that a job's times are shown in.
func zoneOf(j *jobs.Job) *time.Location {
	if j.Schedule.Zone != nil {
		return j.Schedule.Zone
	}
	return time.UTC
}

// listArgs are the arguments of cron_list.
type listArgs struct {
	After string `json:"after,omitempty" jsonschema:"the id after which to go on; default: from the beginning"`
}

func (ts *Tools) list(ctx context.Context, call tools.Call[listArgs]) (sessions.ToolResult, error) {
	caller, label := call.Caller, flow.Bottom()
	out := struct {
		Jobs []row  `json:"jobs"`
		More string `json:"after,omitempty"` // where the next page begins
	}{Jobs: []row{}}
	for page := (jobs.Page{MaxLevel: level(caller), After: call.Args.After, Limit: pageMax}); ; {
		found, more, err := ts.Jobs.List(ctx, page)
		if err != nil {
			return sessions.ToolResult{}, tools.Inside("list jobs", err)
		}
		for i := range found {
			j := &found[i]
			page.After = j.ID
			switch {
			case !sees(caller, j) || !policy.CallerOf(caller).May(policy.CheckJobsSee, j.Secrecy()):
			case len(out.Jobs) == shownMax:
				out.More = out.Jobs[shownMax-1].ID
				return said(label.Level(), label.Trust(), out)
			default:
				out.Jobs, label = append(out.Jobs, rowOf(j, false)), label.Join(j.Secrecy())
			}
		}
		if !more || len(found) == 0 {
			return said(label.Level(), label.Trust(), out)
		}
	}
}

// level is the highest level that a caller reads.
func level(caller sessions.Caller) flow.Level {
	if caller.Reader.Valid() {
		return flow.Min(caller.Taint.Level(), caller.Reader)
	}
	return caller.Taint.Level()
}

func (ts *Tools) show(ctx context.Context, call tools.Call[jobID]) (sessions.ToolResult, error) {
	j, err := ts.find(ctx, call.Caller, call.Args.ID)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	return said(j.Secrecy().Level(), j.Secrecy().Trust(), rowOf(&j, true))
}

// historyArgs are the arguments of cron_history.
type historyArgs struct {
	ID    string `json:"id" jsonschema:"of the job, as cron_list shows it" bounds:"minLength=1,maxLength=80"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 10" bounds:"minimum=1,maximum=50,lowered"`
}

// instant is the result of one instant of a job.
type instant struct {
	Instant string               `json:"instant,omitempty"`
	Status  ledger.TriggerStatus `json:"status"`
	Missed  int                  `json:"missed,omitempty"`
	Run     sessions.RunID       `json:"run,omitempty"`
	Tokens  int                  `json:"tokens,omitempty"`
	Sent    []sent               `json:"deliveries,omitempty"`
	Why     string               `json:"why,omitempty"`
}

type sent struct {
	To    string           `json:"to"`
	State ledger.SendState `json:"state"` // waiting: for the platform's receipt
	Error string           `json:"error,omitempty"`
}

func (ts *Tools) history(ctx context.Context, call tools.Call[historyArgs]) (sessions.ToolResult, error) {
	j, err := ts.find(ctx, call.Caller, call.Args.ID)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	limit := min(call.Args.Limit, firedMax)
	if limit == 0 {
		limit = firedSome
	}
	found, err := ts.Jobs.History(ctx, ledger.TriggerQuery{Subject: j.ID, MaxLevel: level(call.Caller), Limit: limit})
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("read history", err)
	}
	label := j.Secrecy()
	out := []instant{}
	for _, t := range found {
		label = label.Join(t.Label)
		i := instant{Instant: t.Instant.In(zoneOf(&j)).Format(time.RFC3339), Status: t.Status, Missed: t.Missed, Run: t.Run, Why: t.Why, Tokens: t.Usage.InputTokens + t.Usage.OutputTokens}
		for _, s := range t.Sends {
			i.Sent = append(i.Sent, sent{s.Target, t.StateOf(s), s.Error})
		}
		out = append(out, i)
	}
	return said(label.Level(), label.Trust(), map[string]any{"id": j.ID, "times": out})
}
