// Package live serves the one stream that keeps a page up to date: what happens in every session that the caller may see, and
// which lists have changed.
//
// The events of sessions come from the bus, from all replicas, and can be resumed. Which lists have changed is found by
// looking at their newest rows once a second, only while there is a stream, so that nobody without an open page pays for it.
package live

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	// lookEvery is how often lists are looked at, and so how long a change takes to be told.
	lookEvery = time.Second
	// sessionsMax is how many sessions a stream can name to get their texts while they are written.
	sessionsMax = 20
)

// Events gives the live events of all sessions.
type Events interface {
	// FollowAll gives the events with a number above after, as far as they are kept; with 0 those from now on. The channel
	// closes if the reader is too slow.
	FollowAll(ctx context.Context, after uint64) (<-chan sessions.Event, error)
}

// Rows says whether lists have changed.
type Rows interface {
	// Marks returns a number for each kind of rows up to a level, which changes with the rows.
	Marks(ctx context.Context, most flow.Level) (map[string]uint64, error)
}

// Log says whether the log has changed.
type Log interface {
	// Mark returns a number that changes with each line.
	Mark() uint64
}

// API serves the stream.
type API struct {
	Lines    Log // of this replica
	Events   Events
	Sessions *conversation.EventAPI
	Rows     Rows
	Cursors  wire.Cursors
	Ending   context.Context //nolint:containedctx // ends the streams when the server stops
	Log      *slog.Logger
}

// hello begins a stream.
type hello struct {
	Level   string `json:"level" doc:"the highest level that the stream shows"`
	Resumed bool   `json:"resumed" doc:"the events since the last one follow, and all lists count as changed; else the page reads again what it shows"`
}

// changed says which lists have changed.
type changed struct {
	Kinds []string `json:"kinds" doc:"runs, deliveries, approvals, alerts, audit, pairings, jobs, logs"`
}

// bye ends a stream.
type bye struct {
	Reason string `json:"reason" enum:"signed_out,stopping,renew" doc:"renew: a proxy has signed the caller in; ask again, so that the proxy can check them again"`
}

// Watch shows what happens until the caller goes or loses their access.
func (a *API) Watch(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := auth.OfStream(r.Context())
	defer cancel()
	defer context.AfterFunc(a.Ending, cancel)()
	texts := strings.FieldsFunc(r.URL.Query().Get("sessions"), func(c rune) bool { return c == ',' })
	if len(texts) > sessionsMax {
		return wire.BadRequest("sessions: at most " + strconv.Itoa(sessionsMax))
	}
	after, err := a.lastSeen(r)
	if err != nil {
		return err
	}
	events, err := a.Events.FollowAll(ctx, after)
	if err != nil && r.Context().Err() != nil {
		return nil // the caller has gone
	}
	if err != nil {
		a.Log.Warn("cannot follow what happens", "err", err)
		return wire.Unavailable("live events are not available at the moment; try again")
	}
	stream, err := wire.NewStream(w)
	if err != nil {
		return nil // the caller has gone
	}
	out := &feed{API: a, Stream: stream, texts: texts, all: auth.CallerOf(ctx).SeesAll(), resumed: after > 0}
	if out.Event("", "hello", hello{auth.CallerOf(ctx).Level.String(), after > 0}) == nil {
		out.run(ctx, events)
	}
	switch {
	case errors.Is(context.Cause(r.Context()), auth.ErrEnded):
		_ = out.Event("", "bye", bye{"signed_out"}) // the caller may have gone
	case a.Ending.Err() != nil:
		_ = out.Event("", "bye", bye{"stopping"})
	case errors.Is(context.Cause(ctx), auth.ErrRenew):
		_ = out.Event("", "bye", bye{"renew"})
	}
	return nil
}

// allSessions stands for all sessions in cursors.
const allSessions sessions.ID = "*"

// lastSeen is the number of the last event that the caller has.
func (a *API) lastSeen(r *http.Request) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	if n, ok := a.Cursors.Open(allSessions, text); ok {
		return n, nil
	}
	return 0, wire.BadRequest("after: want the id of an event of this stream")
}

// feed is the stream of one caller.
type feed struct {
	*API
	*wire.Stream
	texts   []string // sessions whose texts are shown while they are written
	all     bool     // the caller sees everything
	resumed bool     // the reader had a stream before this one
	known   map[string]uint64
}

var _ conversation.Audience = (*feed)(nil)

// run shows what happens until the caller goes.
func (f *feed) run(ctx context.Context, events <-chan sessions.Event) {
	beats, looks := time.NewTicker(wire.Heartbeat), time.NewTicker(lookEvery)
	defer beats.Stop()
	defer looks.Stop()
	for err := f.look(ctx); err == nil; {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			err = f.pass(ctx, e)
		case <-looks.C:
			err = f.look(ctx)
		case <-beats.C:
			err = f.Beat()
		}
	}
}

// pass shows an event, unless it is above the caller's level or a text that nobody asked for.
func (f *feed) pass(ctx context.Context, e sessions.Event) error {
	if (e.Type == sessions.EventDelta || e.Type == sessions.EventThinking) && !slices.Contains(f.texts, string(e.Session)) {
		return nil
	}
	if err := f.Sessions.Pass(ctx, e, f); !errors.Is(err, conversation.ErrHidden) {
		return err
	}
	return nil
}

// Show implements [conversation.Audience].
func (f *feed) Show(e conversation.EventRecord) error {
	id := f.Cursors.Seal(allSessions, e.Seq)
	if !f.all {
		e.Seq = 0 // it counts what others do
	}
	return f.Event(id, "session", e)
}

// look tells which lists have changed. What happened to them between two streams of a reader is not known, so a stream that was
// resumed begins with all of them. If the store fails, it is looked at again later.
func (f *feed) look(ctx context.Context) error {
	marks, err := f.Rows.Marks(ctx, auth.CallerOf(ctx).Level)
	if err != nil {
		f.Log.Debug("cannot look for changes", "err", err)
		return nil
	}
	if f.all { // who may not read the log does not learn that something happens
		marks["logs"] = f.Lines.Mark()
	}
	before := f.known
	if f.known = marks; before == nil && !f.resumed {
		return nil
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(marks)) {
		if before == nil || marks[kind] != before[kind] {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	return f.Event("", "changed", changed{kinds})
}

// Describe describes the operation in the OpenAPI document.
func Describe(r huma.API) huma.Operation {
	o := wire.Op(http.MethodGet, "/v1/stream", "stream", "Follow what happens in all sessions and which lists change, live; resumes after Last-Event-ID")
	text := &huma.Schema{Type: huma.TypeString}
	o.Parameters = []*huma.Param{
		{Name: "sessions", In: "query", Description: "ids of sessions, with commas, whose texts are shown while they are written; at most 20", Schema: text},
		{Name: "Last-Event-ID", In: "header", Description: "id of the last event that the caller has", Schema: text},
		{Name: "after", In: "query", Description: "the same as Last-Event-ID", Schema: text},
	}
	o.Responses = wire.Responses(http.StatusServiceUnavailable, map[string]*huma.MediaType{"text/event-stream": {Schema: wire.Schema[conversation.EventRecord](r)}})
	return o
}
