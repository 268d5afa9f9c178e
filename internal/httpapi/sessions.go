package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/policy/flow"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	defaultTTL  = 14400 // seconds, as other implementations of this API have it
	historyMost = 500
	listMost    = 1000
)

// body is an answer with a JSON body.
type body[T any] struct{ Body T }

// SessionPath names a session. It is exported because the API library sees no fields of embedded types that are not.
type SessionPath struct {
	ID string `path:"id" doc:"a session's id or key, or main" maxLength:"512"`
}

func (s *Server) sessionRoutes(api huma.API) {
	huma.Register(api, op(http.MethodPost, "/v1/sessions", "create-session", "Create a session", http.StatusCreated), s.createSession)
	huma.Register(api, op(http.MethodGet, "/v1/sessions", "list-sessions", "List the sessions, the last active first"), s.listSessions)
	huma.Register(api, op(http.MethodDelete, "/v1/sessions", "delete-sessions", "End the sessions that match"), s.deleteSessions)
	huma.Register(api, op(http.MethodGet, "/v1/sessions/{id}", "get-session", "Show a session"), s.getSession)
	patch := op(http.MethodPatch, "/v1/sessions/{id}", "patch-session", "Change a session's settings")
	patch.SkipValidateBody = true // see settings
	huma.Register(api, patch, s.patchSession)
	huma.Register(api, op(http.MethodDelete, "/v1/sessions/{id}", "delete-session", "End a session", http.StatusNoContent), s.deleteSession)
	huma.Register(api, op(http.MethodPost, "/v1/sessions/{id}/reset", "reset-session", "Begin a session anew under its key"), s.resetSession)
	huma.Register(api, op(http.MethodGet, "/v1/sessions/{id}/history", "history", "A session's transcript, oldest first"), s.history)
}

// op is an operation with the statuses that every one can answer with.
func op(method, path, id, summary string, status ...int) huma.Operation {
	o := huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary,
		Errors: []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusServiceUnavailable},
	}
	if len(status) > 0 {
		o.DefaultStatus = status[0]
	}
	return o
}

// session finds the session that a path names. The main session is made if it is not there.
func (s *Server) session(ctx context.Context, name string) (sessions.Record, error) {
	if name != sessions.MainAlias {
		return s.lookup(ctx, name)
	}
	r, err := s.cfg.Router.MainSession(ctx)
	if err != nil {
		return r, s.problem(err)
	}
	return s.unlessHidden(ctx, r)
}

// shown is a session's record, unless the session has risen above the caller meanwhile.
func (s *Server) shown(ctx context.Context, r sessions.Record) (*body[sessionRecord], error) {
	if _, err := s.unlessHidden(ctx, r); err != nil {
		return nil, err
	}
	busy, err := s.cfg.Store.Busy(ctx, []sessions.ID{r.ID})
	if err != nil {
		return nil, s.problem(err)
	}
	out := s.record(callerOf(ctx), r, busy[r.ID])
	if err := s.standing(ctx, r, &out); err != nil {
		return nil, err
	}
	return &body[sessionRecord]{out}, nil
}

// standing adds what the session may say where it was last spoken to.
func (s *Server) standing(ctx context.Context, r sessions.Record, out *sessionRecord) error {
	if r.Route.IsZero() {
		return nil
	}
	stands, err := s.cfg.Router.Standing(ctx, r, r.Route)
	if err != nil {
		return s.problem(err)
	}
	out.Held = stands.Held
	if callerOf(ctx).sees(flow.NewLabel(stands.Carries, flow.Trusted)) {
		out.Carries = stands.Carries.String()
	}
	return nil
}

type createInput struct {
	Body *struct {
		Persistent bool            `json:"persistent,omitempty" doc:"false: it ends five minutes after its last answer"`
		TTL        *int64          `json:"ttl,omitempty" minimum:"1" doc:"seconds to its end, whatever happens; default 14400"`
		Metadata   json.RawMessage `json:"metadata,omitempty" doc:"any JSON object"`
		FileAccess *struct {
			Read  []string `json:"read,omitempty"`
			Write []string `json:"write,omitempty"`
		} `json:"file_access,omitempty" doc:"workspace paths; \"\" is all of it"`
		Agent string `json:"agent,omitempty" doc:"default: the default agent"`
		Title string `json:"title,omitempty" maxLength:"200"`
	}
}

func (s *Server) createSession(ctx context.Context, in *createInput) (*body[sessionRecord], error) {
	n := router.NewSession{TTL: defaultTTL * time.Second, Clearance: callerOf(ctx).Level}
	if b := in.Body; b != nil {
		label, err := said(ctx, "")
		if err != nil {
			return nil, err
		}
		n.Agent, n.Persistent, n.Title, n.Metadata = b.Agent, b.Persistent, flow.NewText(b.Title, label), b.Metadata
		if b.TTL != nil {
			n.TTL = time.Duration(min(*b.TTL, int64(100*365*24*time.Hour/time.Second))) * time.Second
		}
		if b.FileAccess != nil {
			n.FileAccess = sessions.FileAccess{Read: emptyNotNil(b.FileAccess.Read), Write: emptyNotNil(b.FileAccess.Write)}
		}
		if err := metadataFits(b.Metadata); err != nil {
			return nil, err
		}
		if len(b.Metadata) > 0 && json.Unmarshal(b.Metadata, &map[string]any{}) != nil {
			return nil, badRequest("metadata: want a JSON object")
		}
	}
	r, err := s.cfg.Router.CreateSession(ctx, n)
	if err != nil {
		return nil, s.problem(err)
	}
	return &body[sessionRecord]{s.record(callerOf(ctx), r, false)}, nil
}

func emptyNotNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *Server) listSessions(ctx context.Context, in *struct {
	Agent string `query:"agent"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	After string `query:"after" doc:"id of the last session of the page before"`
},
) (*page[[]sessionRecord], error) {
	return s.list(ctx, ledger.SessionQuery{Agent: in.Agent, Limit: in.Limit, After: sessions.ID(in.After), MaxLevel: callerOf(ctx).Level, Bound: newBound()})
}

func (s *Server) list(ctx context.Context, q ledger.SessionQuery) (*page[[]sessionRecord], error) {
	records, err := s.cfg.Store.ListSessions(ctx, q)
	if err != nil {
		return nil, s.problem(err)
	}
	busy, err := s.cfg.Store.Busy(ctx, ids(records))
	if err != nil {
		return nil, s.problem(err)
	}
	out := make([]sessionRecord, len(records))
	for i, r := range records {
		out[i] = s.record(callerOf(ctx), r, busy[r.ID])
	}
	return &page[[]sessionRecord]{next(ctx, q.Bound, lastOf(records, func(r sessions.Record) string { return string(r.ID) })), out}, nil
}

func ids(records []sessions.Record) []sessions.ID {
	all := make([]sessions.ID, len(records))
	for i, r := range records {
		all[i] = r.ID
	}
	return all
}

func (s *Server) getSession(ctx context.Context, in *SessionPath) (*body[sessionRecord], error) {
	r, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return s.shown(ctx, r)
}

func (s *Server) deleteSession(ctx context.Context, in *SessionPath) (*struct{}, error) {
	r, err := s.lookup(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Router.DeleteSession(ctx, r.ID, callerOf(ctx).actor()); err != nil {
		return nil, s.problem(err)
	}
	return nil, nil
}

// age is a duration of s, m and h, combinable: 1h30m.
var age = regexp.MustCompile(`^([0-9]{1,9}[smh])+$`)

type deleted struct {
	Deleted int `json:"deleted"`
}

// deleteSessions ends what matches. Without any condition it refuses: nobody deletes everything by leaving something out.
func (s *Server) deleteSessions(ctx context.Context, in *struct {
	Status    string `query:"status" enum:"idle" doc:"only sessions that are not busy"`
	OlderThan string `query:"older_than" doc:"only sessions without activity for so long: digits with s, m or h, for example 1h30m"`
},
) (*body[deleted], error) {
	q := ledger.SessionQuery{MaxLevel: callerOf(ctx).Level, Limit: listMost, Bound: newBound()}
	if in.OlderThan != "" {
		idle, err := time.ParseDuration(in.OlderThan)
		if err != nil || !age.MatchString(in.OlderThan) {
			return nil, badRequest(fmt.Sprintf("older_than: %q is not a duration such as 45s, 30m or 1h30m", in.OlderThan))
		}
		q.IdleSince = s.cfg.Now().Add(-idle)
	}
	if in.Status == "" && in.OlderThan == "" {
		return nil, badRequest("want status=idle or older_than: nothing is deleted without a condition")
	}
	n := 0
	for {
		records, err := s.cfg.Store.ListSessions(ctx, q)
		if err != nil {
			return nil, s.problem(err)
		}
		ended, err := s.endSessions(ctx, records, in.Status == "idle")
		if n += ended; err != nil {
			return nil, s.problem(err)
		}
		if !q.Bound.More {
			return &body[deleted]{deleted{n}}, nil
		}
		q.After = records[len(records)-1].ID
	}
}

func (s *Server) endSessions(ctx context.Context, records []sessions.Record, idleOnly bool) (n int, err error) {
	busy, err := s.cfg.Store.Busy(ctx, ids(records))
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		if idleOnly && busy[r.ID] {
			continue
		}
		switch err := s.cfg.Router.DeleteSession(ctx, r.ID, callerOf(ctx).actor()); {
		case err == nil:
			n++
		case !errors.Is(err, sessions.ErrNotFound): // somebody else has ended it
			return n, err
		}
	}
	return n, nil
}

func (s *Server) resetSession(ctx context.Context, in *SessionPath) (*body[sessionRecord], error) {
	r, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if r, err = s.cfg.Router.ResetSession(ctx, r.ID, callerOf(ctx).actor()); err != nil {
		return nil, s.problem(err)
	}
	return s.shown(ctx, r)
}

type transcript struct {
	Session   sessions.ID     `json:"session"`
	Messages  []messageRecord `json:"messages"`
	Truncated bool            `json:"truncated,omitempty" doc:"there are older messages, which were left out because of the limit or because the answer would be too large"`
}

// history is the thread with what else was shown on the session's page, in the order of time.
func (s *Server) history(ctx context.Context, in *struct {
	SessionPath
	Limit int `query:"limit" minimum:"1" maximum:"500" default:"200" doc:"the newest so many"`
},
) (*body[transcript], error) {
	r, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	thread, err := s.cfg.Store.Thread(ctx, r)
	if err != nil {
		return nil, s.problem(err)
	}
	notices, err := s.cfg.Store.ListDeliveries(ctx, ledger.Query{MaxLevel: callerOf(ctx).Level, Session: r.ID, Channel: s.cfg.PageRoute.Channel, NoReplies: true, Limit: historyMost})
	if err != nil {
		return nil, s.problem(err)
	}
	messages := make([]messageRecord, 0, len(thread)+len(notices))
	for _, m := range thread {
		if callerOf(ctx).sees(m.Label) {
			messages = append(messages, messageOf(m))
		}
	}
	for _, d := range notices {
		if d.Status == ledger.DeliverySent {
			messages = append(messages, s.notice(ctx, d))
		}
	}
	slices.SortStableFunc(messages, func(a, b messageRecord) int { return a.Created.Compare(b.Created) })
	kept := newest(messages, in.Limit)
	if err := s.tellHistory(ctx, r, kept); err != nil {
		return nil, s.problem(err)
	}
	return &body[transcript]{transcript{r.ID, kept, len(kept) < len(messages)}}, nil
}
