package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router"
	"sluice/sessions"
)

const (
	// turnMost is how long a caller that wants JSON is kept waiting for its answer.
	turnMost = 30 * time.Minute
	// lookEvery is how often a stream looks at its run's row, in case the bus has lost the end.
	lookEvery = 5 * time.Second
	keyMost   = 200
)

// streamRoutes are those that answer with events. They are documented by hand.
func (s *Server) streamRoutes(mux *http.ServeMux, api huma.API) {
	mux.HandleFunc("POST /v1/sessions/{id}/messages", s.turn)
	mux.HandleFunc("GET /v1/sessions/{id}/events", s.events)
	documentStreams(api)
}

// turnRequest is the body of one turn.
type turnRequest struct {
	Message string `json:"message,omitempty" doc:"what is said; a chat command works too"`
	Press   string `json:"press,omitempty" doc:"instead of a message: presses a button, by the press that it was shown with"`
	ID      string `json:"id,omitempty" doc:"names the message: the same id again from the same token is the same message"`
	Label   string `json:"label,omitempty" doc:"level of what is said, or LEVEL/trust; default PUBLIC, and on the page its level"`
}

// turnReply is the answer to a caller that wants JSON.
type turnReply struct {
	Run    sessions.RunID `json:"run_id,omitempty"`
	Status string         `json:"status" enum:"ok,error,timeout"`
	Reply  string         `json:"reply" doc:"the answer; where it is withheld the gateway's own words instead"`

	Withheld *withheldRecord `json:"withheld,omitempty" doc:"why there is an answer that is not told; absent: reply is the answer"`
}

// turn says something in a session, and shows or gives the answer.
func (s *Server) turn(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.untilStop(r.Context())
	defer cancel()
	request, err := readTurn(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	record, err := s.addressed(ctx, r.PathValue("id"))
	if err != nil {
		s.fail(w, err)
		return
	}
	label, err := saidTo(ctx, record, request.Label)
	if err != nil {
		s.fail(w, err)
		return
	}
	// The events are followed before the message is admitted, so that none of its is missed.
	events, err := s.cfg.Events.Follow(ctx, record.ID, 0)
	if err != nil {
		s.cfg.Log.Warn("turn is not followed live", "session", string(record.ID), "err", err)
		events = nil // the run's row tells the end
	}
	got, err := s.cfg.Router.Admit(ctx, s.admission(ctx, record, request, label))
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("X-Session-Id", string(record.ID))
	if got.Run != "" {
		w.Header().Set("X-Run-Id", string(got.Run))
	}
	if wantsJSON(r) {
		s.turnJSON(ctx, w, got)
		return
	}
	s.turnStream(ctx, w, record, got, events)
}

// onPage reports whether the owner speaks on the page. It is a chat like any other: what is said there is heard
// whatever the main session knows, and what is told there is the gate's to say.
func onPage(ctx context.Context) bool {
	who := callerOf(ctx)
	return who.Page && who.Name == ""
}

// addressed finds the session that is spoken to.
func (s *Server) addressed(ctx context.Context, name string) (sessions.Record, error) {
	if name != sessions.MainAlias || !onPage(ctx) {
		return s.session(ctx, name)
	}
	r, err := s.cfg.Router.MainSession(ctx)
	if err != nil {
		err = s.problem(err)
	}
	return r, err
}

// readTurn reads the body strictly. The name of the message is the body's id, else the header's, else a new one.
func readTurn(r *http.Request) (turnRequest, error) {
	var t turnRequest
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&t)
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return t, &apiError{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the request is longer than %d bytes", big.Limit)}
	}
	if err != nil {
		return t, badRequest("the body is not a JSON object {\"message\": text}: " + err.Error())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return t, badRequest("the body has more than one JSON value")
	}
	switch said := strings.TrimSpace(t.Message) != ""; {
	case !said && t.Press == "":
		return t, badRequest("message: is empty")
	case said && t.Press != "":
		return t, badRequest("message and press: give one of the two")
	}
	if t.ID == "" {
		t.ID = r.Header.Get("Idempotency-Key")
	}
	if len(t.ID) > keyMost {
		return t, badRequest(fmt.Sprintf("id: is longer than %d bytes", keyMost))
	}
	if t.ID == "" {
		t.ID = uuid.NewString()
	}
	return t, nil
}

// admission is a turn as the router takes it: words on the page, of the owner or of somebody who has another
// token. A session that a program has made takes one message at a time.
func (s *Server) admission(ctx context.Context, record sessions.Record, t turnRequest, label flow.Label) router.Admission {
	event, sender := string(record.Key)+"/"+t.ID, s.cfg.PagePerson
	if name := callerOf(ctx).Name; name != "" { // no key of a session begins so
		event, sender = "token:"+name+"/"+event, sessions.Peer{ID: router.TokenUser(name), Name: name}
	}
	return router.Admission{
		Inbound: adapters.Inbound{
			Event: event, Route: s.cfg.PageRoute, Sender: sender, Text: t.Message, Press: t.Press,
			Mentioned: true, MessageID: sessions.PlatformMessageID(t.ID), SentAt: s.cfg.Now(),
		},
		Label: label, Session: record.ID, Token: s.token(callerOf(ctx)), Exclusive: strings.HasPrefix(record.Key.Bare(), "http:"),
	}
}

func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

func (s *Server) turnJSON(ctx context.Context, w http.ResponseWriter, got router.Admitted) {
	reply, err := s.reply(ctx, got)
	if err != nil {
		s.fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // the caller has gone
}

// reply waits for what became of a turn.
func (s *Server) reply(ctx context.Context, got router.Admitted) (turnReply, error) {
	if got.Run == "" {
		text, err := s.noticed(ctx, got)
		return turnReply{Status: "ok", Reply: text}, err
	}
	run, err := s.cfg.Router.WaitRun(ctx, got.Run, turnMost)
	if err != nil {
		return turnReply{}, err
	}
	reply := replyOf(run)
	end, err := s.told(ctx, run)
	reply.Reply, reply.Withheld = end.text, end.withheld
	return reply, err
}

// noticed is the gateway's own answer to a turn, as far as the caller may see it.
func (s *Server) noticed(ctx context.Context, got router.Admitted) (string, error) {
	if got.Notice == "" || callerOf(ctx).seesAll() {
		return got.Notice, nil
	}
	var of []sessions.ID
	if !onPage(ctx) {
		of = append(of, got.Session)
	}
	d, err := s.cfg.Store.Delivery(ctx, got.NoticeID)
	switch err := s.visible(ctx, err, object{kind: "answer", id: string(d.ID), label: d.Label}, of...); {
	case errors.Is(err, errNotFound):
		return aboveText, nil
	case err != nil:
		return "", err
	}
	return got.Notice, nil
}

// replyOf is how a turn has ended, without what was said.
func replyOf(run sessions.Run) turnReply {
	r := turnReply{Run: run.ID, Status: "ok"}
	switch {
	case run.Status == sessions.RunTimeout, !run.Status.Terminal():
		r.Status = "timeout"
	case run.Status != sessions.RunDone:
		r.Status = "error"
	}
	return r
}

// turnStream shows a run's events up to its end. A command's answer is one event.
func (s *Server) turnStream(ctx context.Context, w http.ResponseWriter, record sessions.Record, got router.Admitted, events <-chan sessions.Event) {
	text, err := s.noticed(ctx, got)
	if err != nil {
		s.fail(w, err)
		return
	}
	out, err := s.newStream(ctx, w, record.ID)
	if err != nil {
		return // the caller has gone
	}
	if got.Run == "" {
		if text != "" {
			notice := sessions.Event{Session: record.ID, Type: sessions.EventNotice, Text: text, Delivery: string(got.NoticeID), At: s.cfg.Now(), Label: flow.Bottom()}
			_ = out.event(notice) // the caller has gone
		}
		return
	}
	if err := s.follow(ctx, out, got.Run, events); err != nil {
		s.cfg.Log.Debug("turn's stream ended early", "run", string(got.Run), "err", err)
	}
}

// follow passes on the events of one run until it has ended, and the questions that are asked in its session meanwhile: the
// run may wait for the answer to one.
func (s *Server) follow(ctx context.Context, out *stream, id sessions.RunID, events <-chan sessions.Event) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	done, err := s.endOf(ctx, out, id, nil) // a repeated message's run may have ended long ago
	for err == nil && !done {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil
			case e.Run == id && e.Type.Terminal():
				done, err = s.endOf(ctx, out, id, &e)
			case e.Run == id:
				err = s.pass(ctx, out, e)
			case e.Type == sessions.EventNotice && len(e.Buttons) > 0, e.Type == sessions.EventDecided:
				err = s.pass(ctx, out, e)
			}
		case <-look.C:
			if err = out.beat(); err == nil {
				done, err = s.endOf(ctx, out, id, nil)
			}
		}
	}
	return err
}

// endOf tells a run's end from its row, if it has ended. The row is stored before the event of it, if that has come already.
func (s *Server) endOf(ctx context.Context, out *stream, id sessions.RunID, event *sessions.Event) (bool, error) {
	run, err := s.cfg.Store.Run(ctx, id)
	if err != nil || !run.Status.Terminal() {
		return false, err
	}
	end, err := s.told(ctx, run)
	if err != nil {
		return false, err
	}
	last := lastEvent(run)
	if event != nil {
		last = *event
	}
	if last.Text = end.text; !end.seen {
		last = veiled(last)
	}
	return true, out.record(eventRecord{Event: last, Withheld: end.withheld})
}

// lastEvent is the event with which a run ended, without its text.
func lastEvent(run sessions.Run) sessions.Event {
	e := sessions.Event{Session: run.Session, Run: run.ID, Type: sessions.EventFailed, At: run.Finished, Label: run.Label}
	switch run.Status {
	case sessions.RunDone:
		e.Type, e.Usage = sessions.EventDone, &run.Usage
	case sessions.RunAborted:
		e.Type = sessions.EventAborted
	case sessions.RunDropped:
		e.Type = sessions.EventDropped
	}
	return e
}

// events shows what happens in a session until the caller goes. It goes on behind Last-Event-ID.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := s.untilStop(r.Context())
	defer cancel()
	record, err := s.session(ctx, r.PathValue("id"))
	if err != nil {
		s.fail(w, err)
		return
	}
	after, err := s.lastSeen(r, record.ID)
	if err != nil {
		s.fail(w, err)
		return
	}
	events, err := s.cfg.Events.Follow(ctx, record.ID, after)
	if err != nil {
		s.cfg.Log.Warn("session is not followed", "session", string(record.ID), "err", err)
		s.fail(w, &apiError{http.StatusServiceUnavailable, "unavailable", "live events are not available at the moment; try again"})
		return
	}
	w.Header().Set("X-Session-Id", string(record.ID))
	out, err := s.newStream(ctx, w, record.ID)
	if err != nil {
		return // the caller has gone
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return // too slow: it comes back and goes on
			}
			err = s.show(ctx, out, e)
		case <-beat.C:
			if err = s.still(ctx, record.ID); err == nil {
				err = out.beat()
			}
		}
	}
}
