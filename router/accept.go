package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/router/speech"
	"sluice/sessions"
)

// admitTries bounds how often an admission is repeated after another one got in between.
const admitTries = 5

// Accept implements [adapters.Acceptor].
func (r *Router) Accept(ctx context.Context, in adapters.Inbound) error {
	_, err := r.Admit(ctx, Admission{Inbound: in})
	return err
}

// Admit takes one inbound event. When it returns without an error, whatever
// must follow from the event is durable; a repeated event changes nothing.
// Errors: [request.ErrStopping], [request.ErrBusy], a *[request.Error], or the store's.
func (r *Router) Admit(ctx context.Context, in Admission) (Admitted, error) {
	if r.stopping.Load() {
		return Admitted{}, request.ErrStopping
	}
	started := r.now()
	in.Quotations = speech.Bound(in.Quotations, speech.MaxQuoted)
	in.Inbound = in.Fit(started)
	if in.Route.ChatType == sessions.Direct && string(in.Sender.ID) != string(in.Route.Conversation) {
		in.Route.Peer = in.Sender.ID
	}
	for range admitTries {
		got, err := r.admitOnce(ctx, in)
		switch {
		case err == nil:
			r.metrics.accepted.WithLabelValues(in.Route.Channel, string(got.Outcome)).Inc()
			r.metrics.acceptSeconds.Observe(r.now().Sub(started).Seconds())
			return got, nil
		case errors.Is(err, sessions.ErrDuplicate):
			if got, err = r.repeated(ctx, in); err == nil {
				r.metrics.accepted.WithLabelValues(in.Route.Channel, "repeat").Inc()
				return got, nil
			}
			if !errors.Is(err, sessions.ErrNotFound) {
				return Admitted{}, err
			}
		case errors.Is(err, sessions.ErrConflict):
		default:
			return Admitted{}, err
		}
	}
	return Admitted{}, fmt.Errorf("admit event %s: %w", in.Event, sessions.ErrConflict)
}

func eventKey(in Admission) string {
	return in.Route.Channel + "/" + in.Route.Account + "/" + in.Event
}

// admitOnce is one attempt; ErrDuplicate and ErrConflict ask for another look.
func (r *Router) admitOnce(ctx context.Context, in Admission) (Admitted, error) {
	s := r.settings.Load()
	in.found = &place.Found{}
	switch {
	case in.Migrated != nil:
		return r.admitMigration(ctx, in)
	case in.Deleted:
		return r.admitDeletion(ctx, in)
	}
	owner := s.IsOwner(in.Route.Channel, in.Sender.ID)
	how, err := r.places.Access(ctx, s, in.arrival(), owner)
	if err != nil {
		return Admitted{}, err
	}
	switch {
	case in.Reaction != nil:
		return r.admitReaction(ctx, s, in, how, owner)
	case asksWhoami(in, how):
		return r.tellStranger(ctx, s, in)
	case how == place.AdmitPairing:
		return r.requestPairing(ctx, s, in)
	case addressesUnlisted(in, how, owner):
		return r.tellUnlisted(ctx, s, in)
	case how == place.AdmitNone, how == place.AdmitCommand && in.Press == "" && !commands.Given(in.Inbound):
		return r.refuse(ctx, s, in)
	}
	if ignore, err := r.countTurn(ctx, s, &in, how); ignore || err != nil {
		return Admitted{Outcome: ledger.OutcomeIgnored}, err
	}
	if in.Press != "" {
		return r.admitPress(ctx, s, in, how, owner)
	}
	if how == place.AdmitHistory {
		return r.admitHistory(ctx, s, in, owner)
	}
	return r.admitSaid(ctx, s, in, owner)
}

// refuse ignores who is not admitted. Who used the platform's own menu sees why:
// only they do, and the platform would else say that the bot is broken.
func (r *Router) refuse(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	r.metrics.ignored.WithLabelValues(in.Route.Channel, "access").Inc()
	if !commands.FromMenu(in.Inbound) {
		return Admitted{Outcome: ledger.OutcomeIgnored}, nil
	}
	return r.answerEvent(ctx, s, in, ledger.OutcomeIgnored, "You can't use commands here.")
}

// admitSaid takes what an admitted person says to the agent.
func (r *Router) admitSaid(ctx context.Context, s *place.Settings, in Admission, owner bool) (Admitted, error) {
	if s.MaxTextBytes > 0 && len(in.Text) > s.MaxTextBytes {
		text := fmt.Sprintf("That message is too long: %d bytes, and the limit is %d. Please split it or send it as a file.", len(in.Text), s.MaxTextBytes)
		return r.answerEvent(ctx, s, in, ledger.OutcomeIgnored, text)
	}
	if cmd, ok := commands.Of(in.Inbound); ok {
		return r.command(ctx, s, in, owner, cmd)
	}
	if commands.FromMenu(in.Inbound) {
		name, _, _ := strings.Cut(in.Text, " ")
		return r.answerEvent(ctx, s, in, ledger.OutcomeCommand, fmt.Sprintf("There is no command `%s`. `/help` lists the commands.", name))
	}
	if speech.Nothing(in.Inbound) {
		return Admitted{Outcome: ledger.OutcomeIgnored}, nil
	}
	return r.admitRun(ctx, s, in, owner)
}

// repeated says what became of an event at its first delivery.
func (r *Router) repeated(ctx context.Context, in Admission) (Admitted, error) {
	e, err := r.store.Event(ctx, eventKey(in))
	if err != nil {
		return Admitted{}, err
	}
	got := Admitted{Outcome: e.Outcome, Session: e.Session, Run: e.Run, Repeat: true}
	if e.Run != "" { // the first one's caller may have gone before it could wake anybody
		lane := sessions.SessionLane(e.Session)
		r.lanes.Wake(lane.Partition(r.partitions), lane)
	}
	if e.Notice != "" {
		d, err := r.store.Delivery(ctx, e.Notice)
		if errors.Is(err, sessions.ErrNotFound) {
			return got, nil // it was said long ago, and is not kept any more
		}
		if err != nil {
			return Admitted{}, fmt.Errorf("read notice: %w", err)
		}
		got.Notice, got.NoticeID = d.Text, d.ID
		r.lanes.Wake(d.Partition, d.Lane)
	}
	return got, nil
}

// commitEvent stores what an event led to and wakes whom it concerns.
func (r *Router) commitEvent(ctx context.Context, in Admission, outcome ledger.Outcome, change ledger.Change) error {
	event := &ledger.Event{Key: eventKey(in), Outcome: outcome, Accepted: r.now()}
	if len(change.Enqueue) > 0 {
		event.Session, event.Run = change.Enqueue[0].Session, change.Enqueue[0].ID
	}
	for _, d := range change.Deliver {
		if d.Kind == ledger.KindNotice && event.Notice == "" { // the first is the answer to its sender
			event.Notice, event.Session = d.ID, cmp.Or(event.Session, d.Session)
		}
	}
	change.Event, change.Bots = event, in.turns
	if in.Session == "" && (outcome == ledger.OutcomeRun || outcome == ledger.OutcomeCommand || outcome == ledger.OutcomeHistory) {
		change.Peers = []ledger.DirectPeer{heardFrom(in)}
	}
	faultpoint.Hit(faultpoint.AcceptBeforeCommit)
	if err := r.store.Commit(ctx, change); err != nil {
		return fmt.Errorf("commit event: %w", err)
	}
	faultpoint.Hit(faultpoint.AcceptAfterCommit)
	if outcome == ledger.OutcomeRun {
		r.emitUser(change.Enqueue[0]) // before anybody works on it
	}
	r.lanes.WakeFor(change)
	return nil
}

// heardFrom notes that somebody was heard in a conversation: who may be told what there hangs on it.
func heardFrom(in Admission) ledger.DirectPeer {
	p := ledger.DirectPeer{Channel: in.Route.Channel, Account: in.Route.Account, Conversation: in.Route.Conversation}
	if in.Route.ChatType == sessions.Direct {
		p.User = in.Sender.ID
	}
	return p
}

// answerEvent stores the gateway's own answer to an event and nothing else.
func (r *Router) answerEvent(ctx context.Context, s *place.Settings, in Admission, outcome ledger.Outcome, text string) (Admitted, error) {
	notice := r.compose.Notice(in.Route, text)
	notice.Session = in.Session
	err := r.commitEvent(ctx, in, outcome, ledger.Change{Deliver: []ledger.Delivery{notice}})
	return Admitted{Outcome: outcome, Session: in.Session, Notice: text, NoticeID: notice.ID}, err
}

func (r *Router) admitMigration(ctx context.Context, in Admission) (Admitted, error) {
	err := r.commitEvent(ctx, in, ledger.OutcomeMoved, ledger.Change{Aliases: []ledger.Alias{{
		Channel: in.Route.Channel, Account: in.Route.Account, From: in.Migrated.From, To: in.Migrated.To,
	}}})
	return Admitted{Outcome: ledger.OutcomeMoved}, err
}

// admitHistory keeps what was said in a group without addressing the agent.
func (r *Router) admitHistory(ctx context.Context, s *place.Settings, in Admission, owner bool) (Admitted, error) {
	if in.Text == "" && !speech.PassesOn(in.Inbound) {
		return Admitted{Outcome: ledger.OutcomeIgnored}, nil
	}
	if in.Edited {
		return r.reword(ctx, in)
	}
	return r.remember(ctx, s, in, sessions.HistoryLine{
		Sender: in.Sender, Text: in.Text, Quotations: in.Quotations, At: r.now(), Label: r.saidLabel(in, owner), MessageID: in.MessageID,
	})
}

// remember keeps a line for the next run in the conversation.
func (r *Router) remember(ctx context.Context, s *place.Settings, in Admission, line sessions.HistoryLine) (Admitted, error) {
	err := r.commitEvent(ctx, in, ledger.OutcomeHistory, ledger.Change{Remember: []ledger.Remembered{{Lane: in.Route.Lane(), Line: line, Keep: s.HistoryKeep}}})
	return Admitted{Outcome: ledger.OutcomeHistory}, err
}

// saidLabel is the label of a message: of its sender's words and of those that it quotes, which are anybody's. What could not
// be read of it may have said that it is a quotation.
func (r *Router) saidLabel(in Admission, owner bool) flow.Label {
	whole := in.Unread == "" || policy.CheckUnread.Skipped()
	return r.places.Label(in.Route, owner && len(in.Quotations) == 0 && whole)
}
