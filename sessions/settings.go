package sessions

import (
	"cmp"
	"fmt"
)

// Patch sets settings of this session, in memory until it is stored. The id may be
// left out. A value that is none is an error, and nothing is set.
func (s *Session) Patch(p Patch) error {
	if err := p.Check(); err != nil {
		return fmt.Errorf("patch session: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.Apply(&s.record)
	s.settings = s.settings.Join(p)
	return nil
}

// Adopt takes the settings of a record that was read again, so that a session that is
// kept open follows what others have patched. What this session has patched itself and not stored stays.
func (s *Session) Adopt(record Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if record.ID != s.record.ID {
		return
	}
	record.Settings().Apply(&s.record)
	s.settings.Apply(&s.record)
}

// Thinking is how much the model may reason: as the session's record says, else the agent.
func (s *Session) Thinking() ThinkingLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thinking()
}

func (s *state) thinking() ThinkingLevel { return cmp.Or(s.record.ThinkingLevel, s.agent.Thinking) }

// Verbose is how much of the work people are shown: as the session's record says, else the agent, else off.
func (s *Session) Verbose() VerboseLevel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.record.VerboseLevel, s.agent.Verbose, VerboseOff)
}
