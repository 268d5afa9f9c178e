package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"sluice/sessions"
)

// errRisen ends a stream whose session has risen above its reader.
var errRisen = errors.New("the session is above the caller's level")

// still is nil while the session that a stream shows is within the caller's level.
func (s *Server) still(ctx context.Context, id sessions.ID) error {
	who := callerOf(ctx)
	taint, err := s.taintFor(ctx, who, id)
	if err == nil && !who.sees(taint) {
		s.denied(ctx, object{"session", string(id), id, taint}, whyAbove)
		err = errRisen
	}
	return err
}

// show passes an event on if the caller may see it. The session is looked at for each: its taint is stored
// before what made it rise can be told, so that nothing is shown of what comes after, whatever its own label.
func (s *Server) show(ctx context.Context, out *stream, e sessions.Event) error {
	if who := callerOf(ctx); !who.seesAll() {
		if err := s.still(ctx, out.session); err != nil {
			return err
		}
		if !who.sees(e.Label) {
			return nil
		}
	}
	told, err := s.followed(ctx, e)
	if err != nil {
		return err
	}
	return out.record(told)
}

// pass is show for the caller's own turn, whose end they are told whatever it is: what comes before is left out, and the stream goes on.
func (s *Server) pass(ctx context.Context, out *stream, e sessions.Event) error {
	if err := s.show(ctx, out, e); !errors.Is(err, errRisen) {
		return err
	}
	return nil
}

// veiled is a run's end without its usage and label, which tell of what its text does not.
func veiled(e sessions.Event) sessions.Event {
	return sessions.Event{Session: e.Session, Run: e.Run, Seq: e.Seq, Type: e.Type, Text: e.Text, At: e.At}
}

// lastSeen is the number of the last event of a session that the caller has: a browser's header, or the query's after.
func (s *Server) lastSeen(r *http.Request, id sessions.ID) (uint64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" || text == "0" {
		return 0, nil
	}
	if !callerOf(r.Context()).seesAll() {
		if n, ok := s.cursors.open(id, text); ok {
			return n, nil
		}
	} else if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	return 0, badRequest("after: want the id of an event of this session")
}
