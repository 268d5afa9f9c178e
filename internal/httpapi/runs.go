package httpapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

const waitMost = 5 * time.Minute

func asRequestError(err error) (*router.RequestError, bool) {
	return errors.AsType[*router.RequestError](err)
}

type runList struct {
	Runs []runRecord `json:"runs"`
}

// PageQuery is how much of a list is wanted.
type PageQuery struct {
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After string `query:"after" doc:"id of the last one of the page before"`
}

// RunQuery is which runs are wanted.
type RunQuery struct {
	PageQuery
	Status string `query:"status" enum:"queued,running,done,failed,timeout,aborted,dropped" doc:"only those that are so"`
}

func (s *Server) runRoutes(api huma.API) {
	huma.Register(api, op(http.MethodGet, "/v1/runs", "list-runs", "List runs, newest first"), s.listRuns)
	huma.Register(api, op(http.MethodGet, "/v1/runs/{run}", "get-run", "Show a run, or wait for its end"), s.getRun)
	huma.Register(api, op(http.MethodGet, "/v1/sessions/{id}/runs", "list-session-runs", "List a session's runs, newest first"), s.sessionRuns)
	cancel := op(http.MethodPost, "/v1/sessions/{id}/runs/{run}/cancel", "cancel-run", "Stop what a session works on and what waits in it", http.StatusAccepted)
	huma.Register(api, cancel, s.cancelRun)
}

func (s *Server) runs(ctx context.Context, q ledger.Query) (*page[runList], error) {
	q.Bound = newBound()
	runs, err := s.cfg.Store.ListRuns(ctx, q)
	if err != nil {
		return nil, s.problem(err)
	}
	out := runList{Runs: make([]runRecord, len(runs))}
	for i, r := range runs {
		if out.Runs[i], err = s.runRecord(ctx, r); err != nil {
			return nil, s.problem(err)
		}
	}
	return &page[runList]{next(ctx, q.Bound, lastOf(runs, func(r sessions.Run) string { return string(r.ID) })), out}, nil
}

func (s *Server) listRuns(ctx context.Context, in *RunQuery) (*page[runList], error) {
	return s.runs(ctx, ledger.Query{MaxLevel: callerOf(ctx).Level, Status: in.Status, Limit: in.Limit, After: in.After})
}

func (s *Server) sessionRuns(ctx context.Context, in *struct {
	SessionPath
	RunQuery
},
) (*page[runList], error) {
	r, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return s.runs(ctx, ledger.Query{MaxLevel: callerOf(ctx).Level, Session: r.ID, Status: in.Status, Limit: in.Limit, After: in.After})
}

func (s *Server) getRun(ctx context.Context, in *struct {
	Run  string `path:"run"`
	Wait string `query:"wait" doc:"wait so long for its end, for example 30s; at most 5m"`
},
) (*body[runRecord], error) {
	id, err := sessions.ParseRunID(in.Run)
	if err != nil {
		return nil, errNotFound
	}
	var wait time.Duration
	if in.Wait != "" {
		if wait, err = time.ParseDuration(in.Wait); err != nil || wait < 0 {
			return nil, badRequest("wait: want a duration such as 30s")
		}
	}
	ctx, cancel := s.untilStop(ctx)
	defer cancel()
	run, err := s.cfg.Store.Run(ctx, id)
	if err := s.visible(ctx, err, runObject(run), run.Session); err != nil {
		return nil, err
	}
	if wait > 0 {
		run, err = s.cfg.Router.WaitRun(ctx, id, min(wait, waitMost))
		if err := s.visible(ctx, err, runObject(run), run.Session); err != nil { // it may have risen meanwhile
			return nil, err
		}
	}
	record, err := s.runRecord(ctx, run)
	if err != nil {
		return nil, s.problem(err)
	}
	return &body[runRecord]{record}, nil
}

func runObject(run sessions.Run) object {
	return object{kind: "run", id: string(run.ID), label: run.Label}
}

// untilStop is a request's context that ends with the server too.
func (s *Server) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ending, cancel)
	return ctx, func() { stop(); cancel() }
}

type cancelled struct {
	Status string `json:"status" enum:"cancelling,already_complete"`
}

func (s *Server) cancelRun(ctx context.Context, in *struct {
	SessionPath
	Run string `path:"run"`
},
) (*body[cancelled], error) {
	r, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	run, err := s.cfg.Store.Run(ctx, sessions.RunID(in.Run))
	if err := s.visible(ctx, err, runObject(run), run.Session); err != nil {
		return nil, err
	}
	if run.Session != r.ID {
		return nil, errNotFound
	}
	if run.Status.Terminal() {
		return &body[cancelled]{cancelled{"already_complete"}}, nil
	}
	if err := s.cfg.Router.AbortSession(ctx, r.ID, callerOf(ctx).actor()); err != nil {
		return nil, s.problem(err)
	}
	return &body[cancelled]{cancelled{"cancelling"}}, nil
}
