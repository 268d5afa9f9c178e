package transcript

import (
	"encoding/json"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Format is the version of the lines.
const Format = 1

// Head is the first line.
type Head struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the program that has written it
	Created time.Time `json:"created"`
}

// line is one line: one of its members is set.
type line struct {
	Sluice  *Head    `json:"sluice,omitempty"`
	Session *session `json:"session,omitempty"`
	Message *message `json:"message,omitempty"`
	End     *end     `json:"end,omitempty"`
}

// end is the last line.
type end struct {
	Sessions int `json:"sessions"`
	Messages int `json:"messages"`
}

// text is a text with its own label.
type text struct {
	Text  string     `json:"text"`
	Label flow.Label `json:"label"`
}

func textOf(t flow.Text, level flow.Level) *text {
	if t.Empty() || !t.Label().FlowsTo(level) {
		return nil
	}
	return &text{t.Raw(), t.Label()}
}

func (t *text) value() flow.Text {
	if t == nil {
		return flow.Text{}
	}
	return flow.NewText(t.Text, t.Label)
}

// session is a session without its messages.
type session struct {
	ID           sessions.ID            `json:"id"`
	Key          sessions.Key           `json:"key"`
	Agent        string                 `json:"agent"`
	SpawnedBy    sessions.ID            `json:"spawnedBy,omitempty"`
	Taint        flow.Label             `json:"taint"`
	Clearance    flow.Level             `json:"clearance"`
	Route        *sessions.Route        `json:"route,omitempty"`
	SendPolicy   sessions.SendPolicy    `json:"sendPolicy,omitempty"`
	Activation   sessions.Activation    `json:"activation,omitempty"`
	Model        *text                  `json:"model,omitempty"`
	Thinking     sessions.ThinkingLevel `json:"thinkingLevel,omitempty"`
	Verbose      sessions.VerboseLevel  `json:"verboseLevel,omitempty"`
	Temperature  sessions.Temperature   `json:"temperature,omitempty"`
	MaxTokens    int                    `json:"maxTokens,omitempty"`
	Voice        bool                   `json:"voice,omitempty"`
	QueueMode    sessions.QueueMode     `json:"queueMode,omitempty"`
	Head         sessions.MessageID     `json:"head,omitempty"`
	Compacted    sessions.MessageID     `json:"compacted,omitempty"`
	Title        *text                  `json:"title,omitempty"`
	Label        *text                  `json:"label,omitempty"`
	Metadata     json.RawMessage        `json:"metadata,omitempty"`
	FileAccess   sessions.FileAccess    `json:"fileAccess"`
	Persistent   bool                   `json:"persistent,omitempty"`
	TTL          time.Duration          `json:"ttl,omitempty"`
	Usage        sessions.Usage         `json:"usage"`
	ContextSize  int                    `json:"contextSize,omitempty"`
	AbortedLast  bool                   `json:"abortedLast,omitempty"`
	Created      time.Time              `json:"created"`
	LastActivity time.Time              `json:"lastActivity"`
	Archived     time.Time              `json:"archived,omitzero"`
}

// sessionOf leaves out the texts above a level: a caller may have given a session a title above what it has learnt.
func sessionOf(r *sessions.Record, level flow.Level) *session {
	s := &session{
		ID: r.ID, Key: r.Key, Agent: r.Agent, SpawnedBy: r.SpawnedBy, Taint: r.Taint, Clearance: r.Clearance, SendPolicy: r.SendPolicy, Activation: r.Activation,
		Model: textOf(r.Model, level), Thinking: r.ThinkingLevel, Verbose: r.VerboseLevel, Temperature: r.Temperature, MaxTokens: r.MaxTokens, Voice: r.Voice, QueueMode: r.QueueMode,
		Head: r.Head, Compacted: r.Compacted, Title: textOf(r.Title, level), Label: textOf(r.Label, level), Metadata: r.Metadata, FileAccess: r.FileAccess, Persistent: r.Persistent, TTL: r.TTL,
		Usage: r.Usage, ContextSize: r.ContextSize, AbortedLast: r.AbortedLast, Created: r.Created.UTC(), LastActivity: r.LastActivity.UTC(),
	}
	if !r.Route.IsZero() {
		place := r.Route.Place()
		s.Route = &place
	}
	if r.Archived {
		s.Archived = r.Ended.UTC()
	}
	return s
}

// record is the session as it is created: its head is stored after its messages.
func (s *session) record(partition int) sessions.Record {
	r := sessions.Record{
		ID: s.ID, Key: s.Key, Agent: s.Agent, Partition: partition, SpawnedBy: s.SpawnedBy, Taint: s.Taint, Clearance: s.Clearance, SendPolicy: s.SendPolicy, Activation: s.Activation,
		Model: s.Model.value(), ThinkingLevel: s.Thinking, VerboseLevel: s.Verbose, Temperature: s.Temperature, MaxTokens: s.MaxTokens, Voice: s.Voice, QueueMode: s.QueueMode,
		Title: s.Title.value(), Label: s.Label.value(), Metadata: s.Metadata, FileAccess: s.FileAccess, Persistent: s.Persistent, TTL: s.TTL,
		Created: s.Created, LastActivity: s.LastActivity,
	}
	if s.Route != nil {
		r.Route = *s.Route
	}
	return r
}

// message is a message of the session before it.
type message struct {
	ID      sessions.MessageID `json:"id"`
	Parent  sessions.MessageID `json:"parent,omitempty"`
	Run     sessions.RunID     `json:"run,omitempty"`
	Role    sessions.Role      `json:"role"`
	Parts   []sessions.Part    `json:"parts"`
	Label   flow.Label         `json:"label"`
	Model   string             `json:"model,omitempty"`
	Usage   sessions.Usage     `json:"usage"`
	Created time.Time          `json:"created"`
	Sender  sessions.Peer      `json:"sender"`
}

func messageOf(m *sessions.Message) *message {
	out := &message{ID: m.ID, Parent: m.Parent, Run: m.Run, Role: m.Role, Parts: m.Parts, Label: m.Label, Model: m.Model, Usage: m.Usage, Created: m.Created.UTC(), Sender: m.Sender}
	out.leaveContents()
	return out
}

// leaveContents removes the references to the contents of attachments: they are not exported, and a file must not name those of
// another session here.
func (m *message) leaveContents() {
	for i := range m.Parts {
		if a := m.Parts[i].Attachment; a != nil && a.Media != "" {
			without := *a
			without.Media = ""
			m.Parts[i].Attachment = &without
		}
	}
}

func (m *message) stored() sessions.Message {
	m.leaveContents()
	return sessions.Message{ID: m.ID, Parent: m.Parent, Run: m.Run, Role: m.Role, Parts: m.Parts, Label: m.Label, Model: m.Model, Usage: m.Usage, Created: m.Created, Sender: m.Sender}
}
