package sessions

import (
	"cmp"
	"fmt"
)

// Patch sets settings of this session, in memory until it is stored. The id may be
// left out. An invalid value is an error, and nothing is set.
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

// TemperatureOverride is the session's own temperature, which stays when its model changes; nil: the agent's.
func (s *Session) TemperatureOverride() *float32 { return s.current().Temperature.Value() }

// MaxTokensOverride is the session's own limit of an answer's tokens, which stays when its model changes; nil: the agent's.
func (s *Session) MaxTokensOverride() *int {
	if n := s.current().MaxTokens; n > 0 {
		return &n
	}
	return nil
}

// MaxTokens is the limit of an answer's tokens: as the session's record says, else the agent; 0 leaves it to the provider.
func (s *Session) MaxTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.maxTokens()
}

func (s *state) maxTokens() int { return cmp.Or(s.record.MaxTokens, s.agent.MaxTokens) }

// temperature is what the model is asked to take: as the record says, else the agent, but at most what the model takes.
func (s *state) temperature() *float32 {
	t := cmp.Or(s.record.Temperature, s.agent.Temperature).Value()
	if t != nil {
		*t = min(*t, MaxTemperature(s.model))
	}
	return t
}
