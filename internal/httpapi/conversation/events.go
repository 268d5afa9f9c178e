package conversation

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/sessions"
)

// Events gives the live events of a session.
type Events interface {
	// Follow gives the events with a number above after, as far as they are kept; with 0 those from now on. The channel
	// closes if the reader is too slow.
	Follow(ctx context.Context, id sessions.ID, after uint64) (<-chan sessions.Event, error)
}

// EventRecord is an event as programs see it.
type EventRecord struct {
	sessions.Event
	Withheld *withheldRecord       `json:"withheld,omitempty" doc:"of run.done: why the reply is withheld; text then has the gateway's own words"`
	Calls    []sessions.ClientCall `json:"calls,omitempty" doc:"of run.done: calls of the caller's functions, with which the run has ended"`
}

// withhold makes an event say that the answer is withheld.
func (e *EventRecord) withhold(w *withheldRecord) { e.Withheld, e.Text = w, w.Message }

// EventAPI serves the events of sessions.
type EventAPI struct {
	Visible *view.Visibility
	Events  Events
	Answers *Answers
	Cursors wire.Cursors
	Ending  context.Context // ends the streams when the server stops
	Log     *slog.Logger
}

// Watch shows what happens in a session until the caller goes. It resumes after Last-Event-ID.
func (a *EventAPI) Watch(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := endless(r.Context(), a.Ending)
	defer cancel()
	record, err := a.Visible.Session(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	after, err := a.lastSeen(r, record.ID)
	if err != nil {
		return err
	}
	events, err := a.Events.Follow(ctx, record.ID, after)
	if err != nil {
		a.Log.Warn("cannot follow the events of a session", "session", string(record.ID), "err", err)
		return wire.Unavailable("live events are not available at the moment; try again")
	}
	w.Header().Set("X-Session-Id", string(record.ID))
	out, err := a.open(ctx, w, record.ID)
	if err != nil {
		return nil // the caller has gone
	}
	pump(ctx, events, func(e sessions.Event) error { return out.show(ctx, e) }, func() error {
		if err := out.stillVisible(ctx); err != nil {
			return err
		}
		return out.Beat()
	})
	return nil
}

// pump shows what arrives until the caller goes or may no longer see it, the server stops, or the channel closes because the
// caller is too slow: they reconnect then, and resume.
func pump[T any](ctx context.Context, arrives <-chan T, show func(T) error, beat func() error) {
	beats := time.NewTicker(wire.Heartbeat)
	defer beats.Stop()
	for err := error(nil); err == nil; {
		select {
		case <-ctx.Done():
			return
		case next, ok := <-arrives:
			if !ok {
				return
			}
			err = show(next)
		case <-beats.C:
			err = beat()
		}
	}
}

// endless is the context of a stream that has no end of its own.
func endless(ctx, ending context.Context) (context.Context, context.CancelFunc) {
	stream, end := auth.OfStream(ctx)
	ctx, stop := untilStop(stream, ending)
	return ctx, func() { stop(); end() }
}

// untilStop is a request's context that also ends with the server.
func untilStop(ctx, ending context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ending, cancel)
	return ctx, func() { stop(); cancel() }
}

// lastSeen is the number of the last event that the caller has: from a browser's header, or from the query.
func (a *EventAPI) lastSeen(r *http.Request, id sessions.ID) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" || text == "0" {
		return 0, nil
	}
	if !auth.CallerOf(r.Context()).SeesAll() {
		if n, ok := a.Cursors.Open(id, text); ok {
			return n, nil
		}
	} else if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	return 0, wire.BadRequest("after: want the id of an event of this session")
}

// open begins a stream of a session's events.
func (a *EventAPI) open(ctx context.Context, w http.ResponseWriter, id sessions.ID) (*eventStream, error) {
	out, err := wire.NewStream(w)
	to := &frames{Stream: out}
	if !auth.CallerOf(ctx).SeesAll() {
		to.cursor = func(seq uint64) string { return a.Cursors.Seal(id, seq) }
	}
	return a.streamTo(id, to), err
}

// streamTo is a stream of a session's events to an audience.
func (a *EventAPI) streamTo(id sessions.ID, to Audience) *eventStream {
	return &eventStream{Audience: to, session: id, visible: a.Visible, answers: a.Answers}
}

// Audience takes the events that one caller may see, one after the other. An error means that the caller has gone.
type Audience interface {
	Show(e EventRecord) error
	// Beat tells the caller from time to time that the stream is alive.
	Beat() error
}

// eventStream shows the events of one session to one caller.
type eventStream struct {
	Audience
	session sessions.ID
	visible *view.Visibility
	answers *Answers
}

// ErrHidden means that a session is above the caller's level; it ends a stream whose session has risen above its reader.
var ErrHidden = errors.New("the session is above the caller's level")

// stillVisible is nil as long as the session is within the caller's level.
func (s *eventStream) stillVisible(ctx context.Context) error {
	who := auth.CallerOf(ctx)
	taint, err := s.visible.Taint(ctx, who, s.session)
	if err == nil && !who.Sees(taint) {
		s.visible.Denials.Hidden(ctx, denials.Object{Kind: "session", ID: string(s.session), Session: s.session, Label: taint}, denials.AboveLevel)
		err = ErrHidden
	}
	return err
}

// show passes an event on if the caller may see it. It reads the session for each event: a higher taint is stored before the
// event that caused it, so nothing that follows is shown, whatever its own label.
func (s *eventStream) show(ctx context.Context, e sessions.Event) error {
	if who := auth.CallerOf(ctx); !who.SeesAll() {
		if err := s.stillVisible(ctx); err != nil {
			return err
		}
		if !who.Sees(e.Label) {
			return nil
		}
	}
	told, err := s.answers.eventFor(ctx, e)
	if err != nil {
		return err
	}
	return s.Show(told)
}

// Pass shows an event of any session to an audience, if the caller may see it. ErrHidden means that the session is above the
// caller's level.
func (a *EventAPI) Pass(ctx context.Context, e sessions.Event, to Audience) error {
	return a.streamTo(e.Session, to).show(ctx, e)
}

// showOwn is show for the caller's own turn. Hidden events are left out and the stream goes on, because the caller always
// learns how the turn ends.
func (s *eventStream) showOwn(ctx context.Context, e sessions.Event) error {
	if err := s.show(ctx, e); !errors.Is(err, ErrHidden) {
		return err
	}
	return nil
}

// frames writes events as server-sent events.
type frames struct {
	*wire.Stream
	cursor func(seq uint64) string // nil: the caller sees the events' numbers
}

var _ Audience = (*frames)(nil)

// Show writes one event, with an id from which a reader can resume.
func (f *frames) Show(e EventRecord) error {
	id := ""
	if e.Seq > 0 {
		id = strconv.FormatUint(e.Seq, 10)
	}
	if f.cursor != nil && e.Seq > 0 {
		id, e.Seq = f.cursor(e.Seq), 0
	}
	return f.Event(id, string(e.Type), e)
}

// DescribeEvents describes the operation in the OpenAPI document.
func DescribeEvents(r huma.API) huma.Operation {
	o := wire.Op(http.MethodGet, "/v1/sessions/{id}/events", "events", "Follow what happens in a session, live; resumes after Last-Event-ID")
	o.Parameters = []*huma.Param{
		wire.SessionParam(),
		{Name: "Last-Event-ID", In: "header", Description: "id of the last event that the caller has", Schema: &huma.Schema{Type: huma.TypeString}},
		{Name: "after", In: "query", Description: "the same as Last-Event-ID", Schema: &huma.Schema{Type: huma.TypeString}},
	}
	o.Responses = wire.Responses(http.StatusServiceUnavailable, map[string]*huma.MediaType{"text/event-stream": {Schema: wire.Schema[EventRecord](r)}})
	return o
}
