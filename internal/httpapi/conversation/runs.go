package conversation

import (
	"context"
	"net/http"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/usertext"
	"sluice/sessions"
)

// runWaitMax is how long a request may wait for the end of a run.
const runWaitMax = 5 * time.Minute

// RunRows reads runs.
type RunRows interface {
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	ListRuns(ctx context.Context, q ledger.Query) ([]sessions.Run, error)
}

// RunCalls reads the calls of models that a run has made.
type RunCalls interface {
	CallsOfRun(ctx context.Context, most flow.Level, session sessions.ID, run sessions.RunID, limit int) ([]spending.CallPoint, error)
}

// callsMax is how many calls of models are listed with a run.
const callsMax = 1000

// RunAPI serves runs.
type RunAPI struct {
	Calls   RunCalls // nil: calls are not counted
	Visible *view.Visibility
	Work    Work
	Rows    RunRows
	Answers *Answers
	Ending  context.Context // ends waiting when the server stops
}

// runRecord is a run as programs see it.
type runRecord struct {
	ID       sessions.RunID        `json:"id"`
	Session  sessions.ID           `json:"session"`
	Status   sessions.RunStatus    `json:"status"`
	Kind     sessions.RunKind      `json:"kind"`
	Input    string                `json:"input"`
	Reply    string                `json:"reply,omitempty"`
	Calls    []sessions.ClientCall `json:"calls,omitempty" doc:"of the client's functions, with which the run has ended"`
	Error    string                `json:"error,omitempty"`
	Model    string                `json:"model,omitempty"`
	Leader   sessions.RunID        `json:"leader,omitempty" doc:"the run that this one was merged into"`
	Attempts int                   `json:"attempts"`
	Usage    sessions.Usage        `json:"usage"`
	Route    *sessions.Route       `json:"route,omitempty"`
	Label    string                `json:"label"`
	Accepted time.Time             `json:"accepted"`
	Started  *time.Time            `json:"started,omitempty"`
	Finished *time.Time            `json:"finished,omitempty"`
	Withheld *withheldRecord       `json:"withheld,omitempty" doc:"why the reply is withheld from the API"`

	Waited int64 `json:"waited_ms,omitempty" doc:"from accepting it to its start"`
	Took   int64 `json:"took_ms,omitempty" doc:"from its start to its end"`

	ModelCalls []modelCall `json:"model_calls,omitempty" doc:"the calls of models that have ended, the first 1,000; only of a single run, as long as retention.usage keeps them"`
}

// modelCall is one call of a model. Its tokens are those of the ledger that costs are counted from.
type modelCall struct {
	Model   string         `json:"model" doc:"<provider>/<model>"`
	Started time.Time      `json:"started"`
	Took    int64          `json:"took_ms"`
	Failed  bool           `json:"failed,omitempty"`
	Usage   sessions.Usage `json:"usage"`
}

// called adds the calls of models to the record of a run.
func (a *RunAPI) called(ctx context.Context, r *runRecord) error {
	if a.Calls == nil {
		return nil
	}
	calls, err := a.Calls.CallsOfRun(ctx, auth.CallerOf(ctx).Level, r.Session, r.ID, callsMax)
	for _, c := range calls {
		r.ModelCalls = append(r.ModelCalls, modelCall{c.Model, c.Started, c.Latency.Milliseconds(), c.Failed, sessions.Usage{InputTokens: c.Input, OutputTokens: c.Output, CachedTokens: c.Cached}})
	}
	return err
}

func runOf(r sessions.Run) runRecord {
	out := runRecord{
		ID: r.ID, Session: r.Session, Status: r.Status, Kind: r.Kind, Input: usertext.Text(r.Input), Reply: r.Reply, Error: r.Error, Model: r.Model,
		Leader: r.Leader, Attempts: r.Attempts, Usage: r.Usage, Route: view.OptionalRoute(r.Route), Label: r.Label.String(), Accepted: r.Accepted,
		Started: view.Optional(r.Started), Finished: view.Optional(r.Finished),
	}
	if !r.Started.IsZero() {
		out.Waited = r.Started.Sub(r.Accepted).Milliseconds()
		if !r.Finished.IsZero() {
			out.Took = r.Finished.Sub(r.Started).Milliseconds()
		}
	}
	return out
}

type runList struct {
	Runs []runRecord `json:"runs"`
}

// RunQuery is which runs are wanted.
type RunQuery struct {
	view.PageQuery
	Status   string `query:"status" enum:"queued,running,done,failed,timeout,aborted,dropped" doc:"only runs with this status"`
	Exchange string `query:"exchange" maxLength:"64" doc:"id of an exchange: only the runs that are its steps"`

	Kind    string    `query:"kind" enum:"message,ask,reply,announce,task,report,command,note,trigger"`
	Model   string    `query:"model" maxLength:"200"`
	Agent   string    `query:"agent" maxLength:"200"`
	Channel string    `query:"channel" maxLength:"200" doc:"on which the message came in"`
	Text    string    `query:"q" maxLength:"512" doc:"part of what was said"`
	Slow    int64     `query:"slow" minimum:"0" doc:"at least this number of milliseconds from accepting it to its end"`
	Since   time.Time `query:"since" doc:"only those accepted from this time on"`
	Until   time.Time `query:"until" doc:"only those accepted before this time"`
}

// List lists the runs of all sessions.
func (a *RunAPI) List(ctx context.Context, in *RunQuery) (*view.Page[runList], error) {
	return a.page(ctx, "", in)
}

// ListOfSession lists the runs of one session.
func (a *RunAPI) ListOfSession(ctx context.Context, in *struct {
	SessionPath
	RunQuery
},
) (*view.Page[runList], error) {
	r, err := a.Visible.Session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return a.page(ctx, r.ID, &in.RunQuery)
}

// page lists the runs of a session, or of all sessions if it is empty.
func (a *RunAPI) page(ctx context.Context, of sessions.ID, in *RunQuery) (*view.Page[runList], error) {
	bound := view.NewBound()
	runs, err := a.Rows.ListRuns(ctx, ledger.Query{
		MaxLevel: auth.CallerOf(ctx).Level, Session: of, Status: in.Status, Exchange: in.Exchange, Limit: in.Limit, After: in.After, Bound: bound,
		Channel: in.Channel, Since: in.Since, Until: in.Until,
		QueryFilter: ledger.QueryFilter{Kind: in.Kind, Model: in.Model, Agent: in.Agent, Text: in.Text, Slow: time.Duration(in.Slow) * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	out := runList{Runs: make([]runRecord, len(runs))}
	for i, r := range runs {
		if out.Runs[i], err = a.Answers.record(ctx, r); err != nil {
			return nil, err
		}
	}
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(runs, func(r sessions.Run) string { return string(r.ID) })), out), nil
}

// Get answers with a run, at once or when it has ended.
func (a *RunAPI) Get(ctx context.Context, in *struct {
	Run  string `path:"run"`
	Wait string `query:"wait" doc:"wait this long for its end, for example 30s; at most 5m"`
},
) (*wire.Body[runRecord], error) {
	id, err := sessions.ParseRunID(in.Run)
	if err != nil {
		return nil, wire.ErrNotFound
	}
	var wait time.Duration
	if in.Wait != "" {
		if wait, err = time.ParseDuration(in.Wait); err != nil || wait < 0 {
			return nil, wire.BadRequest("wait: want a duration such as 30s")
		}
	}
	ctx, cancel := untilStop(ctx, a.Ending)
	defer cancel()
	run, err := a.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		run, err = a.Work.WaitRun(ctx, id, min(wait, runWaitMax))
		if err := a.Visible.Check(ctx, err, runObject(run), run.Session); err != nil { // it may have risen in the meantime
			return nil, err
		}
	}
	record, err := a.Answers.record(ctx, run)
	if err != nil {
		return nil, err
	}
	if err := a.called(ctx, &record); err != nil {
		return nil, err
	}
	return wire.NewBody(record), nil
}

// find is a run that the caller may know of.
func (a *RunAPI) find(ctx context.Context, id sessions.RunID) (sessions.Run, error) {
	run, err := a.Rows.Run(ctx, id)
	return run, a.Visible.Check(ctx, err, runObject(run), run.Session)
}

func runObject(run sessions.Run) denials.Object {
	return denials.Object{Kind: "run", ID: string(run.ID), Label: run.Label}
}

// Cancelled says what stopping a run does.
type Cancelled struct {
	Status int // 202: the run is being stopped; 200: it had ended
	Body   struct {
		Status string `json:"status" enum:"cancelling,already_complete"`
	}
}

func newCancelled(code int, status string) *Cancelled {
	out := &Cancelled{Status: code}
	out.Body.Status = status
	return out
}

// Cancel stops the run of a session and clears its queue.
func (a *RunAPI) Cancel(ctx context.Context, in *struct {
	SessionPath
	Run string `path:"run"`
},
) (*Cancelled, error) {
	r, err := a.Visible.Session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	run, err := a.find(ctx, sessions.RunID(in.Run))
	if err != nil {
		return nil, err
	}
	if run.Session != r.ID {
		return nil, wire.ErrNotFound
	}
	if run.Status.Terminal() {
		return newCancelled(http.StatusOK, "already_complete"), nil
	}
	if err := a.Stop(ctx, run); err != nil {
		return nil, err
	}
	return newCancelled(http.StatusAccepted, "cancelling"), nil
}

// Stop stops the run of a session and clears its queue.
func (a *RunAPI) Stop(ctx context.Context, run sessions.Run) error {
	return a.Work.AbortSession(ctx, run.Session, auth.CallerOf(ctx).Actor())
}
