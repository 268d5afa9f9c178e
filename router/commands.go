package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/adapters"
	"sluice/internal/visible"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/speech"
	"sluice/sessions"
)

// command is a chat command: the whole message is "/name args".
type command struct {
	name string
	args string
}

// commandSpec is one chat command.
type commandSpec struct {
	name  string
	help  string
	owner bool // only an owner may give it
	// others: who besides owners may give it, as its arguments say.
	others func(r *Router, ctx context.Context, in Admission, args string) (bool, error)
	// ownerArgs: anyone may ask with it, only an owner may give it an argument.
	ownerArgs bool
	// talk: what follows the name is said to the agent, in a new session.
	talk bool
	// guesses: it takes a code, and so only one of it is carried out at a time.
	guesses bool
	run     func(r *Router, ctx context.Context, c commandCall) (ledger.Change, string, error)
	// order takes the place of run where the command waits for its turn in the session's queue.
	order ordering
}

// commandCall is a command with who gave it and where.
type commandCall struct {
	in      Admission
	owner   bool
	args    string
	session sessions.Record
	fresh   bool // the conversation has no session yet: this is what it would be
	// quotes shows what others have set or said, as far as the conversation carries it. The answer has its label.
	quotes *policy.Quotation
}

// private reports whether an owner reads the answer and nobody else.
func (c commandCall) private() bool { return c.owner && c.in.Route.ChatType == sessions.Direct }

// commandTable lists the commands in the order of /help.
func commandTable() []commandSpec {
	return []commandSpec{
		{name: "help", help: "what you can say", run: (*Router).commandHelp},
		{name: "status", help: "the session, its model and its queue", run: (*Router).commandStatus},
		{name: "whoami", help: "who I think you are", run: (*Router).commandWhoami},
		{name: "new", help: "begin a new session, with what you write behind it", talk: true, run: (*Router).commandReset},
		{name: "reset", help: "the same as /new", talk: true, run: (*Router).commandReset},
		{name: "stop", help: "stop what I am doing here", run: (*Router).commandStop},
		{name: "retry", help: "answer my last message anew", order: (*Router).orderRetry},
		{name: "undo", help: "take back the last turn, or the last so many: /undo N", order: (*Router).orderUndo},
		{name: "branch", help: "the branches at the last turn; /branch N goes on from one", order: (*Router).orderBranch},
		{name: "compact", help: "shorten what was said to a summary", order: (*Router).orderCompact},
		{name: "usage", help: "the tokens of this session", run: (*Router).commandUsage},
		{name: "model", help: "the model that answers here; an owner may set it: PROVIDER/MODEL, or default", ownerArgs: true, run: (*Router).commandModel},
		{name: "queue", help: "what happens to what you say while I work: steer, followup, collect, interrupt or inherit", ownerArgs: true, run: (*Router).commandQueue},
		{name: "send", help: "on, off or inherit: may I speak in this conversation", owner: true, run: (*Router).commandSend},
		{name: "activation", help: "mention, always or inherit: what I answer in this group", owner: true, run: (*Router).commandActivation},
		{name: "approve", help: "ID allow or ID deny: may I use a tool as I asked", owner: true, others: (*Router).isApprover, run: (*Router).commandApprove},
		{name: "raise", help: "LEVEL: let me use here what is of a higher level", owner: true, order: (*Router).orderRaise},
		{name: "pair", help: "approve CODE or deny CODE: admit a person, or don't", owner: true, guesses: true, run: (*Router).commandPair},
		{name: "subagents", help: "who works for me in the background; stop ID or stop all: stop them", run: (*Router).commandSubAgents},
	}
}

// Commands are the chat commands for the platforms' menus.
func Commands() []adapters.Command {
	var menu []adapters.Command
	for _, c := range commandTable() {
		menu = append(menu, adapters.Command{Name: c.name, Description: c.help})
	}
	return menu
}

// commandOf is the command that an event gives: all that its sender has written, now and without passing on what others wrote. One
// that was read in part gives none: what is missing may change what it means.
func commandOf(in adapters.Inbound) (command, bool) {
	text := in.Text
	switch {
	case in.Edited || in.Press != "":
		return command{}, false
	case in.Unread != "" && !policy.CheckUnread.Skipped():
		return command{}, false
	case speech.PassesOn(in) && policy.CheckForward.Skipped():
		text = in.Quotations[0].Text
	case speech.PassesOn(in):
		return command{}, false
	}
	return parseCommand(text)
}

// givesCommand reports whether an event gives a chat command.
func givesCommand(in adapters.Inbound) bool {
	_, ok := commandOf(in)
	return ok
}

// commandKind says whether an event gives a chat command, and whose.
func commandKind(in adapters.Inbound) place.CommandKind {
	cmd, ok := commandOf(in)
	switch {
	case !ok:
		return place.NoCommand
	case slices.ContainsFunc(commandTable(), func(c commandSpec) bool { return c.name == cmd.name && c.owner }):
		return place.OwnersCommand
	}
	return place.AnyonesCommand
}

// parseCommand reads a command; a text that names none is not one, but talk. An
// argument may follow a space or a colon. "/start", which Telegram sends at first contact, is /help.
func parseCommand(text string) (command, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return command{}, false
	}
	name, args := rest, ""
	if i := strings.IndexAny(rest, " :\t"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i+1:])
	}
	name = strings.ToLower(name)
	if name == "start" {
		name = "help"
	}
	known := slices.ContainsFunc(commandTable(), func(c commandSpec) bool {
		return c.name == name && (c.talk || !strings.Contains(rest, "\n"))
	})
	return command{name, args}, known
}

// command carries out a chat command and answers its sender. The answer and the
// effect are one transaction with the event, so a repeated event does nothing.
func (r *Router) command(ctx context.Context, s *place.Settings, in Admission, owner bool, cmd command) (Admitted, error) {
	table := commandTable()
	spec := table[slices.IndexFunc(table, func(c commandSpec) bool { return c.name == cmd.name })]
	if !owner && (spec.owner || spec.ownerArgs && cmd.args != "") {
		may, err := spec.mayOther(ctx, r, in, cmd.args)
		if err != nil {
			return Admitted{}, fmt.Errorf("command /%s: %w", cmd.name, err)
		}
		if !may {
			return r.denyCommand(ctx, s, in, cmd)
		}
	}
	if spec.talk && cmd.args != "" {
		in.Text, in.anew = cmd.args, true
		return r.admitRun(ctx, s, in, owner)
	}
	if spec.guesses {
		release := r.Pairings.Guess()
		defer release()
	}
	in.found = nil // a command decides about the session as it is now
	place := in
	if in.OpensThread {
		place.Route.Thread = "" // only its answer will stand in the thread
	}
	record, fresh, err := r.places.SessionFor(ctx, s, place.arrival(), owner)
	if err != nil {
		return Admitted{}, err
	}
	call := commandCall{in: place, owner: owner, args: cmd.args, session: record, fresh: fresh, quotes: policy.NewQuotation(r.gate.SinkLevel(in.Route))}
	order, change, answer, err := spec.carryOut(ctx, r, call)
	if err != nil {
		return Admitted{}, fmt.Errorf("command /%s: %w", cmd.name, err)
	}
	if order != nil {
		return r.admitOrder(ctx, s, in, owner, order)
	}
	notice := r.compose.Notice(in.Route, answer)
	notice.Label = call.quotes.Label()
	if !fresh {
		notice.Session = record.ID
	}
	change.Deliver = append([]ledger.Delivery{notice}, change.Deliver...) // the first answers the event
	if err := r.commitEvent(ctx, in, ledger.OutcomeCommand, change); err != nil {
		return Admitted{}, err
	}
	return Admitted{Outcome: ledger.OutcomeCommand, Session: notice.Session, Notice: answer, NoticeID: notice.ID}, nil
}

// mayOther reports whether somebody who is no owner may give the command.
func (s commandSpec) mayOther(ctx context.Context, r *Router, in Admission, args string) (bool, error) {
	if s.others == nil {
		return false, nil
	}
	return s.others(r, ctx, in, args)
}

// carryOut gives what a command changes and answers, or the order that a run is to carry out.
func (s commandSpec) carryOut(ctx context.Context, r *Router, c commandCall) (order *sessions.Order, change ledger.Change, answer string, err error) {
	if s.order != nil {
		order, answer, err = s.order(r, ctx, c)
	} else {
		change, answer, err = s.run(r, ctx, c)
	}
	return order, change, answer, err
}

// denyCommand audits an owner's command given by somebody else. The sender is told
// so where nobody else sees it; a group hears nothing.
func (r *Router) denyCommand(ctx context.Context, s *place.Settings, in Admission, cmd command) (Admitted, error) {
	label := r.places.Label(in.Route, false)
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: r.now(), Actor: in.speaker(), Action: "command.denied",
		Object: "/" + cmd.name, Label: label,
		Detail: map[string]string{"conversation": string(in.Route.Conversation), "reason": "not an owner"},
	}}}}
	got := Admitted{Outcome: ledger.OutcomeCommand}
	if in.Route.ChatType == sessions.Direct || fromMenu(in) {
		got.Notice = "Only my owner may use /" + cmd.name + "."
		notice := r.compose.Notice(in.Route, got.Notice)
		got.NoticeID, change.Deliver = notice.ID, []ledger.Delivery{notice}
	}
	return got, r.commitEvent(ctx, in, ledger.OutcomeCommand, change)
}

func (r *Router) commandHelp(_ context.Context, c commandCall) (ledger.Change, string, error) {
	var b strings.Builder
	b.WriteString("Just talk to me. And these commands work, each as a whole message:\n\n")
	for _, spec := range commandTable() {
		if spec.owner && !c.owner {
			continue
		}
		fmt.Fprintf(&b, "- `/%s` – %s\n", spec.name, spec.help)
	}
	return ledger.Change{}, b.String(), nil
}

func (r *Router) commandWhoami(_ context.Context, c commandCall) (ledger.Change, string, error) {
	who, name := "a guest", "no name"
	if c.owner {
		who = "my owner"
	}
	if given, ok := c.quotes.Show(flow.NewText(c.in.Sender.Name, r.places.Label(c.in.Route, c.owner))); ok && given != "" {
		name = visible.CodeSpan(given) // people choose their names: none may read as the gateway's own words
	}
	text := fmt.Sprintf("You are %s (%s), %s.", visible.CodeSpan(c.in.speaker()), name, who)
	if at := c.in.Route; at.ChatType != sessions.Direct {
		text += fmt.Sprintf(" This %s is `%s`.", at.ChatType, at.Conversation)
	}
	return ledger.Change{}, text, nil
}

// commandReset ends the session; what was queued in it before still finishes there.
func (r *Router) commandReset(_ context.Context, c commandCall) (ledger.Change, string, error) {
	if c.fresh {
		return ledger.Change{}, "This is a new session already.", nil
	}
	change, _, kept := r.places.Renew(c.in.arrival(), c.owner, c.session, "asked for")
	if kept != "" {
		return change, "I may not forget this conversation: a rule forbids it. My owner can see why with `sluice audit list`.", nil
	}
	return change, "A new session has begun. I have forgotten what we said here.", nil
}

func (r *Router) commandStop(ctx context.Context, c commandCall) (ledger.Change, string, error) {
	if c.fresh {
		return ledger.Change{}, "There is nothing to stop.", nil
	}
	waiting, err := r.store.WaitingRuns(ctx, c.session.ID, queue.MaxWaiting)
	if err != nil {
		return ledger.Change{}, "", fmt.Errorf("read queue: %w", err)
	}
	waiting = slices.DeleteFunc(waiting, func(run sessions.Run) bool { return run.Kind == sessions.KindNote }) // which no stop is for
	change, err := r.sessions.Stop(ctx, c.session.ID)
	if err != nil {
		return ledger.Change{}, "", err
	}
	if len(waiting) == 0 && len(change.Exchanges) == 0 {
		return ledger.Change{}, "There is nothing to stop.", nil
	}
	change.Audit = []sessions.AuditEntry{r.sessions.Stopped(c.session.ID, c.in.speaker())}
	return change, fmt.Sprintf("Stopped; %d waiting messages are left unanswered. Sub-agents of this conversation are stopped too.", peopleWaiting(waiting)), nil
}
