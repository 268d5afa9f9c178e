package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/sessions"
)

const (
	defaultTTL     = 14400 * time.Second // as other implementations of this API have it
	ttlMax         = 100 * 365 * 24 * time.Hour
	sessionListMax = 1000
)

// SessionPath names a session. It is exported because the API library only sees fields of exported embedded types.
type SessionPath struct {
	ID string `path:"id" doc:"a session's id or key, or main" maxLength:"512"`
}

// SessionKeeper creates, changes and ends sessions. The actor is who the audit trail names.
type SessionKeeper interface {
	CreateSession(ctx context.Context, n manage.NewSession) (sessions.Record, error)
	Opener
	PatchSession(ctx context.Context, p sessions.Patch, actor string) (sessions.Record, error)
	ResetSession(ctx context.Context, id sessions.ID, actor string) (sessions.Record, error)
	DeleteSession(ctx context.Context, id sessions.ID, actor string) error
	// Learn raises a session's taint by a label that reaches it other than through its runs.
	Learn(ctx context.Context, id sessions.ID, label flow.Label, actor string) error
}

// SessionRows reads sessions.
type SessionRows interface {
	view.SessionReader
	ListSessions(ctx context.Context, q ledger.SessionQuery) ([]sessions.Record, error)
	// Busy reports which sessions have a run that is queued or running.
	Busy(ctx context.Context, ids []sessions.ID) (map[sessions.ID]bool, error)
	// Thread reads the selected messages of a session, oldest first.
	Thread(ctx context.Context, record sessions.Record) ([]sessions.Message, error)
	// Todos reads the items of a session's to-do list.
	Todos(ctx context.Context, session sessions.ID) ([]sessions.Todo, error)
}

// Models is what the API asks about models.
type Models struct {
	// Default is the model of an agent whose session sets none.
	Default func(agent string) string
	// Check gives nil for a model that may be set, else an error that names the models allowed for a session that has
	// learnt something of the level.
	Check func(name string, learnt flow.Level) error
	// MaxTemperature is the highest temperature that a model takes.
	MaxTemperature func(name string) float32
}

// SessionAPI serves sessions as such: their records, settings and end.
type SessionAPI struct {
	Visible         *view.Visibility
	Keeper          SessionKeeper
	SendPermissions SendPermissions
	Rows            SessionRows
	Exchanges       ExchangeRows
	Models          Models
	Now             func() time.Time
}

type createInput struct {
	Body *struct {
		Persistent bool                `json:"persistent,omitempty" doc:"false: it ends five minutes after its last reply"`
		TTL        *int64              `json:"ttl,omitempty" minimum:"1" doc:"seconds until it ends in any case; default 14400"`
		Metadata   json.RawMessage     `json:"metadata,omitempty" doc:"any JSON object"`
		FileAccess map[string][]string `json:"file_access,omitempty" doc:"the lists read and write: paths in the workspace that the session sees; it can also read what it may write; \"\" is the whole workspace. Default: the whole workspace"`
		Agent      string              `json:"agent,omitempty" doc:"default: the default agent"`
		Title      string              `json:"title,omitempty" maxLength:"200"`
	}
}

// Create creates a session with the caller's level as its clearance.
func (a *SessionAPI) Create(ctx context.Context, in *createInput) (*wire.Body[sessionRecord], error) {
	who := auth.CallerOf(ctx)
	n := manage.NewSession{TTL: defaultTTL, Clearance: who.Level, FileAccess: &sessions.FileAccess{}}
	if b := in.Body; b != nil {
		label, err := who.InputLabel("")
		if err != nil {
			return nil, err
		}
		n.Agent, n.Persistent, n.Title, n.Metadata = b.Agent, b.Persistent, flow.NewText(b.Title, label), withoutStatus(b.Metadata)
		if b.TTL != nil {
			n.TTL = time.Duration(min(*b.TTL, int64(ttlMax/time.Second))) * time.Second
		}
		if b.FileAccess != nil {
			for list := range b.FileAccess {
				if list != "read" && list != "write" {
					return nil, wire.BadRequest(fmt.Sprintf("file_access.%s: unknown key; the lists are read and write", list))
				}
			}
			n.FileAccess = &sessions.FileAccess{Read: b.FileAccess["read"], Write: b.FileAccess["write"]}
		}
		if err := metadataFits(b.Metadata); err != nil {
			return nil, err
		}
		if len(b.Metadata) > 0 && json.Unmarshal(b.Metadata, &map[string]any{}) != nil {
			return nil, wire.BadRequest("metadata: want a JSON object")
		}
	}
	r, err := a.Keeper.CreateSession(ctx, n)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(a.record(who, r, false)), nil
}

// metadataFits refuses metadata beyond the limit. Metadata that was stored before there was a limit stays readable.
func metadataFits(raw json.RawMessage) error {
	if len(raw) <= sessions.MetadataMax || policy.CheckSize.Skipped() {
		return nil
	}
	return wire.TooLarge(fmt.Sprintf("metadata: it has %d bytes, but the limit is %d; keep larger data in a file of the session", len(raw), sessions.MetadataMax))
}

// List lists the sessions that the caller may know of.
func (a *SessionAPI) List(ctx context.Context, in *struct {
	Agent    string             `query:"agent"`
	Channel  string             `query:"channel" maxLength:"200" doc:"where a person last wrote to it"`
	Kind     string             `query:"kind" enum:"main,direct,group,channel,cron,hook,node,subagent,api"`
	Kinds    []sessions.KeyKind `query:"kinds" enum:"main,group,cron,hook,node,other" doc:"one of these kinds, as the tool sessions_list names them; separated by commas"`
	Active   string             `query:"active" doc:"only those active within this time: digits with s, m or h, for example 1h30m"`
	Level    string             `query:"level" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"of what it has learned"`
	Busy     bool               `query:"busy" doc:"only those with a message that is processed or waits"`
	Parent   string             `query:"parent" maxLength:"512" doc:"id or key of a session: only its sub-agents"`
	Text     string             `query:"q" maxLength:"512" doc:"part of the key, and for tokens that see everything of the title or label"`
	Archived bool               `query:"archived" doc:"only archived ones"`
	Limit    int                `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	After    string             `query:"after" doc:"id of the last session of the previous page"`
},
) (*view.Page[[]sessionRecord], error) {
	who, bound := auth.CallerOf(ctx), view.NewBound()
	q := ledger.SessionQuery{
		Agent: in.Agent, Channel: in.Channel, Kind: in.Kind, Kinds: in.Kinds, Busy: in.Busy, Text: in.Text, Archived: in.Archived, Limit: in.Limit, After: sessions.ID(in.After), MaxLevel: who.Level, Bound: bound,
	}
	if in.Level != "" {
		q.Level, _ = flow.ParseLevel(in.Level) // one of the listed ones
	}
	if in.Active != "" {
		within, err := wire.ParseAge("active", in.Active)
		if err != nil {
			return nil, err
		}
		q.ActiveSince = a.Now().Add(-within)
	}
	if in.Parent != "" {
		parent, err := a.Visible.Readable(ctx, in.Parent)
		if err != nil {
			return nil, err
		}
		q.Parent = parent.ID
	}
	records, err := a.Rows.ListSessions(ctx, q)
	if err != nil {
		return nil, err
	}
	busy, err := a.Rows.Busy(ctx, idsOf(records))
	if err != nil {
		return nil, err
	}
	out := make([]sessionRecord, len(records))
	for i, r := range records {
		out[i] = a.record(who, r, busy[r.ID])
	}
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(records, func(r sessions.Record) string { return string(r.ID) })), out), nil
}

func idsOf(records []sessions.Record) []sessions.ID {
	all := make([]sessions.ID, len(records))
	for i, r := range records {
		all[i] = r.ID
	}
	return all
}

// Get answers with a session.
func (a *SessionAPI) Get(ctx context.Context, in *SessionPath) (*wire.Body[sessionRecord], error) {
	r, err := a.Visible.Readable(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return a.show(ctx, r)
}

// show answers with a session's record, unless the session has risen above the caller's level in the meantime.
func (a *SessionAPI) show(ctx context.Context, r sessions.Record) (*wire.Body[sessionRecord], error) {
	if _, err := a.Visible.UnlessHidden(ctx, r); err != nil {
		return nil, err
	}
	busy, err := a.Rows.Busy(ctx, []sessions.ID{r.ID})
	if err != nil {
		return nil, err
	}
	who := auth.CallerOf(ctx)
	out := a.record(who, r, busy[r.ID])
	status, err := a.statusOf(ctx, who, r.ID)
	if err != nil {
		return nil, err
	}
	out.Metadata = withStatus(out.Metadata, status)
	if err := a.addSendPermission(ctx, r, &out); err != nil {
		return nil, err
	}
	return wire.NewBody(out), nil
}

// addSendPermission adds what the session may say where it was last spoken to.
func (a *SessionAPI) addSendPermission(ctx context.Context, r sessions.Record, out *sessionRecord) error {
	if r.Route.IsZero() {
		return nil
	}
	stands, err := a.SendPermissions.SendPermission(ctx, r, r.Route)
	if err != nil {
		return err
	}
	out.Held = stands.Held
	if auth.CallerOf(ctx).Sees(flow.NewLabel(stands.Carries, flow.Trusted)) {
		out.Carries = stands.Carries.String()
	}
	return nil
}

// Delete ends a session.
func (a *SessionAPI) Delete(ctx context.Context, in *SessionPath) (*struct{}, error) {
	find := a.Visible.Readable
	if in.ID == sessions.MainAlias {
		find = a.Visible.Existing // a main session is not made to be deleted
	}
	r, err := find(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return nil, a.Keeper.DeleteSession(ctx, r.ID, auth.CallerOf(ctx).Actor())
}

type deleted struct {
	Deleted int `json:"deleted"`
}

// matching are the conditions of DeleteMatching.
type matching struct {
	Status    string `query:"status" enum:"idle" doc:"only sessions that are not busy"`
	OlderThan string `query:"older_than" doc:"only sessions inactive for this long: digits with s, m or h, for example 1h30m"`
}

// Resolve implements [huma.Resolver]: an empty condition is an error. It would otherwise count as left out, and more would be
// deleted than meant.
func (*matching) Resolve(ctx huma.Context) (wrong []error) {
	u := ctx.URL()
	for name, values := range u.Query() {
		if slices.Contains(values, "") {
			wrong = append(wrong, &huma.ErrorDetail{Location: "query." + name, Message: "is empty"})
		}
	}
	return wrong
}

// DeleteMatching ends the sessions that match. It needs a condition: nobody deletes everything by leaving something out.
func (a *SessionAPI) DeleteMatching(ctx context.Context, in *matching) (*wire.Body[deleted], error) {
	q := ledger.SessionQuery{MaxLevel: auth.CallerOf(ctx).Level, Limit: sessionListMax, Bound: view.NewBound()}
	if in.OlderThan != "" {
		idle, err := wire.ParseAge("older_than", in.OlderThan)
		if err != nil {
			return nil, err
		}
		q.IdleSince = a.Now().Add(-idle)
	}
	if in.Status == "" && in.OlderThan == "" {
		return nil, wire.BadRequest("give status=idle or older_than: without a condition nothing is deleted")
	}
	n := 0
	for {
		records, err := a.Rows.ListSessions(ctx, q)
		if err != nil {
			return nil, err
		}
		ended, err := a.end(ctx, records, in.Status == "idle")
		if n += ended; err != nil {
			return nil, err
		}
		if !q.Bound.More {
			return wire.NewBody(deleted{n}), nil
		}
		q.After = records[len(records)-1].ID
	}
}

func (a *SessionAPI) end(ctx context.Context, records []sessions.Record, idleOnly bool) (n int, err error) {
	busy, err := a.Rows.Busy(ctx, idsOf(records))
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		if idleOnly && busy[r.ID] {
			continue
		}
		switch err := a.Keeper.DeleteSession(ctx, r.ID, auth.CallerOf(ctx).Actor()); {
		case err == nil:
			n++
		case !errors.Is(err, sessions.ErrNotFound): // another caller has ended it
			return n, err
		}
	}
	return n, nil
}

// Reset starts a session over under its key.
func (a *SessionAPI) Reset(ctx context.Context, in *SessionPath) (*wire.Body[sessionRecord], error) {
	r, err := a.Visible.Session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if r, err = a.Keeper.ResetSession(ctx, r.ID, auth.CallerOf(ctx).Actor()); err != nil {
		return nil, err
	}
	return a.show(ctx, r)
}
