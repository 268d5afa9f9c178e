// Package prompt makes system prompts from templates and from the files in which an owner instructs an agent.
package prompt

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
	"unicode"

	"sluice/sessions/address"
)

// promptMax is the size of a system prompt that a template makes, in bytes, at most.
const promptMax = 256 << 10

// titleMax is how much of a conversation's title a prompt shows, in runes: people outside write it.
const titleMax = 120

// TemplateData is what a system prompt's template can use.
type TemplateData struct {
	Agent        AgentData
	Now          time.Time
	Channel      string           // platform on which the session was last spoken to; empty for none
	ChatType     address.ChatType // of that conversation
	Conversation string           // its title, on one line and clipped: text from outside, not to be obeyed
	Session      SessionData
	Workspace    string // the agent's folder; empty for none
	Instructions string // content of the first of LocalAgentsFileNames in the workspace; empty for none
	Spine        string // content of SpineFileName in the workspace; empty for none
}

// AgentData is an agent as templates see it.
type AgentData struct {
	ID   string
	Name string // how it calls itself; its id where it has no name
}

// SessionData is a session as templates see it.
type SessionData struct {
	Key address.Key
}

// Prompt is a system prompt as a template. It is safe for concurrent use.
type Prompt struct {
	template     *template.Template
	instructions bool // it uses .Instructions
	spine        bool // it uses .Spine
	bare         bareFolder
}

// ParsePrompt reads a template in the language of text/template over [TemplateData].
// What [TemplateData] does not have is an error that names it.
func ParsePrompt(text string) (*Prompt, error) {
	parsed, err := template.New("system prompt").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse prompt: %w", err)
	}
	fields := &fieldCheck{tree: parsed.Tree, used: map[string]bool{}}
	if parsed.Tree != nil {
		fields.list(parsed.Root, templateData())
	}
	if err := errors.Join(fields.errs...); err != nil {
		return nil, fmt.Errorf("parse prompt: %w", err)
	}
	p := &Prompt{template: parsed, instructions: fields.used["Instructions"], spine: fields.used["Spine"]}
	for _, sample := range []TemplateData{{}, sampleData()} {
		if _, err := p.Execute(sample); err != nil {
			return nil, fmt.Errorf("parse prompt: %w", err)
		}
	}
	return p, nil
}

// sampleData has a value in each field, so that both ways of each condition are tried.
func sampleData() TemplateData {
	return TemplateData{
		Agent: AgentData{ID: "main", Name: "Main"}, Now: time.Unix(1, 0).UTC(), Channel: "telegram", ChatType: address.Group,
		Conversation: "Team", Session: SessionData{Key: "agent:main:main"}, Workspace: "/workspace", Instructions: "Be brief.", Spine: "Remember names.",
	}
}

// Execute makes the system prompt.
func (p *Prompt) Execute(data TemplateData) (string, error) {
	var out boundedText
	if err := p.template.Execute(&out, data); err != nil {
		return "", fmt.Errorf("make system prompt: %w", err)
	}
	return out.String(), nil
}

// Render makes the system prompt. It reads the owner's files in the workspace if the template uses them.
func (p *Prompt) Render(data TemplateData) (string, error) {
	if !p.instructions && !p.spine || p.bare.is(data.Workspace) {
		return p.Execute(data)
	}
	var err error
	if p.instructions {
		if _, data.Instructions, err = ReadInstructions(data.Workspace); err != nil {
			return "", fmt.Errorf("make system prompt: %w", err)
		}
	}
	if p.spine {
		if data.Spine, err = ReadSpine(data.Workspace); err != nil {
			return "", fmt.Errorf("make system prompt: %w", err)
		}
	}
	return p.Execute(data)
}

// boundedText is a text that refuses to grow beyond what a prompt may be.
type boundedText struct{ strings.Builder }

func (b *boundedText) Write(p []byte) (int, error) {
	if b.Len()+len(p) > promptMax {
		return 0, fmt.Errorf("it has more than %d bytes", promptMax)
	}
	return b.Builder.Write(p)
}

// OneLine is a text from outside without line breaks and control characters, and not long.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	runes := []rune(strings.TrimSpace(text))
	if len(runes) > titleMax {
		return string(runes[:titleMax]) + "…"
	}
	return string(runes)
}

// HeadWord makes a name from outside safe for the beginning of a line that names a speaker. The result is short, on one line,
// and has no invisible characters and none of the characters that end such a name. So no name can end the line or look
// like another speaker's.
func HeadWord(text string) string { return strings.TrimSpace(heads.Replace(OneLine(text))) }

// heads replaces the characters that end a speaker's name, and those that look like them.
var heads = strings.NewReplacer(":", "·", "：", "·", "﹕", "·", "꞉", "·", "∶", "·", "ː", "·", "︓", "·", "[", "(", "［", "(", "]", ")", "］", ")")
