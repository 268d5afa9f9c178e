package inbound

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// An account answers at most whoamiSlots strangers in each whoamiEvery. Each person has one slot.
const (
	whoamiEvery = time.Hour
	whoamiSlots = 64
)

// whoamiKey names the answer to a stranger's /whoami. All answers in one slot share it.
func whoamiKey(in Admission, now time.Time) string {
	slot := fnv.New32a()
	_, _ = slot.Write([]byte(in.Sender.ID)) // never fails
	return fmt.Sprintf("whoami/%s/%s/%d/%d", in.Route.Channel, in.Route.Account, now.Unix()/int64(whoamiEvery/time.Second), slot.Sum32()%whoamiSlots)
}

// asksWhoami reports whether a stranger asks for their own id in a direct chat, or for help.
func asksWhoami(in Admission, how place.Admit) bool {
	c, ok := commands.Of(in.Inbound)
	return (how == place.AdmitPairing || how == place.AdmitNone) && in.Route.ChatType == sessions.Direct && !in.Sender.Bot && in.Press == "" && ok && (c.Name == "whoami" || c.Name == "help")
}

// replyToStranger tells a stranger their id and nothing else; an owner needs it to give them access. A stranger who asks
// again gets no answer for a while.
func (i *Intake) replyToStranger(ctx context.Context, in Admission) (Admitted, error) {
	text, key := "You are "+visible.CodeSpan(sessions.Principal(in.Route.Channel, in.Sender.ID))+".", whoamiKey(in, i.Now())
	if c, _ := commands.Of(in.Inbound); c.Name == "help" {
		text, key = "I am a bot, and I don't know you yet. My owner can let you in: send them the id that `/whoami` shows.", "help/"+key
	}
	d := i.Composer.Notice(in.Route, text)
	d.Idempotency = key
	told, err := i.wasSent(ctx, d.Idempotency)
	if err != nil {
		return Admitted{}, err
	}
	if told {
		return i.refuse(ctx, in)
	}
	err = i.commitEvent(ctx, in, ledger.OutcomeCommand, ledger.Change{Deliver: []ledger.Delivery{d}})
	return Admitted{Outcome: ledger.OutcomeCommand, Notice: text, NoticeID: d.ID}, err
}

// wasSent reports whether a one-time notice was sent before.
func (i *Intake) wasSent(ctx context.Context, key string) (bool, error) {
	_, err := i.Store.DeliveryByIdempotency(ctx, key)
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read earlier notice: %w", err)
	}
	return true, nil
}

// addressesUnlisted reports whether an owner speaks to the bot in a group that the configuration does not list.
func addressesUnlisted(in Admission, how place.Admit, owner bool) bool {
	return owner && how == place.AdmitCommand && in.Mentioned && in.Press == "" && !in.Edited && !commands.FromMenu(in.Inbound) && !commands.Given(in.Inbound)
}

// replyToUnlisted tells an owner in their direct chat how to list the group, so that the bot answers there: once per
// group, and never in the group.
func (i *Intake) replyToUnlisted(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	a, ok := i.Adapter(in.Route.Channel, in.Route.Account)
	if !ok {
		return i.refuse(ctx, in)
	}
	key := fmt.Sprintf("unlisted/%s/%s/%s", in.Route.Channel, in.Route.Account, in.Route.Conversation)
	told, err := i.wasSent(ctx, key)
	if err != nil {
		return Admitted{}, err
	}
	if told {
		return i.refuse(ctx, in)
	}
	within, cancel := context.WithTimeout(ctx, outbound.DirectoryTimeout)
	defer cancel()
	d := i.Composer.Delivery(ledger.KindNotice, i.Routes.Direct(within, a, in.Sender.ID), unlistedText(in.Route, s.Channels[in.Route.Channel].GroupPolicy), flow.NewLabel(i.Places.Label(in.Route, false).Level(), flow.Untrusted))
	d.Idempotency = key
	i.Metrics.Ignored.WithLabelValues(in.Route.Channel, "access").Inc()
	return Admitted{Outcome: ledger.OutcomeIgnored}, i.commitEvent(ctx, in, ledger.OutcomeIgnored, ledger.Change{Deliver: []ledger.Delivery{d}})
}

// unlistedText names the configuration lines that admit a group.
func unlistedText(at sessions.Route, policy place.AccessPolicy) string {
	name := ""
	if at.Title != "" {
		name = visible.CodeSpan(at.Title) + ", "
	}
	lines := "channels:\n  " + at.Channel + ":\n"
	if policy == place.AccessDisabled {
		lines += "    groupPolicy: allowlist # it is disabled: I answer in no group\n"
	}
	lines += "    groups:\n      " + strconv.Quote(string(at.Conversation)) + ": { requireMention: true }\n"
	return fmt.Sprintf("You wrote to me in a %s on %s (%s%s). I can't answer there, because the configuration does not list it. To allow it, add this:\n\n```yaml\n%s```\n\nI say this only once for each group.",
		at.ChatType, at.Channel, name, visible.CodeSpan(string(at.Conversation)), lines)
}

// requestPairing registers a stranger who asks for access.
func (i *Intake) requestPairing(ctx context.Context, in Admission) (Admitted, error) {
	asked, err := i.Pairings.Request(ctx, in.Inbound)
	switch {
	case err != nil:
		return Admitted{}, err
	case asked.Full:
		i.Metrics.Ignored.WithLabelValues(in.Route.Channel, "pairing_full").Inc()
	}
	if asked.Asked {
		return i.pairingPending(ctx, in)
	}
	err = i.commitEvent(ctx, in, ledger.OutcomePairing, asked.Change)
	return Admitted{Outcome: ledger.OutcomePairing, Notice: asked.Notice.Text, NoticeID: asked.Notice.ID}, err
}

// pairingPending does not answer a stranger who has asked before, unless the platform's own menu needs an answer.
func (i *Intake) pairingPending(ctx context.Context, in Admission) (Admitted, error) {
	i.Refused.Note(in.Inbound, "the person has asked for access and waits: approve or deny the request")
	if !commands.FromMenu(in.Inbound) {
		return Admitted{Outcome: ledger.OutcomePairing}, nil
	}
	return i.answerEvent(ctx, in, ledger.OutcomePairing, "I don't know you yet. My owner can let you in.")
}
