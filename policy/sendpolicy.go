package policy

import (
	"fmt"
	"strings"

	"sluice/sessions"
)

// SendRule allows or denies what matches.
type SendRule struct {
	Match  SendMatch
	Action Action // Allow or Block
}

// SendMatch is the condition of a rule; an empty field matches anything. Letter case matters only in ids: To, Thread
// and the key prefixes.
type SendMatch struct {
	Channel      string
	ChatType     string // direct (or dm), group, channel
	Account      string
	To           string // conversation id
	Thread       string
	Agent        string
	Kind         string // delivery kind
	KeyPrefix    string // of the session's key, with or without its "agent:<id>:"
	RawKeyPrefix string // of the session's whole key
}

const (
	ruleOverride = "override"           // the session's own word, among the rules that a decision looked at
	sendDefault  = "sendPolicy.default" // what holds if no rule matches
)

// SendPolicy is the compiled send policy. Its zero value allows everything.
type SendPolicy struct {
	deny, allow []compiledRule
	byDefault   Action
}

type compiledRule struct {
	name  string // as decisions show it
	match SendMatch
}

// NewSendPolicy compiles rules. The default is Allow, Block, or empty for Allow.
func NewSendPolicy(byDefault Action, rules []SendRule) (*SendPolicy, error) {
	p := &SendPolicy{byDefault: byDefault}
	if byDefault != Allow && byDefault != Block && byDefault != "" {
		return nil, fmt.Errorf("sendPolicy.default: %q is neither allow nor deny", byDefault)
	}
	for i, r := range rules {
		c := compiledRule{name: fmt.Sprintf("sendPolicy.rules[%d]", i), match: r.Match}
		c.match.Kind = strings.ToLower(c.match.Kind)
		if c.match.ChatType = strings.ToLower(c.match.ChatType); c.match.ChatType == "dm" {
			c.match.ChatType = string(sessions.Direct)
		}
		if t := c.match.ChatType; t != "" && !sessions.ChatType(t).Valid() {
			return nil, fmt.Errorf("%s.match.chatType: %q is not direct, group or channel", c.name, r.Match.ChatType)
		}
		switch r.Action {
		case Allow:
			p.allow = append(p.allow, c)
		case Block:
			p.deny = append(p.deny, c)
		default:
			return nil, fmt.Errorf("%s.action: %q is neither allow nor deny", c.name, r.Action)
		}
	}
	return p, nil
}

// decide applies the session's override, else any deny that matches, else any
// allow that matches, else the default. Rules looked at are added to d.
func (p *SendPolicy) decide(e *Egress, d *Decision) {
	switch e.Override {
	case sessions.SendAllow:
		d.addCheck(ruleOverride, true, Allow, "/send on")
		d.Action, d.Reason = Allow, "the session's override allows it (/send on)"
		return
	case sessions.SendDeny:
		d.addCheck(ruleOverride, true, Block, "/send off")
		d.Action, d.Reason = Block, "the session's override forbids it; /send on or /send inherit removes it"
		return
	}
	d.addCheck(ruleOverride, false, "", "")
	if name, ok := firstMatch(p.deny, e, d, Block); ok {
		d.Action, d.Reason = Block, "session."+name+" forbids it; change that rule, or send /send on in the session"
		return
	}
	if name, ok := firstMatch(p.allow, e, d, Allow); ok {
		d.Action, d.Reason = Allow, "session."+name+" allows it"
		return
	}
	d.Action = p.byDefault
	if d.Action == "" {
		d.Action = Allow
	}
	d.addCheck(sendDefault, true, d.Action, "")
	d.Reason = "session." + sendDefault
	if d.Action == Block {
		d.Reason += " forbids what no rule allows; add an allow rule, or send /send on in the session"
	} else {
		d.Reason += " allows it"
	}
}

func firstMatch(rules []compiledRule, e *Egress, d *Decision, action Action) (name string, ok bool) {
	for i := range rules {
		r := &rules[i]
		matched := r.match.matches(e)
		d.addCheck(r.name, matched, action, "")
		if matched {
			return r.name, true
		}
	}
	return "", false
}

func (m *SendMatch) matches(e *Egress) bool {
	return (m.Channel == "" || strings.EqualFold(m.Channel, e.Route.Channel)) &&
		(m.ChatType == "" || m.ChatType == string(e.Route.ChatType)) &&
		(m.Account == "" || strings.EqualFold(m.Account, e.Route.Account)) &&
		(m.To == "" || m.To == string(e.Route.Conversation) || m.To == string(e.Oldest)) &&
		(m.Thread == "" || m.Thread == string(e.Route.Thread)) &&
		(m.Agent == "" || strings.EqualFold(m.Agent, e.Agent)) &&
		(m.Kind == "" || m.Kind == e.Kind) &&
		(m.KeyPrefix == "" || strings.HasPrefix(string(e.Key), m.KeyPrefix) || strings.HasPrefix(e.Key.Bare(), m.KeyPrefix)) &&
		(m.RawKeyPrefix == "" || strings.HasPrefix(string(e.Key), m.RawKeyPrefix))
}
