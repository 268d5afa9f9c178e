package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"sluice/adapters"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/inbound"
	"sluice/sessions"
)

const (
	// turnTimeout is how long a caller that wants JSON waits for its answer.
	turnTimeout = 30 * time.Minute
	// lookInterval is how often a stream reads its run's row, in case the bus has lost the end.
	lookInterval = 4 * time.Second
	// lateEvents is how long a stream waits for the last events of a run that has ended.
	lateEvents = time.Second
	turnIDMax  = 200 // bytes
)

// Turns takes messages in.
type Turns interface {
	// Admit accepts a message: it is durable when Admit returns.
	Admit(ctx context.Context, in inbound.Admission) (inbound.Admitted, error)
}

// Work controls the runs of sessions.
type Work interface {
	// WaitRun waits until a run has ended, at most for d, and returns its current state.
	WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error)
	// AbortSession stops a session's run and clears its queue.
	AbortSession(ctx context.Context, id sessions.ID, actor string) error
}

// TurnAPI serves turns: messages and their answers.
type TurnAPI struct {
	Visible  *view.Visibility
	Turns    Turns
	Work     Work
	Events   *EventAPI
	Runs     RunRows
	Notices  NoticeRows
	Answers  *Answers
	Identity view.Identity
	Now      func() time.Time
	Log      *slog.Logger
}

// turnRequest is the body of a turn.
type turnRequest struct {
	Message string `json:"message,omitempty" doc:"what to say; chat commands work too"`
	Press   string `json:"press,omitempty" doc:"instead of a message: press a button, with the press that came with it"`
	ID      string `json:"id,omitempty" doc:"names the message: the same id from the same token is the same message"`
	Label   string `json:"label,omitempty" doc:"level of the message, or LEVEL/trust; default PUBLIC, and on the page its level"`

	Timeout *int `json:"timeoutSeconds,omitempty" minimum:"0" maximum:"1800" doc:"for an answer as JSON: how long to wait for the reply; the run goes on afterwards. 0: the answer comes at once, with the status accepted. Default: 1800"`
}

// wait is how long a caller waits for the reply.
func (t turnRequest) wait() time.Duration {
	if t.Timeout == nil {
		return turnTimeout
	}
	return time.Duration(*t.Timeout) * time.Second
}

// turnReply is the answer to a caller that wants JSON.
type turnReply struct {
	Run    sessions.RunID `json:"run_id,omitempty"`
	Status string         `json:"status" enum:"ok,error,timeout,accepted"`
	Reply  string         `json:"reply" doc:"the reply, or the gateway's own words if the reply is withheld"`

	Withheld *withheldRecord `json:"withheld,omitempty" doc:"why the reply is withheld; absent: reply is the agent's"`
}

// Say says something in a session, and streams or returns the answer.
func (a *TurnAPI) Say(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := untilStop(r.Context(), a.Events.Ending)
	defer cancel()
	request, err := readTurn(r)
	if err != nil {
		return err
	}
	if request.Timeout != nil && !wantsJSON(r) {
		return wire.BadRequest("timeoutSeconds: a stream ends with its run; send the header Accept: application/json")
	}
	record, err := a.addressed(ctx, r.PathValue("id"))
	if err != nil {
		return err
	}
	label, err := auth.CallerOf(ctx).InputLabelFor(record, request.Label)
	if err != nil {
		return err
	}
	got, err := a.start(ctx, record, a.admission(ctx, record, request, label))
	if err != nil {
		return err
	}
	w.Header().Set("X-Session-Id", string(record.ID))
	if got.Run != "" {
		w.Header().Set("X-Run-Id", string(got.Run))
	}
	if wantsJSON(r) {
		return a.answer(ctx, w, got.Admitted, request.wait())
	}
	return a.stream(ctx, w, got)
}

// addressed finds the session to speak to. On the page, the owner may always speak to the main session, whatever it
// has learnt.
func (a *TurnAPI) addressed(ctx context.Context, name string) (sessions.Record, error) {
	if name == sessions.MainAlias && auth.CallerOf(ctx).OnPage() {
		return a.Visible.Resolver.MainSession(ctx, name)
	}
	return a.Visible.Addressed(ctx, name)
}

// readTurn reads the body strictly. The id of the message comes from the body, else from the header, else it is a new one.
func readTurn(r *http.Request) (turnRequest, error) {
	var t turnRequest
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&t)
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return t, wire.TooLarge(fmt.Sprintf("the request is longer than %d bytes", big.Limit))
	}
	if err != nil {
		return t, wire.BadRequest("the body is not a JSON object {\"message\": text}: " + err.Error())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return t, wire.BadRequest("the body has more than one JSON value")
	}
	switch said := strings.TrimSpace(t.Message) != ""; {
	case !said && t.Press == "":
		return t, wire.BadRequest("message: is empty: write a text")
	case said && t.Press != "":
		return t, wire.BadRequest("message and press: give only one of them")
	}
	if most := int(turnTimeout.Seconds()); t.Timeout != nil && (*t.Timeout < 0 || *t.Timeout > most) { // as a time span it might overflow
		return t, wire.BadRequest(fmt.Sprintf("timeoutSeconds: want 0 to %d", most))
	}
	if t.ID == "" {
		t.ID = r.Header.Get("Idempotency-Key")
	}
	if len(t.ID) > turnIDMax {
		return t, wire.BadRequest(fmt.Sprintf("id: is longer than %d bytes", turnIDMax))
	}
	if t.ID == "" {
		t.ID = uuid.NewString()
	}
	return t, nil
}

// admission is a turn as the router takes it: a message on the page, from the owner or from the person behind another token.
// A session that a program has created takes one message at a time.
func (a *TurnAPI) admission(ctx context.Context, record sessions.Record, t turnRequest, label flow.Label) inbound.Admission {
	who := auth.CallerOf(ctx)
	event, sender := string(record.Key)+"/"+t.ID, a.Identity.Person
	if !who.Owner() { // no session key begins like this
		event, sender = "token:"+who.Name+"/"+event, sessions.Peer{ID: decider.TokenUser(who.Name), Name: who.Name}
	}
	return inbound.Admission{
		Inbound: adapters.Inbound{
			Event: event, Route: a.Identity.Route, Sender: sender, Text: t.Message, Press: t.Press,
			Mentioned: true, MessageID: sessions.PlatformMessageID(t.ID), SentAt: a.Now(),
		},
		Label: label, Session: record.ID, Token: a.Identity.Token(who), Exclusive: strings.HasPrefix(record.Key.Bare(), "http:"),
	}
}

func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream")
}

// answer waits for the end of a turn and answers with JSON.
func (a *TurnAPI) answer(ctx context.Context, w http.ResponseWriter, got inbound.Admitted, wait time.Duration) error {
	reply, err := a.reply(ctx, got, wait)
	if err == nil {
		wire.WriteJSON(w, http.StatusOK, reply)
	}
	return err
}

func (a *TurnAPI) reply(ctx context.Context, got inbound.Admitted, wait time.Duration) (turnReply, error) {
	if got.Run == "" {
		text, err := a.notice(ctx, got)
		return turnReply{Status: "ok", Reply: text}, err
	}
	if wait == 0 {
		return turnReply{Run: got.Run, Status: "accepted"}, nil
	}
	run, err := a.Work.WaitRun(ctx, got.Run, wait)
	if err != nil {
		return turnReply{}, err
	}
	end, err := a.Answers.ending(ctx, run)
	return turnReply{Run: run.ID, Status: turnStatus(run.Status), Reply: end.text, Withheld: end.withheld}, err
}

// turnStatus is the status of a turn whose run has the given status.
func turnStatus(s sessions.RunStatus) string {
	switch {
	case s == sessions.RunTimeout, !s.Terminal():
		return "timeout"
	case s != sessions.RunDone:
		return "error"
	}
	return "ok"
}

// notice is the gateway's own answer to a turn, as far as the caller may see it.
func (a *TurnAPI) notice(ctx context.Context, got inbound.Admitted) (string, error) {
	who := auth.CallerOf(ctx)
	if got.Notice == "" || who.SeesAll() {
		return got.Notice, nil
	}
	var of []sessions.ID
	if !who.OnPage() {
		of = append(of, got.Session)
	}
	d, err := a.Notices.Delivery(ctx, got.NoticeID)
	switch err := a.Visible.Check(ctx, err, denials.Object{Kind: "answer", ID: string(d.ID), Label: d.Label}, of...); {
	case errors.Is(err, wire.ErrNotFound):
		return aboveText, nil
	case err != nil:
		return "", err
	}
	return got.Notice, nil
}

// stream shows a turn's events as server-sent events.
func (a *TurnAPI) stream(ctx context.Context, w http.ResponseWriter, got *Started) error {
	text, err := a.notice(ctx, got.Admitted)
	if err != nil {
		return err
	}
	out, err := a.Events.open(ctx, w, got.Of)
	if err != nil {
		return nil //nolint:nilerr // the caller has gone
	}
	a.show(ctx, out, got, text)
	return nil
}

// show shows a run's events up to its end. The answer of a command is one event.
func (a *TurnAPI) show(ctx context.Context, out *eventStream, got *Started, notice string) {
	if got.Run == "" {
		if notice != "" {
			_ = out.Show(EventRecord{Event: sessions.Event{Session: got.Of, Type: sessions.EventNotice, Text: notice, Delivery: string(got.NoticeID), At: a.Now(), Label: flow.Bottom()}}) // the caller has gone
		}
		return
	}
	if err := a.follow(ctx, out, got); err != nil {
		a.Log.Debug("stream of a turn ended early", "run", string(got.Run), "err", err)
	}
}

// follow passes on the events of one run until the run has ended, and the questions that its session asks in the meantime, since
// the run may wait for the answer to one. A quick run has often ended before its first event arrives here: its events are waited for.
func (a *TurnAPI) follow(ctx context.Context, out *eventStream, got *Started) error {
	events := got.events
	ended, err := a.ended(ctx, got.Run)
	done := false
	if ended && got.Repeat { // its events may have come long ago
		done, err = a.sendEnd(ctx, out, got.Run, nil)
	}
	look := time.NewTimer(pauseToLook(ended))
	defer look.Stop()
	for err == nil && !done {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil
				look.Reset(0)
			case e.Run == got.Run && e.Type.Terminal():
				done, err = a.sendEnd(ctx, out, got.Run, &e)
			case e.Run == got.Run, e.Type == sessions.EventNotice && len(e.Buttons) > 0, e.Type == sessions.EventDecided:
				err = out.showOwn(ctx, e)
			}
		case <-look.C:
			if ended && len(events) == 0 { // the bus has lost the last event
				done, err = a.sendEnd(ctx, out, got.Run, nil)
			} else if err = out.Beat(); err == nil {
				ended, err = a.ended(ctx, got.Run)
			}
			look.Reset(pauseToLook(ended))
		}
	}
	return err
}

// pauseToLook is the pause before the next look at a run's row.
func pauseToLook(ended bool) time.Duration {
	if ended {
		return lateEvents
	}
	return lookInterval
}

// ended reports whether a run's row says that it has ended.
func (a *TurnAPI) ended(ctx context.Context, id sessions.RunID) (bool, error) {
	run, err := a.Runs.Run(ctx, id)
	return err == nil && run.Status.Terminal(), err
}

// sendEnd sends the end of a run from its row, if the run has ended. The row is stored before the event, if that has come already.
func (a *TurnAPI) sendEnd(ctx context.Context, out *eventStream, id sessions.RunID, event *sessions.Event) (bool, error) {
	run, err := a.Runs.Run(ctx, id)
	if err != nil || !run.Status.Terminal() {
		return false, err
	}
	end, err := a.Answers.ending(ctx, run)
	if err != nil {
		return false, err
	}
	last := lastEvent(run)
	if event != nil {
		last = *event
	}
	if last.Text = end.text; !end.seen {
		last = withoutDetails(last)
	}
	return true, out.Show(EventRecord{Event: last, Withheld: end.withheld, Calls: end.calls})
}

// withoutDetails is a run's end without its usage and label, which say something about the hidden answer.
func withoutDetails(e sessions.Event) sessions.Event {
	return sessions.Event{Session: e.Session, Run: e.Run, Seq: e.Seq, Type: e.Type, Text: e.Text, At: e.At}
}

// lastEvent is the event with which a run has ended, without its text.
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

// DescribeTurns describes the operation in the OpenAPI document.
func DescribeTurns(r huma.API) huma.Operation {
	o := wire.Op(http.MethodPost, "/v1/sessions/{id}/messages", "say", "Send a message to a session; the reply comes as events, or whole with Accept: application/json")
	o.Parameters = []*huma.Param{wire.SessionParam(), {Name: "Idempotency-Key", In: "header", Description: "the same as id in the body", Schema: &huma.Schema{Type: huma.TypeString}}}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: wire.Schema[turnRequest](r)}}}
	o.Responses = wire.Responses(http.StatusConflict, map[string]*huma.MediaType{
		"text/event-stream": {Schema: wire.Schema[EventRecord](r)},
		"application/json":  {Schema: wire.Schema[turnReply](r)},
	})
	return o
}
