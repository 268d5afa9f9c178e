package chain

import (
	"cmp"

	"sluice/internal/picture"
	"sluice/sessions"
)

// Ability is a set of things that a model can do.
type Ability uint8

// The abilities.
const (
	Pictures Ability = 1 << iota
	Audio
	Tools
	Thinking
	Structured // answers that follow a JSON Schema
)

var abilityNames = []string{"pictures", "audio", "tools", "thinking", "structured"}

// AbilityNames are the names of the abilities in the configuration.
func AbilityNames() []string { return append([]string(nil), abilityNames...) }

// AbilityOf is the set of the named abilities; unknown names are left out.
func AbilityOf(names []string) (set Ability) {
	for _, name := range names {
		for i, known := range abilityNames {
			if name == known {
				set |= 1 << i
			}
		}
	}
	return set
}

// Names are the names of the abilities of a set.
func (a Ability) Names() []string {
	names := []string{}
	for i, name := range abilityNames {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Capabilities are what is known about a model.
type Capabilities struct {
	Window int // tokens of a prompt and its answer; 0: unknown
	Has    Ability
	Lacks  Ability // what is in neither is tried
	// Picture is how large its pictures are, at most.
	Picture picture.Limits
}

// With is what is known when more is said: what is said counts before what was known.
func (c Capabilities) With(more Capabilities) Capabilities {
	if more.Window > 0 {
		c.Window = more.Window
	}
	c.Picture.Side = cmp.Or(more.Picture.Side, c.Picture.Side)
	c.Picture.Bytes = cmp.Or(more.Picture.Bytes, c.Picture.Bytes)
	c.Has = c.Has&^more.Lacks | more.Has
	c.Lacks = c.Lacks&^more.Has | more.Lacks
	return c
}

// needs is what a model must be able to do for a request.
func needs(req *sessions.Request) (set Ability) {
	if len(req.Tools) > 0 {
		set |= Tools
	}
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			if isPicture(&req.Messages[i].Parts[j]) {
				return set | Pictures
			}
		}
	}
	return set
}

func isPicture(p *sessions.Part) bool {
	return p.Type == sessions.PartAttachment && len(p.Content) > 0 && p.Attachment.IsPicture()
}

// bytesPerToken is a rough estimate that rather counts too few tokens: a prompt that does not fit is refused by the
// provider, and one that is left out for nothing gets no answer.
const bytesPerToken = 5

// tokens is about how many tokens a prompt has at least.
func tokens(req *sessions.Request) int {
	size := len(req.System)
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			p := &req.Messages[i].Parts[j]
			size += len(p.Text) + len(p.Args)
		}
	}
	for i := range req.Tools {
		size += len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	return size / bytesPerToken
}
