package policy

import (
	"fmt"
	"slices"
	"strings"

	"sluice/policy/flow"
	"sluice/sessions"
)

// KindNotice is the delivery kind of the gateway's own texts. They answer commands, so the send policy does not apply
// to them: /send on must always answer.
const KindNotice = "notice"

// KindCommand is the delivery kind of answers to queued commands; they are the gateway's own texts, too.
const KindCommand = "command"

// anyGroup is the entry for the groups that are not listed.
const anyGroup = "*"

// Sink is the level of a channel and of the places in it that have their own. A place without one has the channel's;
// an invalid channel level is PUBLIC.
type Sink struct {
	Level         flow.Level
	Lookup        func(sessions.ConversationID) flow.Level // the levels of conversations that the configuration does not name; nil: none
	Accounts      map[string]flow.Level
	Spaces        map[string]flow.Level // by [sessions.Route.Space]
	Conversations map[sessions.ConversationID]flow.Level
	// Recipients are levels of people in their direct chats, by user id, and of conversations.
	Recipients map[string]flow.Level
}

// Gate checks every outgoing text. It is immutable and safe for concurrent use; a new configuration is a new Gate.
type Gate struct {
	sinks map[string]Sink
	send  *SendPolicy
	rules *Rules

	secrets *Secrets
}

// NewGate creates a gate. A channel that is not among the sinks is PUBLIC. A nil send policy allows everything, and
// so do nil rules.
func NewGate(sinks map[string]Sink, send *SendPolicy, rules *Rules) *Gate {
	if send == nil {
		send = &SendPolicy{}
	}
	return &Gate{sinks: sinks, send: send, rules: rules}
}

// Hiding is the same gate with redaction of known secrets.
func (g *Gate) Hiding(s *Secrets) *Gate {
	hiding := *g
	hiding.secrets = s
	return &hiding
}

// SinkLevel is the highest level that may be sent on a route: the lowest of channel, account, space, conversation and
// recipient.
func (g *Gate) SinkLevel(route sessions.Route) flow.Level {
	sink, ok := g.sinks[route.Channel]
	if !ok || !sink.Level.Valid() {
		return flow.Public
	}
	level := sink.Level
	if l := sink.Accounts[route.Account]; l.Valid() {
		level = flow.Min(level, l)
	}
	level = flow.Min(level, sink.spaceLevel(route))
	if l := sink.Conversations[route.Conversation]; l.Valid() {
		level = flow.Min(level, l)
	}
	if sink.Lookup != nil {
		level = flow.Min(level, sink.Lookup(route.Conversation))
	}
	return flow.Min(level, sink.recipientLevel(route))
}

// recipientLevel is the level of the recipient: of the conversation, and in a direct chat of the person.
func (s Sink) recipientLevel(route sessions.Route) flow.Level {
	level := flow.Restricted
	if l := s.Recipients[string(route.Conversation)]; l.Valid() {
		level = l
	}
	if l := s.Recipients[string(route.Peer)]; l.Valid() && route.ChatType == sessions.Direct {
		level = flow.Min(level, l)
	}
	return level
}

// lists reports whether a place or its recipient has its own level.
func (s Sink) lists(route sessions.Route) bool {
	_, place := s.Conversations[route.Conversation]
	_, space := s.Spaces[route.Space]
	_, recipient := s.Recipients[string(route.Conversation)]
	_, peer := s.Recipients[string(route.Peer)]
	return place || recipient || space && route.ChatType != sessions.Direct || peer && route.ChatType == sessions.Direct
}

// spaceLevel is the level of a group's space. A program may not name the space; then it might be any of them, and the
// lowest level applies.
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

// otherLevel is the level of a group if neither it nor its space is listed: that of the group "*". It limits only
// what is sent there, because the id under which a group is listed is known only for outgoing texts.
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

// Decide decides whether a text may be sent, and why. With [Egress.Effects] it counts for the rates of rules; there
// is no other effect.
func (g *Gate) Decide(e Egress) Decision {
	d := Decision{Rules: make([]CheckResult, 0, 3+len(g.send.deny)+len(g.send.allow)+len(g.rules.of(PreOutput)))}
	level := g.Carries(e)
	if !g.flows(&e, level, &d) {
		return d
	}
	switch {
	case e.Kind == KindNotice, e.Kind == KindCommand:
		d.Action, d.Reason = Allow, "the send policy does not apply to the gateway's own notices"
	case CheckSend.skipped():
		d.Action = Allow
	default:
		g.send.decide(&e, &d)
	}
	if d.Action == Allow && !CheckOutput.skipped() {
		in := e.input(level)
		g.rules.Decide(&in, &d, e.Effects)
	}
	d.hideIn(g.secrets, e.Text, e.Partial)
	return d
}

// Carries is the highest level that may be sent to a text's destination, considering all ids that the conversation
// has had.
func (g *Gate) Carries(e Egress) flow.Level {
	if e.Reader.Valid() {
		return e.Reader
	}
	sink := g.sinks[e.Route.Channel]
	old := e.Route
	if e.Oldest != "" {
		old.Conversation = e.Oldest
	}
	if e.UnknownPlace && !sink.lists(e.Route) && !sink.lists(old) {
		return flow.Public
	}
	return flow.Min(flow.Min(g.SinkLevel(e.Route), g.SinkLevel(old)), sink.otherLevel(&e))
}

// flows is the fixed flow check.
func (g *Gate) flows(e *Egress, level flow.Level, d *Decision) bool {
	ok := CheckGate.skipped() || e.Label.FlowsTo(level)
	d.addCheck(RuleFlow, !ok, Block, "text "+e.Label.Level().String()+", place "+level.String())
	if !ok {
		d.Action, d.Reason = Block, g.held(e, level)
	}
	return ok
}

// input is a text as rules see it.
func (e *Egress) input(sink flow.Level) Input {
	in := Input{ID: e.ID, Hook: PreOutput, Now: e.Now, Text: e.Text, Parts: e.Parts, Partial: e.Partial, Session: e.Session}
	in.Output = OutputInput{
		Channel: e.Route.Channel, Account: e.Route.Account, To: string(e.Route.Conversation), Thread: string(e.Route.Thread),
		ChatType: string(e.Route.ChatType), Kind: e.Kind, Level: e.Label.Level().Rank(), Sink: sink.Rank(),
	}
	return in
}

// held says why the flow check blocks, and what to change.
func (g *Gate) held(e *Egress, level flow.Level) string {
	if !e.Label.Valid() {
		return "the text's label was lost, so it can't be sent anywhere; start a new session with /new"
	}
	low := g.low(e)
	if len(low) == 0 {
		return fmt.Sprintf("the text is %s, and %s is unknown, because no message has come from there yet; list the place under channels.%s.groups or recipients",
			e.Label.Level(), place(e.Route), e.Route.Channel)
	}
	return fmt.Sprintf("the text is %s, but %s may receive at most %s; raise %s, or start a new session with /new",
		e.Label.Level(), place(e.Route), level, strings.Join(low, " and "))
}

// low lists the settings whose level is below the text's, because all of them apply.
func (g *Gate) low(e *Egress) (raise []string) {
	sink, path := g.sinks[e.Route.Channel], "channels."+e.Route.Channel
	if !e.Label.FlowsTo(sink.Level) {
		raise = append(raise, path+".classification")
	}
	if l := sink.Accounts[e.Route.Account]; l.Valid() && !e.Label.FlowsTo(l) {
		raise = append(raise, path+".accounts."+e.Route.Account+".classification")
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
	for _, id := range slices.Compact([]string{string(e.Route.Conversation), string(e.Oldest), string(e.Route.Peer)}) {
		if l := sink.Recipients[id]; l.Valid() && !e.Label.FlowsTo(l) {
			raise = append(raise, path+".recipients."+id)
		}
	}
	return raise
}

func place(r sessions.Route) string {
	if r.Conversation == "" {
		return "channel " + r.Channel
	}
	return fmt.Sprintf("%s conversation %s", r.Channel, r.Conversation)
}
