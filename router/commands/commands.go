package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/spending"
	"sluice/internal/visible"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

// Store is what the commands read. None of them writes.
type Store interface {
	place.KeyReader
	SendersBelow(ctx context.Context, conversation sessions.Key, limit int) ([]sessions.Record, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
}

// Spending reads the cost of model calls.
type Spending interface {
	// Sums adds up calls, grouped. Those above the query's level do not exist.
	Sums(ctx context.Context, q spending.Query) ([]spending.Sum, error)
}

// Approvals decides about pending tool calls and messages.
type Approvals interface {
	// MayDecide reports whether somebody may decide about an approval.
	MayDecide(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (bool, error)
	// Verdict is the change that a decision makes; the caller stores it. It returns a [*decider.NotApproverError] if
	// the person may not decide, and a [*request.Error] if it is too late.
	Verdict(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (ledger.Change, ledger.Approval, error)
	// AlwaysChange is the rule that would allow all calls like a waiting one, and the change that saves it and allows the
	// call; the caller stores it. args is a pattern of the arguments; empty: exactly those of the call. The errors are
	// those of Verdict.
	AlwaysChange(ctx context.Context, id ledger.ApprovalID, v decider.Verdict, args json.RawMessage) (ledger.AllowRule, ledger.Change, ledger.Approval, error)
}

// Models names the models of agents. It may be a [ModelChecker] and a [TemperatureChecker] too.
type Models interface {
	ModelName(agent string) string
}

// ProgramKnower is the optional ability of [Models] to know the agents that are programs: their sessions have no model.
type ProgramKnower interface {
	IsProgram(agent string) bool
}

// ModelChecker is the optional ability of [Models] to say whether a model is configured.
type ModelChecker interface {
	// CheckModel returns an error for a model that no session may use. The error names the models that a session with
	// data of the level may use.
	CheckModel(name string, knows flow.Level) error
}

// TemperatureChecker is the optional ability of [Models] to say the highest temperature that a model takes.
type TemperatureChecker interface {
	MaxTemperature(model string) float32
}

// Stops makes the changes that stop sessions.
type Stops interface {
	Stop(ctx context.Context, id sessions.ID) (ledger.Change, error)
	Stopped(id sessions.ID, actor string) sessions.AuditEntry
}

// SendPermissions reports what sessions may send where.
type SendPermissions interface {
	SendPermission(ctx context.Context, record sessions.Record, route sessions.Route) (outbound.SendPermission, error)
}

// Commands works out what chat commands do. All fields are required. It is safe for concurrent use.
type Commands struct {
	Store           Store
	Tree            sessions.Store // the messages of sessions
	Places          *place.Places
	Settings        func() *place.Settings
	Models          Models
	Stops           Stops
	SendPermissions SendPermissions
	Approvals       Approvals
	Jobs            Jobs
	Alerts          Alerts
	Nodes           Nodes // nil: there are no nodes
	// Settle is the change that an owner's decision about a pairing code makes.
	Settle   func(ctx context.Context, code, actor string, to ledger.PairingStatus) (ledger.Pairing, ledger.Change, error)
	Speaks   func() bool // whether replies can be spoken; nil: they can't
	Spending Spending    // nil: the cost of model calls is not shown
	Now      func() time.Time
}

// Call is a command, with its sender and its place.
type Call struct {
	In      place.Arrival
	Token   *decider.Token // the token of the program that gave it; nil for people
	Owner   bool
	Args    string
	Session sessions.Record
	Fresh   bool // the conversation has no session yet; Session is the one that would be created
	// Quotes shows what others set or said, as far as the conversation may carry it. It gives the answer its label.
	Quotes *policy.Quotation
}

// private reports whether an owner alone reads the answer.
func (c Call) private() bool { return c.Owner && c.In.Route.ChatType == sessions.Direct }

// May reports whether the sender may give a command. It does not need the call's session.
func (k *Commands) May(ctx context.Context, name string, c Call) (bool, error) {
	s := specOf(name)
	switch {
	case c.Owner, !s.owner && (!s.ownerArgs || c.Args == ""):
		return true, nil
	case s.others == nil:
		return false, nil
	}
	return s.others(k, ctx, c)
}

// Execute works out what a command does.
func (k *Commands) Execute(ctx context.Context, name string, c Call) (a Answer, err error) {
	switch s := specOf(name); {
	case s.order != nil:
		a.Order, a.Text, err = s.order(k, ctx, c)
	case s.answer != nil:
		return s.answer(k, ctx, c)
	default:
		a.Change, a.Text, err = s.run(k, ctx, c)
	}
	return a, err
}

func (k *Commands) help(_ context.Context, c Call) (ledger.Change, string, error) {
	return ledger.Change{}, helpText(c.Owner), nil
}

// helpText lists the commands that the reader may use.
func helpText(owner bool) string {
	var b strings.Builder
	b.WriteString("Just talk to me. You can also send one of these commands as a message:\n\n")
	for _, spec := range table() {
		if spec.owner && !owner {
			continue
		}
		fmt.Fprintf(&b, "- `/%s` – %s\n", spec.name, spec.help)
	}
	return b.String()
}

func (k *Commands) whoami(_ context.Context, c Call) (ledger.Change, string, error) {
	who, name := "a guest", "no name"
	if c.Owner {
		who = "my owner"
	}
	if given, ok := c.Quotes.Show(flow.NewText(c.In.Sender.Name, k.Places.Label(c.In.Route, c.Owner))); ok && given != "" {
		name = visible.CodeSpan(given) // people choose their own names: a name must not look like the gateway's words
	}
	text := fmt.Sprintf("You are %s (%s), %s.", visible.CodeSpan(c.In.Speaker()), name, who)
	if at := c.In.Route; at.ChatType != sessions.Direct {
		text += fmt.Sprintf(" This %s is `%s`.", at.ChatType, at.Conversation)
	}
	return ledger.Change{}, text, nil
}

// reset ends the session. Runs queued before it still finish in the old session.
func (k *Commands) reset(_ context.Context, c Call) (ledger.Change, string, error) {
	if c.Fresh {
		return ledger.Change{}, "This session is already new.", nil
	}
	change, _, kept := k.Places.Renew(c.In, c.Owner, c.Session, "asked for")
	if kept != "" {
		return change, "A rule does not let me forget this conversation. My owner can see why with `sluice audit list`.", nil
	}
	return change, "New session started. I have forgotten our earlier messages here.", nil
}

func (k *Commands) stop(ctx context.Context, c Call) (ledger.Change, string, error) {
	const nothing = "There is nothing to stop."
	if c.Fresh {
		return ledger.Change{}, nothing, nil
	}
	waiting, err := k.Store.WaitingRuns(ctx, c.Session.ID, queue.MaxWaiting)
	if err != nil {
		return ledger.Change{}, "", fmt.Errorf("read queue: %w", err)
	}
	waiting = slices.DeleteFunc(waiting, func(run sessions.Run) bool { return run.Kind == sessions.KindNote }) // stopping never ends notes
	change, err := k.Stops.Stop(ctx, c.Session.ID)
	if err != nil {
		return ledger.Change{}, "", err
	}
	if len(waiting) == 0 && len(change.Exchanges) == 0 {
		return ledger.Change{}, nothing, nil
	}
	change.Audit = []sessions.AuditEntry{k.Stops.Stopped(c.Session.ID, c.In.Speaker())}
	text := "Stopped, including all sub-agents of this conversation."
	if n := peopleWaiting(waiting); n > 0 {
		text += fmt.Sprintf(" Messages left unanswered: %d.", n)
	}
	return change, text, nil
}
