package place

import (
	"context"
	"fmt"
	"slices"

	"sluice/adapters"
	"sluice/router/queue"
	"sluice/sessions"
)

// group is the configuration of one place in a group, including its topic or thread.
type group struct {
	listed         bool // whether an entry lists it
	requireMention bool
	allow          GroupSettings // the entry whose lists apply
}

// groupAt reads the entry of the conversation, else of its space, else of any other group. Only the first matching
// entry applies, except for its lists of people: missing lists come from the next entry.
func (pl *Places) groupAt(ctx context.Context, ch ChannelSettings, in Arrival) (group, error) {
	route := in.Route
	own, listed, err := pl.conversationSettings(ctx, ch, in)
	if err != nil {
		return group{}, err
	}
	var entries []GroupSettings
	if listed {
		entries = append(entries, own)
	}
	if g, ok := ch.Spaces[route.Space]; ok && route.Space != "" {
		entries = append(entries, g)
	}
	if g, ok := ch.Groups["*"]; ok {
		entries = append(entries, g)
	}
	if len(entries) == 0 {
		return group{requireMention: true}, nil
	}
	at := group{listed: true, requireMention: entries[0].RequireMention}
	if topic, ok := entries[0].Topics[string(route.Thread)]; ok && route.Thread != "" {
		at.requireMention = topic.RequireMention
	}
	if i := slices.IndexFunc(entries, GroupSettings.restricts); i >= 0 {
		at.allow = entries[i]
	}
	return at, nil
}

// conversationSettings finds a group by its current or its oldest id.
func (pl *Places) conversationSettings(ctx context.Context, ch ChannelSettings, in Arrival) (GroupSettings, bool, error) {
	if g, ok := ch.Groups[string(in.Route.Conversation)]; ok {
		return g, true, nil
	}
	oldest, err := pl.oldestOf(ctx, in)
	if err != nil {
		return GroupSettings{}, false, err
	}
	g, ok := ch.Groups[string(oldest)]
	return g, ok, nil
}

// accessGroup admits groups and, if they have lists, the people on them. People in groups are untrusted.
func (pl *Places) accessGroup(ctx context.Context, s *Settings, ch ChannelSettings, in Arrival, owner bool) (Admit, error) {
	at, err := pl.groupAt(ctx, ch, in)
	if err != nil {
		return AdmitNone, err
	}
	admitted := ch.admits(at)
	switch {
	case !admitted && owner:
		return AdmitCommand, nil
	case !admitted, !owner && at.allow.right(in.Inbound) == RightNone:
		return AdmitNone, nil
	case in.Mentioned || in.Press != "":
		return AdmitRun, nil
	}
	return pl.accessUnmentioned(ctx, s, at, in, owner)
}

// inheritedActivation is the activation of a session: its own setting, else that of the conversation that its thread
// belongs to. It is needed only for messages that do not address the bot.
func inheritedActivation(ctx context.Context, store KeyReader, record sessions.Record) (sessions.Activation, error) {
	if record.Activation != sessions.ActivationInherit {
		return record.Activation, nil
	}
	parent, err := conversationOf(ctx, store, record)
	return parent.Activation, err
}

// accessUnmentioned decides about group messages that do not address the bot. The session's own setting overrides the
// configured one, and a further part of a waiting message is worked with it.
func (pl *Places) accessUnmentioned(ctx context.Context, s *Settings, at group, in Arrival, owner bool) (Admit, error) {
	record, err := pl.sessionHere(ctx, s, in)
	if err != nil {
		return AdmitNone, err
	}
	activation, err := inheritedActivation(ctx, pl.Store, record)
	if err != nil {
		return AdmitNone, err
	}
	switch activation {
	case sessions.ActivationAlways:
		return AdmitRun, nil
	case sessions.ActivationMention:
		at.requireMention = true
	}
	switch {
	case !at.requireMention:
		return AdmitRun, nil
	case (owner && in.Command != NoCommand || in.Command == OwnerCommand) && !isEvent(in.Inbound):
		return AdmitCommand, nil // other people's attempts are refused there, and audited
	case record.ID == "" || isEvent(in.Inbound):
		return AdmitHistory, nil
	}
	waiting, err := pl.Store.WaitingRuns(ctx, record.ID, queue.MaxWaiting)
	if err != nil {
		return AdmitNone, fmt.Errorf("read queue: %w", err)
	}
	if queue.Continues(queue.Queued(waiting), in.Sender.ID, in.Route.Lane(), pl.Now()) {
		return AdmitRun, nil
	}
	return AdmitHistory, nil
}

// isEvent reports whether an event changes an earlier message.
func isEvent(in adapters.Inbound) bool { return in.Edited || in.Deleted || in.Reaction != nil }
