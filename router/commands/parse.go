package commands

import (
	"context"
	"slices"
	"strings"

	"sluice/adapters"
	"sluice/policy"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/usertext"
	"sluice/sessions"
)

// Command is a chat command: the whole message is "/name args".
type Command struct {
	Name string
	Args string
}

// spec is one chat command. It has one of run, answer and order.
type spec struct {
	name  string
	help  string
	owner bool // only an owner may give it
	// others reports whether somebody who isn't an owner may give the command too; nil: nobody may.
	others func(k *Commands, ctx context.Context, c Call) (bool, error)
	// ownerArgs: only an owner may give it with an argument; without one, everybody may, and it only shows something.
	ownerArgs bool
	// talk: the text after the name goes to the agent, in a new session.
	talk bool
	// lines: its argument may have several lines.
	lines bool
	// guesses: it takes a code, so only one such command runs at a time.
	guesses bool
	run     func(k *Commands, ctx context.Context, c Call) (ledger.Change, string, error)
	// answer is run for a command whose answer may have buttons.
	answer func(k *Commands, ctx context.Context, c Call) (Answer, error)
	// order makes the order of a command that waits for its turn in the session's queue.
	order ordering
}

// table lists the commands in the order of /help.
func table() []spec {
	return []spec{
		{name: "help", help: "list the commands", run: (*Commands).help},
		{name: "status", help: "show the session, its model and its queue", run: (*Commands).status},
		{name: "whoami", help: "show your id and your role", run: (*Commands).whoami},
		{name: "new", help: "start a new session; /new TEXT starts it with TEXT", talk: true, run: (*Commands).reset},
		{name: "reset", help: "same as /new", talk: true, run: (*Commands).reset},
		{name: "stop", help: "stop my work in this conversation", run: (*Commands).stop},
		{name: "retry", help: "answer the last message again", order: (*Commands).retry},
		{name: "edit", help: "replace your last message and answer again: /edit TEXT", lines: true, order: (*Commands).edit},
		{name: "undo", help: "take back the last turn; /undo N takes back the last N turns", order: (*Commands).undo},
		{name: "branch", help: "list the branches of the last turn; /branch N continues from one", order: (*Commands).branch},
		{name: "compact", help: "replace older messages with a summary", order: (*Commands).compact},
		{name: "usage", help: "show the tokens that this session has used, and what they cost", run: (*Commands).usage},
		{name: "model", help: "show the model; an owner can set it: PROVIDER/MODEL (only this model), auto (others answer if it fails), default, or clear (use failed keys and models again)", ownerArgs: true, run: (*Commands).model},
		{name: "set", help: "show or set how I answer: /set temperature 0.7, /set tokens 4096, /set effort low; default takes it back", owner: true, run: (*Commands).set},
		{name: "temperature", help: "show or set how freely I choose my words: 0 to 2, or default", owner: true, run: (*Commands).temperature},
		{name: "maxtokens", help: "show or set the maximum tokens of a reply: a number or default", owner: true, run: (*Commands).maxTokens},
		{name: "voice", help: "on or off: whether I also speak my replies", ownerArgs: true, run: func(k *Commands, ctx context.Context, c Call) (ledger.Change, string, error) { return voice(ctx, k, c) }},
		{name: "queue", help: "what I do with messages while I work: steer, followup, collect, interrupt or inherit", ownerArgs: true, run: (*Commands).queue},
		{name: "send", help: "on, off or inherit: whether I write in this conversation", owner: true, run: (*Commands).send},
		{name: "activation", help: "mention, always or inherit: which messages I answer in this group", owner: true, run: (*Commands).activation},
		{name: "approve", help: "ID allow, ID deny or ID always: decide what I asked you about; always shows a rule for all calls like it", owner: true, lines: true, others: (*Commands).mayApprove, answer: (*Commands).approve},
		{name: "raise", help: "LEVEL: let me use data up to this level here", owner: true, order: (*Commands).raise},
		{name: "pair", help: "approve CODE or deny CODE: decide whether a person may talk to me", owner: true, guesses: true, run: (*Commands).pair},
		{name: "cron", help: "list jobs; show, pause, resume, run, remove or history with an ID, or add one: /cron add NAME in 20m TEXT", owner: true, lines: true, run: (*Commands).cron},
		{name: "nodes", help: "list programs and devices that are nodes; approve CODE LEVEL, deny CODE, level NODE LEVEL, or revoke NODE", owner: true, guesses: true, run: func(k *Commands, ctx context.Context, c Call) (ledger.Change, string, error) {
			return answerNodes(ctx, k, c)
		}},
		alerting("alerts", "list the open alerts"),
		alerting("ack", "KEY: acknowledge an alert, so that nobody else is notified"),
		alerting("silence", "KEY DURATION: keep an alert quiet, for example 2h"),
		alerting("resolve", "KEY: say that an alert is over"),
		{name: "subagents", help: "list my sub-agents; stop ID or stop all stops them", run: (*Commands).subAgents},
	}
}

// specOf is the command of a name that [Parse] knows.
func specOf(name string) spec {
	all := table()
	return all[slices.IndexFunc(all, func(s spec) bool { return s.name == name })]
}

// Menu lists the chat commands for the platforms' menus.
func Menu() []adapters.Command {
	var menu []adapters.Command
	for _, c := range table() {
		menu = append(menu, adapters.Command{Name: c.name, Description: c.help})
	}
	return menu
}

// Of is the command in an event. The sender must have typed the whole message, now, without forwarding anything. A
// message that was only partly read is not a command, because the missing part may change its meaning.
func Of(in adapters.Inbound) (Command, bool) {
	text := in.Text
	switch {
	case in.Edited || in.Press != "":
		return Command{}, false
	case in.Unread != "" && !policy.CheckUnread.Skipped():
		return Command{}, false
	case usertext.IsForward(in) && policy.CheckForward.Skipped():
		text = in.Quotations[0].Text
	case usertext.IsForward(in):
		return Command{}, false
	}
	return Parse(text)
}

// Given reports whether an event gives a chat command.
func Given(in adapters.Inbound) bool {
	_, ok := Of(in)
	return ok
}

// FromMenu reports whether an event is a command from the platform's own menu. Only its sender sees the answer.
func FromMenu(in adapters.Inbound) bool {
	return in.Route.Handle != "" && strings.HasPrefix(in.Text, "/")
}

// KindOf says whether an event gives a chat command, and who may give it.
func KindOf(in adapters.Inbound) place.CommandKind {
	cmd, ok := Of(in)
	switch {
	case !ok:
		return place.NoCommand
	case specOf(cmd.Name).owner:
		return place.OwnerCommand
	}
	return place.PublicCommand
}

// Parse reads a command. A text without a known command name is an ordinary message. An argument may follow a space
// or a colon. Telegram sends "/start" on first contact; it means /help.
func Parse(text string) (Command, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok {
		return Command{}, false
	}
	name, args := rest, ""
	if i := strings.IndexAny(rest, " :\t"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i+1:])
	}
	name = strings.ToLower(name)
	if name == "start" {
		name = "help"
	}
	known := slices.ContainsFunc(table(), func(c spec) bool {
		return c.name == name && (c.talk || c.lines || !strings.Contains(rest, "\n"))
	})
	return Command{name, args}, known
}

// Says reports whether a command passes its arguments to the agent, in a new session.
func (c Command) Says() bool { return c.Args != "" && specOf(c.Name).talk }

// Guesses reports whether a command takes a code that could be guessed. Only one such command may run at a time, until its
// change is stored.
func (c Command) Guesses() bool { return specOf(c.Name).guesses }

// Answer is what a command does. The caller carries it out.
type Answer struct {
	Text   string          // for the sender of the command
	Change ledger.Change   // to be stored with the text
	Order  *sessions.Order // if not nil, a run carries this out instead
	// Asks and Controls are the buttons of the answer: they work while the approval waits.
	Asks     ledger.ApprovalID
	Controls []ledger.Control
}
