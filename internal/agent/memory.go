package agent

import (
	"cmp"
	"unicode/utf8"

	"sluice/policy/flow"
	"sluice/sessions"
)

// MemorySettings say what an agent remembers.
type MemorySettings struct {
	Namespace  string // the agents that share it; empty: the agent's id
	Shared     bool   // every conversation reads what all of them have told
	MaxEntries int    // of one audience at one level; 0: [memoryEntries]
	MaxBytes   int64  // of one audience at one level, former versions included; 0: [memoryBytes]
	Recall     int    // characters of what is put into a prompt by itself; 0: nothing
}

// The bounds where the settings have none.
const (
	memoryEntries = 200_000
	memoryBytes   = 256 << 20
)

// namespace is where an agent's memories are.
func (d Definition) namespace() string { return cmp.Or(d.Memory.Namespace, d.ID) }

// memoryScope is what a caller sees: its own audience at its own level and below. Who has
// the owners' audience, or an agent that shares, sees all audiences of the namespace.
func (l *Loop) memoryScope(d Definition, audience sessions.Audience, level flow.Level) sessions.MemoryScope {
	s := sessions.MemoryScope{Namespace: d.namespace(), Audience: audience, MaxLevel: level, Now: l.now()}
	if audience == sessions.AudienceOwner || d.Memory.Shared {
		s.Audience = ""
	}
	return s
}

// cutText is the beginning of a text with whole characters, at most so many bytes.
func cutText(text string, most int) (cut string, shorter bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], true
}
