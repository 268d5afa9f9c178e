package conversation

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/adapters"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/inbound"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Heartbeats take texts for the next heartbeat of an agent, see [jobs.Jobs].
type Heartbeats interface {
	Wake(ctx context.Context, agent, actor string, w ledger.TriggerWake) (jobs.Woken, error)
}

// WakeAPI takes texts to sessions from callers that do not wait for the answer.
type WakeAPI struct {
	Turns      *TurnAPI
	Heartbeats Heartbeats
}

// wakeRequest is the body of a wake.
type wakeRequest struct {
	Session string `json:"session,omitempty" doc:"key or id of the session; default main"`
	Text    string `json:"text" doc:"what to say; in the mode now, chat commands work too"`
	Mode    string `json:"mode,omitempty" enum:"now,next-heartbeat" doc:"now: the text is handled like a message; next-heartbeat: the next heartbeat of the session's agent gets it; default now"`
	ID      string `json:"id,omitempty" maxLength:"200" doc:"names the text: the same id from the same token is the same text"`
	Label   string `json:"label,omitempty" doc:"level of the text, or LEVEL/trust; default PUBLIC, and on the page its level"`
}

// The modes of a wake.
const (
	modeNow       = "now"
	modeHeartbeat = "next-heartbeat"
)

// wakeRecord says what happened to a wake.
type wakeRecord struct {
	Session sessions.ID    `json:"session"`
	ID      string         `json:"id" doc:"names the text"`
	Mode    string         `json:"mode"`
	Run     sessions.RunID `json:"run_id,omitempty" doc:"now: the run that works on the text; absent: the gateway has answered it, see reply"`
	Reply   string         `json:"reply,omitempty" doc:"now: the gateway's own answer, such as that of a chat command"`
	Job     string         `json:"job,omitempty" doc:"next-heartbeat: the heartbeat's job"`
	Next    *time.Time     `json:"next,omitempty" doc:"next-heartbeat: the heartbeat's next time; absent: the text was given to the agent, or waits until the heartbeat is resumed"`
}

// Wake says something to a session. The text is stored when it returns; nobody waits for what the agent answers.
func (a *WakeAPI) Wake(ctx context.Context, in *struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"the same as id in the body"`
	Body wakeRequest
},
) (*wire.Body[wakeRecord], error) {
	w := in.Body
	if strings.TrimSpace(adapters.Text(w.Text)) == "" {
		return nil, wire.BadRequest("text: is empty")
	}
	record, err := a.Turns.addressed(ctx, cmp.Or(w.Session, sessions.MainAlias))
	if err != nil {
		return nil, err
	}
	label, err := auth.CallerOf(ctx).InputLabelFor(record, w.Label)
	if err != nil {
		return nil, err
	}
	turn := turnRequest{Message: w.Text, ID: cmp.Or(w.ID, in.Key)}
	if turn.ID == "" {
		turn.ID = uuid.NewString()
	}
	said := a.Turns.admission(ctx, record, turn, label)
	out := wakeRecord{Session: record.ID, ID: turn.ID, Mode: cmp.Or(w.Mode, modeNow)}
	if w.Mode == modeHeartbeat {
		err = a.leave(ctx, record.Agent, said, &out)
	} else {
		err = a.say(ctx, said, &out)
	}
	return wire.NewBody(out), err
}

// say has a text worked now.
func (a *WakeAPI) say(ctx context.Context, said inbound.Admission, out *wakeRecord) error {
	got, err := a.Turns.Turns.Admit(ctx, said)
	if err != nil {
		return err
	}
	if out.Run = got.Run; got.Run == "" {
		out.Reply, err = a.Turns.notice(ctx, got)
	}
	return err
}

// leave leaves a text for the next heartbeat of an agent.
func (a *WakeAPI) leave(ctx context.Context, agent string, said inbound.Admission, out *wakeRecord) error {
	now := a.Turns.Now()
	fit := said.Fit(now)
	got, err := a.Heartbeats.Wake(ctx, agent, auth.CallerOf(ctx).Actor(), ledger.TriggerWake{ID: fit.Event, From: fit.Sender, Text: fit.Text, Label: said.Label, At: now})
	switch {
	case errors.Is(err, jobs.ErrOtherWake):
		return wire.Conflict("id: another text was left with the same id; give this one an id of its own")
	case errors.Is(err, jobs.ErrNotPlanned):
		return wire.Unavailable("the heartbeat of the agent " + agent + " has no next time yet; try again in a few seconds")
	}
	out.Job, out.Next = got.Job, view.Optional(got.Next)
	return err
}
