package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/internal/agent/tools"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/sessions"
)

// settings are the keys of a job, as in sluice.yaml.
type settings struct {
	Schedule string   `json:"schedule,omitempty" jsonschema:"cron expression: minute hour day month weekday, such as 45 9 * * mon-fri"`
	Every    string   `json:"every,omitempty" jsonschema:"time between two instants, such as 90m or 24h"`
	At       string   `json:"at,omitempty" jsonschema:"a single time, such as 2026-12-24T18:00 in the job's time zone"`
	Timezone string   `json:"timezone,omitempty" jsonschema:"such as Europe/Berlin; default: as configured"`
	Text     string   `json:"text,omitempty" jsonschema:"what is sent, word for word, in Markdown"`
	Prompt   string   `json:"prompt,omitempty" jsonschema:"what you are asked when the job is due. You will not remember this conversation: say all that you need to know. Your reply is sent"`
	Timeout  string   `json:"timeout,omitempty" jsonschema:"how long the work on the prompt may take, such as 5m"`
	Overlap  string   `json:"overlap,omitempty" jsonschema:"what happens when the work on the prompt before has not ended; default skip" bounds:"enum=skip|queue|cancel,empty"`
	Ends     *ends    `json:"ends,omitempty" jsonschema:"when the job is over; default never"`
	Deliver  *deliver `json:"deliver,omitempty" jsonschema:"default: to this conversation"`
}

type ends struct {
	After int    `json:"after,omitempty" jsonschema:"number of times" bounds:"minimum=1"`
	At    string `json:"at,omitempty" jsonschema:"from this time on, such as 2027-01-01"`
}

type deliver struct {
	To       []string `json:"to,omitempty" jsonschema:"each gets the text: owner, a configured target, or <channel>:<conversation>; none: nobody" bounds:"maxItems=10"`
	Fallback []string `json:"fallback,omitempty" jsonschema:"tried in this order in place of targets that can't be reached" bounds:"maxItems=10"`
	When     string   `json:"when,omitempty" jsonschema:"changed: only a text that differs from the last one; default always" bounds:"enum=always|changed|never"`
}

type addArgs struct {
	Name string `json:"name,omitempty" jsonschema:"a short name of a-z 0-9 _ -, from which the id is made, unless this conversation knows more than is PUBLIC" bounds:"maxLength=40"`
	In   string `json:"in,omitempty" jsonschema:"a single time, this much later than now, such as 20m"`
	settings
}

type updateArgs struct {
	ID string `json:"id" jsonschema:"of the job, as cron_list shows it" bounds:"minLength=1,maxLength=80"`
	settings
	Clear []string `json:"clear,omitempty" jsonschema:"keys to remove, such as every when you give a schedule" bounds:"maxItems=10"`
}

// nameless is the name of a job whose own name can't be told to everybody.
const nameless = "job"

// addBeyond reports whether a new job does more than to send a text to its own conversation.
func (ts *Tools) addBeyond(_ context.Context, call tools.Call[addArgs]) (bool, error) {
	return call.Args.reaches(), nil
}

func (s *settings) reaches() bool {
	return s.Prompt != "" || s.Deliver != nil && (len(s.Deliver.Fallback) > 0 || len(s.Deliver.To) > 0 && !slices.Equal(s.Deliver.To, []string{"none"}))
}

func (ts *Tools) updateBeyond(ctx context.Context, call tools.Call[updateArgs]) (bool, error) {
	there, err := beyondHere(ts, func(a updateArgs) string { return a.ID })(ctx, call)
	return there || call.Args.reaches() || slices.Contains(call.Args.Clear, "deliver"), err
}

func (ts *Tools) add(ctx context.Context, call tools.Call[addArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	switch kind := caller.Key.Kind(sessions.Keyer{}); {
	case caller.Key.SubAgent():
		return sessions.ToolResult{}, errors.New("a sub-agent can't make jobs: name the work and its time in your report")
	case kind == sessions.KindCron, kind == sessions.KindHook: // each of their runs has a new session, so nothing would bound them
		return sessions.ToolResult{}, errors.New("a run that a job or a hook started can't make jobs: name the work and its time in your reply")
	case args.In != "":
		after, err := time.ParseDuration(args.In)
		if err != nil || after <= 0 {
			return sessions.ToolResult{}, fmt.Errorf("in: %q is not a time such as 20m or 1h30m", args.In)
		}
		if args.At != "" {
			return sessions.ToolResult{}, errors.New("in: give either in or at")
		}
		args.At = ts.Now().Add(after).UTC().Format(time.RFC3339)
	}
	if args.Name == "" || caller.Taint.Level() != flow.Public { // ids are in logs, and in the keys of sessions
		args.Name = nameless
	}
	object, err := json.Marshal(args.settings)
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("encode job", err)
	}
	j, err := ts.Jobs.Add(ctx, args.Name, object, maker(caller, call.Key()))
	return changed(caller, j, err)
}

func (ts *Tools) update(ctx context.Context, call tools.Call[updateArgs]) (sessions.ToolResult, error) {
	if err := ts.toChange(ctx, call.Caller, call.Args.ID); err != nil {
		return sessions.ToolResult{}, err
	}
	keys := map[string]json.RawMessage{}
	object, err := json.Marshal(call.Args.settings)
	if err == nil {
		err = json.Unmarshal(object, &keys)
	}
	if err != nil {
		return sessions.ToolResult{}, tools.Inside("encode job", err)
	}
	for _, key := range call.Args.Clear {
		if _, set := keys[key]; set {
			return sessions.ToolResult{}, fmt.Errorf("clear: %q is also given a value", key)
		}
		keys[key] = json.RawMessage("null")
	}
	j, err := ts.Jobs.Update(ctx, call.Args.ID, keys, maker(call.Caller, ""))
	return changed(call.Caller, j, err)
}

func (ts *Tools) pause(ctx context.Context, call tools.Call[jobID]) (sessions.ToolResult, error) {
	return ts.act(ctx, call, ts.Jobs.Pause)
}

func (ts *Tools) resume(ctx context.Context, call tools.Call[jobID]) (sessions.ToolResult, error) {
	return ts.act(ctx, call, ts.Jobs.Resume)
}

func (ts *Tools) act(ctx context.Context, call tools.Call[jobID], do func(ctx context.Context, id string, who jobs.Maker) (jobs.Job, error)) (sessions.ToolResult, error) {
	if err := ts.toChange(ctx, call.Caller, call.Args.ID); err != nil {
		return sessions.ToolResult{}, err
	}
	j, err := do(ctx, call.Args.ID, maker(call.Caller, ""))
	return changed(call.Caller, j, err)
}

func (ts *Tools) run(ctx context.Context, call tools.Call[jobID]) (sessions.ToolResult, error) {
	if err := ts.toChange(ctx, call.Caller, call.Args.ID); err != nil {
		return sessions.ToolResult{}, err
	}
	if _, err := ts.Jobs.Run(ctx, call.Args.ID, maker(call.Caller, call.Key())); err != nil {
		return sessions.ToolResult{}, fault(err)
	}
	return said(call.Caller.Taint.Level(), flow.Trusted, map[string]any{"fired": true, "id": call.Args.ID})
}

func (ts *Tools) remove(ctx context.Context, call tools.Call[jobID]) (sessions.ToolResult, error) {
	if err := ts.toChange(ctx, call.Caller, call.Args.ID); err != nil {
		return sessions.ToolResult{}, err
	}
	if err := ts.Jobs.Remove(ctx, call.Args.ID, maker(call.Caller, "")); err != nil {
		return sessions.ToolResult{}, fault(err)
	}
	return said(call.Caller.Taint.Level(), flow.Trusted, map[string]any{"removed": true, "id": call.Args.ID})
}

// changed is the result of a change: the job as it is now.
func changed(caller sessions.Caller, j jobs.Job, err error) (sessions.ToolResult, error) {
	if err != nil {
		return sessions.ToolResult{}, fault(err)
	}
	return said(caller.Taint.Level(), j.Secrecy().Trust(), rowOf(&j, true))
}

func said(level flow.Level, trust flow.Trust, v any) (sessions.ToolResult, error) {
	text, err := tools.JSON(v)
	return sessions.ToolResult{Text: text, Label: flow.NewLabel(level, trust)}, err
}
