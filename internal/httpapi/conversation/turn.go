package conversation

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"sluice/internal/httpapi/auth"
	"sluice/router/inbound"
	"sluice/sessions"
)

// Turn is a message to a session that another face of the API has read.
type Turn struct {
	Text string
	// ID names the message as the id of a turn does; empty: it is a message of its own.
	ID    string
	Label string // of the text, as of a turn
	// Quotations are words of others: what was said before, if the session does not know it, or what functions have returned.
	Quotations []sessions.Quotation
	// Functions are those of the caller, which the agent may call. Their level is set here.
	Functions []sessions.Function
}

// Started is a turn that was taken in. Its events are followed until the context ends with which it was started.
type Started struct {
	inbound.Admitted
	Of     sessions.ID // the session that was spoken to
	events <-chan sessions.Event
}

// End is how a turn has ended, as its caller learns it.
type End struct {
	Status   sessions.RunStatus    // empty: the gateway itself has answered
	Text     string                // the reply, what went wrong, or the gateway's own words
	Withheld *withheldRecord       // why the reply is withheld
	Usage    *sessions.Usage       // nil: the run used no model, or the caller may not see it
	Calls    []sessions.ClientCall // of the caller's functions
}

// EndOf is how a run has ended by the last event of its stream.
func EndOf(e EventRecord) End {
	end := End{Text: e.Text, Withheld: e.Withheld, Usage: e.Usage, Calls: e.Calls}
	switch e.Type {
	case sessions.EventDone:
		end.Status = sessions.RunDone
	case sessions.EventAborted, sessions.EventDropped:
		end.Status = sessions.RunAborted
	case sessions.EventFailed:
		end.Status = sessions.RunFailed
	}
	return end
}

// Start takes a turn in, as [TurnAPI.Say] does.
func (a *TurnAPI) Start(ctx context.Context, record sessions.Record, t Turn) (*Started, error) {
	who := auth.CallerOf(ctx)
	label, err := who.InputLabelFor(record, t.Label)
	if err != nil {
		return nil, err
	}
	if t.ID == "" {
		t.ID = uuid.NewString()
	}
	in := a.admission(ctx, record, turnRequest{Message: t.Text, ID: t.ID}, label)
	in.Quotations, in.Functions = t.Quotations, slices.Clone(t.Functions)
	for i := range in.Functions {
		in.Functions[i].Level = who.Level
	}
	return a.start(ctx, record, in)
}

// start takes a message in. Following begins before it is admitted, so that no event of the message is missed.
func (a *TurnAPI) start(ctx context.Context, record sessions.Record, in inbound.Admission) (*Started, error) {
	events := a.eventsOf(ctx, record.ID, 0)
	got, err := a.Turns.Admit(ctx, in)
	if err != nil {
		return nil, err
	}
	of := record.ID
	if got.Repeat && got.Run != "" { // the first request may have been to a session that has ended since
		of = cmp.Or(got.Session, of)
	}
	return &Started{Admitted: got, Of: of, events: events}, nil
}

// Again is the turn of a run that was started before. Its events are followed from the first one that is still kept.
func (a *TurnAPI) Again(ctx context.Context, run sessions.Run) *Started {
	const first = 1 // the number of no event that matters: a session begins with what was said
	return &Started{Admitted: inbound.Admitted{Session: run.Session, Run: run.ID}, Of: run.Session, events: a.eventsOf(ctx, run.Session, first)}
}

// eventsOf follows a session. Without its events, the run's row tells the end.
func (a *TurnAPI) eventsOf(ctx context.Context, id sessions.ID, after uint64) <-chan sessions.Event {
	events, err := a.Events.Events.Follow(ctx, id, after)
	if err != nil {
		a.Log.Warn("cannot follow the events of a turn", "session", string(id), "err", err)
		return nil
	}
	return events
}

// Follow shows a turn's events up to its end to an audience. The last of them ends the run, or is the gateway's own answer.
func (a *TurnAPI) Follow(ctx context.Context, got *Started, to Audience) error {
	text, err := a.notice(ctx, got.Admitted)
	if err == nil {
		a.show(ctx, a.Events.streamTo(got.Of, to), got, text)
	}
	return err
}

// Finish waits for the end of a turn.
func (a *TurnAPI) Finish(ctx context.Context, got *Started) (End, error) {
	if got.Run == "" {
		text, err := a.notice(ctx, got.Admitted)
		return End{Text: text}, err
	}
	run, err := a.Work.WaitRun(ctx, got.Run, turnTimeout)
	if err != nil {
		return End{}, err
	}
	return a.endOf(ctx, run)
}

// endOf is how the caller's own run has ended.
func (a *TurnAPI) endOf(ctx context.Context, run sessions.Run) (End, error) {
	if !run.Status.Terminal() {
		return End{Status: run.Status}, nil
	}
	end, err := a.Answers.ending(ctx, run)
	out := End{Status: run.Status, Text: end.text, Withheld: end.withheld, Calls: end.calls}
	if end.seen {
		out.Usage = &run.Usage
	}
	return out, err
}

// Past is how a run has ended, for a caller who may see it. Of a run that goes on it has only the status.
func (a *TurnAPI) Past(ctx context.Context, run sessions.Run) (End, error) {
	record, err := a.Answers.record(ctx, run)
	out := End{Status: run.Status, Text: record.Reply, Withheld: record.Withheld, Usage: &run.Usage, Calls: record.Calls}
	switch {
	case record.Withheld != nil:
		out.Text = record.Withheld.Message
	case run.Status != sessions.RunDone:
		out.Text = run.Error
	}
	return out, err
}

// UntilStop is a request's context that also ends with the server.
func (a *TurnAPI) UntilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	return untilStop(ctx, a.Events.Ending)
}
