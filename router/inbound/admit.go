package inbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/internal/telemetry"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/router/usertext"
	"sluice/sessions"
)

// maxTries bounds how often an event is admitted again after a conflicting commit.
const maxTries = 5

// Accept implements [adapters.Acceptor].
func (i *Intake) Accept(ctx context.Context, in adapters.Inbound) error {
	_, err := i.Admit(ctx, Admission{Inbound: in})
	return err
}

// Admit takes one inbound event. When it returns without an error, every effect of the event is durable; a repeated
// event changes nothing. Errors: [request.ErrStopping], [request.ErrBusy], a *[request.Error], what [Intake.Full] says, or the store's.
func (i *Intake) Admit(ctx context.Context, in Admission) (Admitted, error) {
	if i.Stopping() {
		return Admitted{}, request.ErrStopping
	}
	if i.Full != nil {
		if err := i.Full(); err != nil { // before anything is written; platforms keep their events
			return Admitted{}, err
		}
	}
	started := i.Now()
	in.Quotations = usertext.CutQuotations(in.Quotations, usertext.MaxQuoted)
	in.Inbound = in.Fit(started)
	if in.Route.ChatType == sessions.Direct && string(in.Sender.ID) != string(in.Route.Conversation) {
		in.Route.Peer = in.Sender.ID
	}
	if s := i.Settings(); s.Limits.On() && !s.IsOwner(in.Route.Channel, in.Sender.ID) {
		in.counted = new(bool)
		*in.counted = i.unstored.take(eventKey(in))
	}
	got, err := admit(ctx, i, in, started)
	if err != nil && in.counted != nil && *in.counted {
		i.unstored.keep(eventKey(in))
	}
	return got, err
}

// admit is [Intake.Admit] for an event that may be taken in.
func admit(ctx context.Context, i *Intake, in Admission, started time.Time) (Admitted, error) {
	for range maxTries {
		got, err := i.admitOnce(ctx, in)
		switch {
		case err == nil:
			i.Metrics.Accepted.WithLabelValues(in.Route.Channel, string(got.Outcome)).Inc()
			telemetry.Observe(i.Metrics.Seconds, i.Now().Sub(started).Seconds(), i.traced(in, got, started))
			return got, nil
		case errors.Is(err, sessions.ErrDuplicate):
			if got, err = i.repeated(ctx, in); err == nil {
				i.Metrics.Accepted.WithLabelValues(in.Route.Channel, "repeat").Inc()
				return got, nil
			}
			if !errors.Is(err, sessions.ErrNotFound) {
				return Admitted{}, err
			}
		case errors.Is(err, sessions.ErrConflict), errors.Is(err, sessions.ErrFenced):
		default:
			return Admitted{}, err
		}
	}
	return Admitted{}, fmt.Errorf("admit event %s: %w", in.Event, sessions.ErrConflict)
}

// handling says how an event is handled.
type handling int

const (
	handleIgnored  handling = iota
	handleReaction          // a reaction to a message
	handleWhoami            // a stranger asks for their own id
	handlePairing           // a stranger asks for access
	handleUnlisted          // an owner speaks to the bot in a group that the configuration does not list
	handlePress             // a press of a button
	handleHistory           // a group message that is not for the agent
	handleMessage           // a message for the agent, or a command
)

// handlingOf decides how an event is handled, given how its place admits it.
func handlingOf(in Admission, how place.Admit, owner bool) handling {
	switch {
	case in.Reaction != nil:
		return handleReaction
	case asksWhoami(in, how):
		return handleWhoami
	case how == place.AdmitPairing:
		return handlePairing
	case addressesUnlisted(in, how, owner):
		return handleUnlisted
	case how == place.AdmitNone, how == place.AdmitCommand && in.Press == "" && !commands.Given(in.Inbound):
		return handleIgnored
	case in.Press != "":
		return handlePress
	case how == place.AdmitHistory:
		return handleHistory
	}
	return handleMessage
}

// admitOnce is one attempt. After ErrDuplicate and ErrConflict the caller tries again.
func (i *Intake) admitOnce(ctx context.Context, in Admission) (Admitted, error) {
	s := i.Settings()
	in.found = &place.Found{}
	switch {
	case in.Migrated != nil:
		return i.admitMigration(ctx, in)
	case in.Deleted:
		return i.admitDeletion(ctx, in)
	}
	owner := s.IsOwner(in.Route.Channel, in.Sender.ID)
	how, err := i.Places.Access(ctx, s, in.arrival(), owner)
	if err == nil {
		how, err = admitApprover(ctx, i, in, how)
	}
	if err != nil {
		return Admitted{}, err
	}
	kind := handlingOf(in, how, owner)
	switch kind {
	case handleIgnored:
		return i.refuse(ctx, in)
	case handleReaction:
		return i.admitReaction(ctx, s, in, how, owner)
	case handleWhoami:
		return i.replyToStranger(ctx, in)
	case handlePairing:
		return i.requestPairing(ctx, in)
	case handleUnlisted:
		return i.replyToUnlisted(ctx, s, in)
	}
	if ignore, err := i.countTurn(ctx, s, &in, how); ignore || err != nil {
		return ignored(), err
	}
	switch kind {
	case handlePress:
		return i.admitPress(ctx, s, in, how, owner)
	case handleHistory:
		return i.admitHistory(ctx, s, in, owner)
	}
	return i.admitMessage(ctx, s, in, owner)
}

// refuse ignores an event that is not admitted. Only users of the platform's own menu are told why: otherwise the
// platform would report that the bot is broken.
func (i *Intake) refuse(ctx context.Context, in Admission) (Admitted, error) {
	i.Metrics.Ignored.WithLabelValues(in.Route.Channel, "access").Inc()
	i.Refused.Note(in.Inbound, i.Settings().WhyRefused(in.Inbound))
	if !commands.FromMenu(in.Inbound) {
		return ignored(), nil
	}
	return i.answerEvent(ctx, in, ledger.OutcomeIgnored, "You can't use commands here.")
}

// admitMessage handles the message of an admitted person to the agent.
func (i *Intake) admitMessage(ctx context.Context, s *place.Settings, in Admission, owner bool) (Admitted, error) {
	if s.MaxTextBytes > 0 && len(in.Text) > s.MaxTextBytes {
		if in.overAPI() {
			return Admitted{}, request.TooLong("message", len(in.Text), s.MaxTextBytes)
		}
		text := fmt.Sprintf("That message is too long: %d bytes, and the limit is %d. Please split it or send it as a file.", len(in.Text), s.MaxTextBytes)
		return i.answerEvent(ctx, in, ledger.OutcomeIgnored, text)
	}
	if cmd, ok := commands.Of(in.Inbound); ok {
		return i.command(ctx, s, in, owner, cmd)
	}
	if commands.FromMenu(in.Inbound) {
		name, _, _ := strings.Cut(in.Text, " ")
		return i.answerEvent(ctx, in, ledger.OutcomeCommand, fmt.Sprintf("I don't know the command `%s`. `/help` lists the commands.", name))
	}
	if usertext.IsEmpty(in.Inbound) {
		return ignored(), nil
	}
	return i.admitRun(ctx, s, in, owner)
}

// repeated returns the result of an event's first delivery.
func (i *Intake) repeated(ctx context.Context, in Admission) (Admitted, error) {
	e, err := i.Store.Event(ctx, eventKey(in))
	if err != nil {
		return Admitted{}, err
	}
	got := Admitted{Outcome: e.Outcome, Session: e.Session, Run: e.Run, Repeat: true}
	if err := sameRequest(ctx, i.Store, in, e); err != nil {
		return Admitted{}, err
	}
	if e.Run != "" { // the process that stored it may have died before waking the lane
		i.Lanes.WakeSession(e.Session)
	}
	if e.Notice != "" {
		d, err := i.Store.Delivery(ctx, e.Notice)
		if errors.Is(err, sessions.ErrNotFound) {
			return got, nil // retention has removed it since
		}
		if err != nil {
			return Admitted{}, fmt.Errorf("read notice: %w", err)
		}
		got.Notice, got.NoticeID = d.Text, d.ID
		i.Lanes.Wake(d.Partition, d.Lane)
	}
	return got, nil
}

// sameRequest refuses a request whose key a program has used for another request, as long as the first one is still stored.
func sameRequest(ctx context.Context, rows earlierStore, in Admission, first ledger.Event) error {
	if in.Session == "" || in.Press != "" {
		return nil
	}
	command := commands.Given(in.Inbound)
	if first.Run == "" {
		if first.Outcome == ledger.OutcomeCommand && !command {
			return request.ErrReused
		}
		return nil
	}
	run, err := rows.Run(ctx, first.Run)
	switch {
	case errors.Is(err, sessions.ErrNotFound): // retention has removed it since
		return nil
	case err != nil:
		return fmt.Errorf("read run of the first request: %w", err)
	case run.Input.Text == in.Text, command && strings.HasSuffix(strings.TrimSpace(in.Text), run.Input.Text): // of a command, the run has the rest
		return nil
	}
	return request.ErrReused
}

// commitEvent stores an event with its change, and wakes the lanes that have work now.
func (i *Intake) commitEvent(ctx context.Context, in Admission, outcome ledger.Outcome, change ledger.Change) error {
	event := &ledger.Event{Key: eventKey(in), Outcome: outcome, Accepted: i.Now()}
	if len(change.Enqueue) > 0 {
		event.Session, event.Run = change.Enqueue[0].Session, change.Enqueue[0].ID
	}
	for _, d := range change.Deliver {
		if d.Kind == ledger.KindNotice && event.Notice == "" { // the first notice answers the sender
			event.Notice, event.Session = d.ID, cmp.Or(event.Session, d.Session)
		}
	}
	change.Event, change.Bots = event, in.turns
	if len(change.Audit) > 0 {
		var err error
		if change.Audit, err = causedBy(event, change.Audit); err != nil {
			return err
		}
	}
	if in.Session == "" && (outcome == ledger.OutcomeRun || outcome == ledger.OutcomeCommand || outcome == ledger.OutcomeHistory) {
		change.Peers = []ledger.DirectPeer{heardFrom(in)}
	}
	faultpoint.Hit(faultpoint.AcceptBeforeCommit)
	if err := i.Store.Commit(ctx, change); err != nil {
		return fmt.Errorf("commit event: %w", err)
	}
	faultpoint.Hit(faultpoint.AcceptAfterCommit)
	for _, m := range change.Runs {
		if m.Run.Status == sessions.RunDropped {
			i.Metrics.Dropped.WithLabelValues("old").Inc()
		}
	}
	if outcome == ledger.OutcomeRun {
		i.emitUser(change.Enqueue[0]) // before a worker starts the run
	}
	i.Lanes.WakeFor(change)
	return nil
}

// heardFrom notes that a person spoke in a conversation, which affects what may be said there.
func heardFrom(in Admission) ledger.DirectPeer {
	p := ledger.DirectPeer{Channel: in.Route.Channel, Account: in.Route.Account, Conversation: in.Route.Conversation}
	if in.Route.ChatType == sessions.Direct {
		p.User = in.Sender.ID
	}
	return p
}

// answerEvent stores the gateway's own answer to an event and nothing else.
func (i *Intake) answerEvent(ctx context.Context, in Admission, outcome ledger.Outcome, text string) (Admitted, error) {
	notice := i.Composer.Notice(in.Route, text)
	notice.Session = in.Session
	err := i.commitEvent(ctx, in, outcome, ledger.Change{Deliver: []ledger.Delivery{notice}})
	return Admitted{Outcome: outcome, Session: in.Session, Notice: text, NoticeID: notice.ID}, err
}

// messageLabel is the label of a message: the sender's label joined with that of the quotations, whose writers are
// unknown. An unreadable part may be a quotation, too.
func (i *Intake) messageLabel(in Admission, owner bool) flow.Label {
	whole := in.Unread == "" || policy.CheckUnread.Skipped()
	return i.Places.Label(in.Route, owner && len(in.Quotations) == 0 && whole)
}
