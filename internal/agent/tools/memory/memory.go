// Package memory has the tools with which an agent remembers things across sessions, and the automatic part of
// prompts about memories. [Audiences] decides whose memories a run may read.
package memory

import (
	"sluice/internal/agent/roster"
	"sluice/policy/flow"
	"sluice/sessions"
)

// The limits if the configuration sets no others.
const (
	memoryEntries = 200_000
	memoryBytes   = 256 << 20
)

// memoryScope is what a caller sees: its own audience at its own level and below. A caller with the owners' audience,
// or whose agent shares memories, sees all audiences of the namespace.
func (ts *Tools) memoryScope(d roster.Definition, audience sessions.Audience, level flow.Level) sessions.MemoryScope {
	s := sessions.MemoryScope{Namespace: d.Namespace(), Audience: audience, MaxLevel: level, Now: ts.Now()}
	if audience == sessions.AudienceOwner || d.Memory.Shared {
		s.Audience = ""
	}
	return s
}
