package router

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

// What a person who is not admitted yet hears of the gateway, and what an owner hears of a group that is not.
const (
	whoamiEvery = time.Hour
	// whoamiSlots is how many strangers of an account are told their id in whoamiEvery at most. A person has one of the slots.
	whoamiSlots = 64
)

// whoamiKey names the answer to a stranger's /whoami: each is told once in whoamiEvery, and not more than whoamiSlots are.
func whoamiKey(in Admission, now time.Time) string {
	slot := fnv.New32a()
	_, _ = slot.Write([]byte(in.Sender.ID)) // never fails
	return fmt.Sprintf("whoami/%s/%s/%d/%d", in.Route.Channel, in.Route.Account, now.Unix()/int64(whoamiEvery/time.Second), slot.Sum32()%whoamiSlots)
}

// asksWhoami reports whether somebody who is not admitted asks for their own id in a direct chat.
func asksWhoami(in Admission, how place.Admit) bool {
	c, ok := commands.Of(in.Inbound)
	return (how == place.AdmitPairing || how == place.AdmitNone) && in.Route.ChatType == sessions.Direct && !in.Sender.Bot && in.Press == "" && ok && c.Name == "whoami"
}

// tellStranger tells a stranger their id, which an owner needs to let them in, and nothing else. Who has asked before hears no
// more of it for a while.
func (r *Router) tellStranger(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	text := "You are " + visible.CodeSpan(sessions.Principal(in.Route.Channel, in.Sender.ID)) + "."
	d := r.compose.Notice(in.Route, text)
	d.Idempotency = whoamiKey(in, r.now())
	told, err := r.alreadyTold(ctx, d.Idempotency)
	if err != nil {
		return Admitted{}, err
	}
	if told {
		return r.refuse(ctx, s, in)
	}
	err = r.commitEvent(ctx, in, ledger.OutcomeCommand, ledger.Change{Deliver: []ledger.Delivery{d}})
	return Admitted{Outcome: ledger.OutcomeCommand, Notice: text, NoticeID: d.ID}, err
}

// alreadyTold reports whether a notice that is given once was given before.
func (r *Router) alreadyTold(ctx context.Context, key string) (bool, error) {
	_, err := r.store.DeliveryByIdempotency(ctx, key)
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read earlier notice: %w", err)
	}
	return true, nil
}

// addressesUnlisted reports whether an owner speaks to the bot in a group that the configuration does not admit.
func addressesUnlisted(in Admission, how place.Admit, owner bool) bool {
	return owner && how == place.AdmitCommand && in.Mentioned && !in.Edited && !commands.FromMenu(in.Inbound) && !commands.Given(in.Inbound)
}

// tellUnlisted tells an owner in their own chat, once for a group, what to set so that the bot answers there. In the group
// nothing is said.
func (r *Router) tellUnlisted(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	a, ok := r.adapter(in.Route.Channel, in.Route.Account)
	if !ok {
		return r.refuse(ctx, s, in)
	}
	key := fmt.Sprintf("unlisted/%s/%s/%s", in.Route.Channel, in.Route.Account, in.Route.Conversation)
	told, err := r.alreadyTold(ctx, key)
	if err != nil {
		return Admitted{}, err
	}
	if told {
		return r.refuse(ctx, s, in)
	}
	within, cancel := context.WithTimeout(ctx, outbound.DirectoryWithin)
	defer cancel()
	d := r.compose.Delivery(ledger.KindNotice, r.Routes.Direct(within, a, in.Sender.ID), unlistedText(in.Route, s.Channels[in.Route.Channel].GroupPolicy), flow.NewLabel(r.places.Label(in.Route, false).Level(), flow.Untrusted))
	d.Idempotency = key
	r.metrics.ignored.WithLabelValues(in.Route.Channel, "access").Inc()
	return Admitted{Outcome: ledger.OutcomeIgnored}, r.commitEvent(ctx, in, ledger.OutcomeIgnored, ledger.Change{Deliver: []ledger.Delivery{d}})
}

// unlistedText says which lines of the configuration admit a group.
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
	return fmt.Sprintf("You wrote to me in a %s on %s (%s%s). I can't answer there, because the configuration does not list it. To allow it, add this:\n\n```yaml\n%s```\n\nI tell you this once for each group.",
		at.ChatType, at.Channel, name, visible.CodeSpan(string(at.Conversation)), lines)
}

// requestPairing has an unknown person ask to be admitted.
func (r *Router) requestPairing(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	asked, err := r.Pairings.Request(ctx, in.Inbound)
	switch {
	case err != nil:
		return Admitted{}, err
	case asked.Full:
		r.metrics.ignored.WithLabelValues(in.Route.Channel, "pairing_full").Inc()
	}
	if asked.Asked {
		return r.pairingPending(ctx, s, in)
	}
	err = r.commitEvent(ctx, in, ledger.OutcomePairing, asked.Change)
	return Admitted{Outcome: ledger.OutcomePairing, Notice: asked.Notice.Text, NoticeID: asked.Notice.ID}, err
}

// pairingPending tells a person who was told before nothing, unless the platform's own menu needs an answer.
func (r *Router) pairingPending(ctx context.Context, s *place.Settings, in Admission) (Admitted, error) {
	if !commands.FromMenu(in.Inbound) {
		return Admitted{Outcome: ledger.OutcomePairing}, nil
	}
	return r.answerEvent(ctx, s, in, ledger.OutcomePairing, "I don't know you yet. My owner can admit you.")
}
