package httpapi

import (
	"context"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/wire"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

// runWaitMax is how long a request may wait for the end of a run.
const runWaitMax = 5 * time.Minute

// RunRows reads runs.
type RunRows interface {
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	ListRuns(ctx context.Context, q ledger.Query) ([]sessions.Run, error)
}

// runAPI serves runs.
type runAPI struct {
	visible *visibility
	turns   Turns
	rows    RunRows
	answers *answers
	ending  context.Context // ends waiting when the server stops
}

// runRecord is a run as programs see it.
type runRecord struct {
	ID       sessions.RunID     `json:"id"`
	Session  sessions.ID        `json:"session"`
	Status   sessions.RunStatus `json:"status"`
	Kind     sessions.RunKind   `json:"kind"`
	Input    string             `json:"input"`
	Reply    string             `json:"reply,omitempty"`
	Error    string             `json:"error,omitempty"`
	Model    string             `json:"model,omitempty"`
	Leader   sessions.RunID     `json:"leader,omitempty" doc:"the run that this one was merged into"`
	Attempts int                `json:"attempts"`
	Usage    sessions.Usage     `json:"usage"`
	Route    *sessions.Route    `json:"route,omitempty"`
	Label    string             `json:"label"`
	Accepted time.Time          `json:"accepted"`
	Started  *time.Time         `json:"started,omitempty"`
	Finished *time.Time         `json:"finished,omitempty"`
	Withheld *withheldRecord    `json:"withheld,omitempty" doc:"why the reply is withheld from the API"`
}

func runOf(r sessions.Run) runRecord {
	return runRecord{
		ID: r.ID, Session: r.Session, Status: r.Status, Kind: r.Kind, Input: router.InputText(r.Input), Reply: r.Reply, Error: r.Error, Model: r.Model,
		Leader: r.Leader, Attempts: r.Attempts, Usage: r.Usage, Route: optionalRoute(r.Route), Label: r.Label.String(), Accepted: r.Accepted,
		Started: optional(r.Started), Finished: optional(r.Finished),
	}
}

type runList struct {
	Runs []runRecord `json:"runs"`
}

// RunQuery is which runs are wanted.
type RunQuery struct {
	PageQuery
	Status string `query:"status" enum:"queued,running,done,failed,timeout,aborted,dropped" doc:"only runs with this status"`
}

func (a *runAPI) list(ctx context.Context, in *RunQuery) (*page[runList], error) {
	return a.page(ctx, "", in)
}

func (a *runAPI) listOfSession(ctx context.Context, in *struct {
	SessionPath
	RunQuery
},
) (*page[runList], error) {
	r, err := a.visible.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return a.page(ctx, r.ID, &in.RunQuery)
}

// page lists the runs of a session, or of all sessions if it is empty.
func (a *runAPI) page(ctx context.Context, of sessions.ID, in *RunQuery) (*page[runList], error) {
	bound := newBound()
	runs, err := a.rows.ListRuns(ctx, ledger.Query{MaxLevel: auth.CallerOf(ctx).Level, Session: of, Status: in.Status, Limit: in.Limit, After: in.After, Bound: bound})
	if err != nil {
		return nil, err
	}
	out := runList{Runs: make([]runRecord, len(runs))}
	for i, r := range runs {
		if out.Runs[i], err = a.answers.record(ctx, r); err != nil {
			return nil, err
		}
	}
	return &page[runList]{nextLink(ctx, bound, lastID(runs, func(r sessions.Run) string { return string(r.ID) })), out}, nil
}

func (a *runAPI) get(ctx context.Context, in *struct {
	Run  string `path:"run"`
	Wait string `query:"wait" doc:"wait this long for its end, for example 30s; at most 5m"`
},
) (*body[runRecord], error) {
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
	ctx, cancel := untilStop(ctx, a.ending)
	defer cancel()
	run, err := a.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		run, err = a.turns.WaitRun(ctx, id, min(wait, runWaitMax))
		if err := a.visible.check(ctx, err, runObject(run), run.Session); err != nil { // it may have risen in the meantime
			return nil, err
		}
	}
	record, err := a.answers.record(ctx, run)
	if err != nil {
		return nil, err
	}
	return &body[runRecord]{record}, nil
}

// find is a run that the caller may know of.
func (a *runAPI) find(ctx context.Context, id sessions.RunID) (sessions.Run, error) {
	run, err := a.rows.Run(ctx, id)
	return run, a.visible.check(ctx, err, runObject(run), run.Session)
}

func runObject(run sessions.Run) denials.Object {
	return denials.Object{Kind: "run", ID: string(run.ID), Label: run.Label}
}

type cancelled struct {
	Status string `json:"status" enum:"cancelling,already_complete"`
}

func (a *runAPI) cancel(ctx context.Context, in *struct {
	SessionPath
	Run string `path:"run"`
},
) (*body[cancelled], error) {
	r, err := a.visible.session(ctx, in.ID)
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
		return &body[cancelled]{cancelled{"already_complete"}}, nil
	}
	if err := a.turns.AbortSession(ctx, r.ID, auth.CallerOf(ctx).Actor()); err != nil {
		return nil, err
	}
	return &body[cancelled]{cancelled{"cancelling"}}, nil
}
