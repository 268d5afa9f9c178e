package commands

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

func (k *Commands) status(ctx context.Context, c Call) (ledger.Change, string, error) {
	if c.Fresh {
		return ledger.Change{}, "There is no session here yet. Send me a message to start one.", nil
	}
	waiting, err := k.Store.WaitingRuns(ctx, c.Session.ID, queue.MaxWaiting)
	if err != nil {
		return ledger.Change{}, "", fmt.Errorf("read queue: %w", err)
	}
	busy := len(waiting) > len(queue.Queued(waiting))
	override, err := sendLine(ctx, k.Store, c.Session)
	if err != nil {
		return ledger.Change{}, "", err
	}
	levels, err := k.levelLines(ctx, c)
	if err != nil {
		return ledger.Change{}, "", err
	}
	stoodIn, err := stoodIn(ctx, k, c)
	if err != nil {
		return ledger.Change{}, "", err
	}
	used, err := usageLines(ctx, k.Spending, c)
	if err != nil {
		return ledger.Change{}, "", err
	}
	text := fmt.Sprintf("- session `%s` (`%s`)\n- agent %s, model %s%s\n- %s, %d waiting\n%s%s\n- send: %s%s%s",
		c.Session.Key, c.Session.ID, c.Session.Agent, k.modelText(c), stoodIn, busyText(busy), peopleWaiting(waiting),
		used, k.answerLines(c), override, activationLine(c), levels)
	return ledger.Change{}, text, nil
}

// modelText is the session's model, as far as the asker may see it. If it is hidden, the answer looks as if no model
// was set; only an owner in a direct chat learns that one is set.
func (k *Commands) modelText(c Call) string {
	model, ok := c.Quotes.Show(c.Session.Model)
	if !ok && c.private() {
		return "not shown here"
	}
	return visible.CodeSpan(cmp.Or(model, k.Models.ModelName(c.Session.Agent)))
}

// stoodIn is the line of /status that says that another model than the first has answered last.
func stoodIn(ctx context.Context, k *Commands, c Call) (string, error) {
	models := cmp.Or(c.Session.Model.Raw(), k.Models.ModelName(c.Session.Agent))
	first, _, several := strings.Cut(models, ",")
	if !several || c.Session.Head == "" {
		return "", nil
	}
	last, err := k.Tree.Message(ctx, c.Session.ID, c.Session.Head)
	if err != nil || last.Model == "" || last.Model == first {
		return "", err
	}
	name, ok := c.Quotes.Show(flow.NewText(last.Model, last.Label.Join(c.Session.Model.Label())))
	if !ok {
		return "", nil
	}
	return fmt.Sprintf("\n- the last answer is from %s: the first model had failed, or could not take the request", visible.CodeSpan(name)), nil
}

// sendLine says what /send has set for a session or for the conversation that its thread belongs to.
func sendLine(ctx context.Context, store place.KeyReader, record sessions.Record) (string, error) {
	send, err := place.InheritedSend(ctx, store, record)
	if err != nil || send == sessions.SendInherit || record.SendPolicy != sessions.SendInherit {
		return cmp.Or(string(send), "inherit"), err
	}
	return string(send) + ", as in the " + conversationTerm(record.Route.Channel), nil
}

// activationLine is the line of /status that says which group messages are answered.
func activationLine(c Call) string {
	if c.In.Route.ChatType == sessions.Direct {
		return ""
	}
	return "\n- activation: " + cmp.Or(string(c.Session.Activation), "inherit")
}

func busyText(busy bool) string {
	if busy {
		return "working"
	}
	return "idle"
}

// levelLines are the lines of /status about the session's levels. How much a session has learnt is as secret as what
// it has learnt, so only an owner in private sees it. Everyone else always sees the same line.
func (k *Commands) levelLines(ctx context.Context, c Call) (string, error) {
	if !c.Owner {
		return "", nil
	}
	if c.In.Route.ChatType != sessions.Direct {
		return fmt.Sprintf("\n- levels: not shown where others can read them; `sluice sessions show %s` shows them", c.Session.Key), nil
	}
	stands, err := k.SendPermissions.SendPermission(ctx, c.Session, c.In.Route)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("\n- learned: %s\n- may learn: up to %s\n- may be sent here: up to %s", learnt(c.Session.Taint), c.Session.Clearance, stands.Carries)
	if stands.Held != "" {
		text += fmt.Sprintf("\n\nMy replies are withheld here: %s.", stands.Held)
	}
	return text, nil
}

// learnt is a session's label in words.
func learnt(taint flow.Label) string {
	if taint.Trust() == flow.Trusted {
		return taint.Level().String() + ", trusted"
	}
	return taint.Level().String() + ", untrusted (it contains other people's words, so I ask an owner before I write elsewhere)"
}
