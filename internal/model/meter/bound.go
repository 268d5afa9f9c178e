package meter

import (
	"sluice/internal/model/wire"
	"sluice/internal/spending"
	"sluice/sessions"
)

// A token has at least one byte, so a text has at most as many tokens as bytes. What providers add around the parts of a
// prompt is bounded by these numbers of tokens.
const (
	aroundPrompt  = 1024
	aroundMessage = 32
	aroundPart    = 256
	aroundTool    = 64
	pictureMax    = 50_000 // of the largest picture that the dearest models take
)

// WorstCase is the most that a request with a limit of its answer can use.
func WorstCase(req *sessions.Request) spending.Amount {
	prompt := aroundPrompt + len(req.System)
	for i := range req.Tools {
		t := &req.Tools[i]
		prompt += aroundTool + len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	for i := range req.Messages {
		prompt += aroundMessage
		for j := range req.Messages[i].Parts {
			prompt += partMax(&req.Messages[i].Parts[j])
		}
	}
	a := spending.Amount{Pictures: pictures(req)}
	a.InputTokens, a.OutputTokens = prompt, req.MaxTokens+wire.ThinkingBudget(req.Thinking)
	return a
}

func partMax(p *sessions.Part) int {
	n := len(p.Text) + len(p.Signature) + len(p.CallID) + len(p.Tool) + len(p.Args)
	if a := p.Attachment; a != nil {
		n += aroundPart + len(a.Name) + len(a.MIME) + len(a.Path) + len(a.Note)
	}
	if len(p.Content) > 0 {
		n += pictureMax
	}
	return n
}

// pictures counts the pictures of a prompt.
func pictures(req *sessions.Request) int {
	n := 0
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			if len(req.Messages[i].Parts[j].Content) > 0 {
				n++
			}
		}
	}
	return n
}
