package policy

import (
	"fmt"
	"slices"
	"strings"

	"sluice/policy/flow"
	"sluice/sessions"
)

// KindNotice is the delivery kind of the gateway's own words. They answer
// commands, so the send policy does not gate them: /send on must always answer.
const KindNotice = "notice"

// KindCommand is the delivery kind of answers to commands that took their turn; they are the gateway's own words too.
const KindCommand = "command"

// anyGroup is the entry for the groups that are not listed.
const anyGroup = "*"

// Sink is the level of a channel and of the places in it that have a level of
// their own. A place without one has the channel's; an invalid channel level is PUBLIC.
type Sink struct {
	Level         flow.Level
	Accounts      map[string]flow.Level
	Spaces        map[string]flow.Level // by [sessions.Route.Space]
	Conversations map[sessions.ConversationID]flow.Level
}

// Gate is the one way out. It is immutable and safe for concurrent use; a new
// configuration is a new Gate.
type Gate struct {
	sinks map[string]Sink
	send  *SendPolicy
}

// NewGate makes a gate. A channel that is not among the sinks is PUBLIC; a nil send policy allows everything.
func NewGate(sinks map[string]Sink, send *SendPolicy) *Gate {
	if send == nil {
		send = &SendPolicy{}
	}
	return &Gate{sinks: sinks, send: send}
}

// SinkLevel is the highest level that may be said by a route: the lowest of channel, account, space and conversation.
func (g *Gate) SinkLevel(route sessions.Route) flow.Level {
	sink, ok := g.sinks[route.Channel]
	if !ok || !sink.Level.Valid() {
		return flow.Public
	}
	level := sink.Level
	if l, ok := sink.Accounts[route.Account]; ok && l.Valid() {
		level = flow.Min(level, l)
	}
	level = flow.Min(level, sink.spaceLevel(route))
	if l, ok := sink.Conversations[route.Conversation]; ok && l.Valid() {
		level = flow.Min(level, l)
	}
	return level
}

// spaceLevel is the level of the space that a group is in. A program may not say
// in which it is; it might then be in any, and the lowest counts.
func (s Sink) spaceLevel(route sessions.Route) flow.Level {
	level := s.Level
	if route.ChatType == sessions.Direct {
		return level
	}
	for space, l := range s.Spaces {
		if l.Valid() && (route.Space == "" || space == route.Space) {
			level = flow.Min(level, l)
		}
	}
	return level
}

// otherLevel is the level of a group of which neither it nor its space is listed: that of the group "*". It bounds what
// is said there, not what is heard: which id a group is listed under is known on the way out alone.
func (s Sink) otherLevel(e *Egress) flow.Level {
	_, now := s.Conversations[e.Route.Conversation]
	_, before := s.Conversations[e.Oldest]
	_, space := s.Spaces[e.Route.Space]
	l := s.Conversations[anyGroup]
	if now || before || space || !l.Valid() || e.Route.ChatType == sessions.Direct {
		return flow.Restricted
	}
	return l
}

// Decide says whether a text may leave, and why. It has no effects.
func (g *Gate) Decide(e Egress) Decision {
	d := Decision{Rules: make([]Looked, 0, 3+len(g.send.deny)+len(g.send.allow))}
	level := flow.Min(g.SinkLevel(e.Route), g.sinks[e.Route.Channel].otherLevel(&e))
	if old := e.Route; e.Oldest != "" {
		old.Conversation = e.Oldest
		level = flow.Min(level, g.SinkLevel(old))
	}
	detail := "text " + e.Label.Level().String() + ", place " + level.String()
	if !e.Label.FlowsTo(level) {
		d.look(RuleFlow, true, Block, detail)
		d.Action, d.Reason = Block, g.held(&e, level)
		return d
	}
	d.look(RuleFlow, false, Block, detail)
	if e.Kind == KindNotice || e.Kind == KindCommand {
		d.Action, d.Reason = Allow, "the gateway's own words are not gated by the send policy"
		return d
	}
	g.send.decide(&e, &d)
	return d
}

// held says why the flow check blocks, and what to raise: each place that is below the text, as all of them count.
func (g *Gate) held(e *Egress, level flow.Level) string {
	if !e.Label.Valid() {
		return "the text's label was lost, so that it may go nowhere; begin a new session with /new"
	}
	sink := g.sinks[e.Route.Channel]
	var raise []string
	if !e.Label.FlowsTo(sink.Level) {
		raise = append(raise, "channels."+e.Route.Channel+".classification")
	}
	if l := sink.Accounts[e.Route.Account]; l.Valid() && !e.Label.FlowsTo(l) {
		raise = append(raise, "the classification of account "+e.Route.Account)
	}
	if l := sink.spaceLevel(e.Route); l != sink.Level && !e.Label.FlowsTo(l) {
		raise = append(raise, "the classification of its guild or workspace")
	}
	if !e.Label.FlowsTo(sink.otherLevel(e)) {
		raise = append(raise, `the classification of group "*"`)
	}
	for _, id := range slices.Compact([]sessions.ConversationID{e.Route.Conversation, e.Oldest}) {
		if l := sink.Conversations[id]; l.Valid() && !e.Label.FlowsTo(l) {
			raise = append(raise, "the classification of conversation "+string(id))
		}
	}
	return fmt.Sprintf("the text is %s and %s may carry %s at most; raise %s, or begin a new session with /new",
		e.Label.Level(), place(e.Route), level, strings.Join(raise, " and "))
}

func place(r sessions.Route) string {
	if r.Conversation == "" {
		return "channel " + r.Channel
	}
	return fmt.Sprintf("%s conversation %s", r.Channel, r.Conversation)
}

// look records a rule that was looked at.
func (d *Decision) look(rule string, matched bool, action Action, detail string) {
	d.Rules = append(d.Rules, Looked{Rule: rule, Matched: matched, Action: action, Detail: detail})
}
