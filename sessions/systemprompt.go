package sessions

import (
	"sluice/sessions/prompt"
)

// SystemPrompt is what the model is told before the thread: the agent's template, rendered
// for each completion, or else its fixed text.
func (s *Session) SystemPrompt() (string, error) {
	s.mu.Lock()
	agent, record := s.agent, s.record
	s.mu.Unlock()
	if agent.Prompt == nil {
		return agent.SystemPrompt, nil
	}
	data := TemplateData{
		Agent: AgentData{ID: agent.ID, Name: agent.Name}, Now: s.now(),
		Channel: record.Route.Channel, ChatType: record.Route.ChatType, Conversation: prompt.OneLine(record.Route.Title),
		Session: SessionData{Key: record.Key}, Workspace: agent.Workspace,
	}
	if data.Agent.Name == "" {
		data.Agent.Name = agent.ID
	}
	return agent.Prompt.Render(data)
}
