// Package summarize asks a model for a summary of a conversation, and counts what that costs to the run that asked.
package summarize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// ClipMax and clipMin bound how much of one message is summarized, in bytes.
const ClipMax, clipMin = 4000, 250

// Request asks for the gist of messages.
type Request struct {
	Prompt    string
	Messages  []sessions.Message
	Label     flow.Label // of what the messages say
	MaxTokens int        // tokens of the answer; 0: the provider's default
}

// ErrEmpty is the cause of the error if the model has answered without a text.
var ErrEmpty = errors.New("the summary is empty")

// Of asks a model for the gist of messages, with shorter extracts while they are
// too long for it. What it costs is counted to the run that ctx belongs to. A model
// that may not be told so much is [sessions.ErrModelLevel]; it is not asked.
func Of(ctx context.Context, model sessions.Model, r Request) (string, error) {
	if !(policy.Subject{Taint: r.Label}).MayTell(policy.CheckModel, sessions.ModelLevel(model)) {
		return "", fmt.Errorf("summarize thread: %w", sessions.ErrModelLevel)
	}
	for clip := ClipMax; ; clip /= 2 {
		request := sessions.Request{System: r.Prompt, MaxTokens: r.MaxTokens, Label: r.Label, Messages: []sessions.Message{{
			Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(Transcript(r.Messages, clip), r.Label)},
		}}}
		completion, err := model.Complete(ctx, request, func(sessions.Chunk) {})
		if me, ok := errors.AsType[*sessions.ModelError](err); ok && me.Kind == sessions.ModelOverflow && clip > clipMin {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("summarize thread: %w", err)
		}
		countGist(ctx, completion.Usage)
		summary := sessions.Message{Parts: completion.Parts}.Text()
		if summary == "" {
			return "", fmt.Errorf("summarize thread: %w", &sessions.ModelError{Kind: sessions.ModelRefused, Model: model.Name(), Err: ErrEmpty})
		}
		return summary, nil
	}
}

// Tally is what a run has used. A tool that was left behind may still add to it.
type Tally struct {
	mu  sync.Mutex
	sum sessions.Usage
}

// Add adds what a completion has used.
func (t *Tally) Add(u sessions.Usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum = t.sum.Add(u)
}

// Get is the sum so far.
func (t *Tally) Get() sessions.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}

// usageKey finds in a context what the run has used: tools that ask a model add to it.
type usageKey struct{}

// Counting is a context whose completions are counted to sum.
func Counting(ctx context.Context, sum *Tally) context.Context {
	return context.WithValue(ctx, usageKey{}, sum)
}

func countGist(ctx context.Context, u sessions.Usage) {
	if sum, ok := ctx.Value(usageKey{}).(*Tally); ok {
		sum.Add(u)
	}
}

// Transcript writes messages as a text, each clipped to its beginning and end.
func Transcript(messages []sessions.Message, clip int) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "[%s]\n", m.Role)
		for _, p := range m.Parts {
			switch p.Type {
			case sessions.PartText, sessions.PartToolResult:
				b.WriteString(clipText(p.Text, clip))
			case sessions.PartToolCall:
				fmt.Fprintf(&b, "calls %s %s", p.Tool, clipText(string(p.Args), clip))
			case sessions.PartAttachment:
				fmt.Fprintf(&b, "sends a %s %s", p.Attachment.Kind, sessions.HeadWord(p.Attachment.Name))
			default:
				continue
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// clipText keeps the first three quarters and the last quarter of what fits.
func clipText(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := s[:most*3/4], s[len(s)-most/4:]
	return strings.ToValidUTF8(head, "") + " […] " + strings.ToValidUTF8(tail, "")
}

// Trouble says in a few words why a model did not answer.
func Trouble(k sessions.ModelErrorKind) string {
	switch k {
	case sessions.ModelRateLimited:
		return "too many requests"
	case sessions.ModelOverloaded:
		return "it is overloaded"
	case sessions.ModelCut:
		return "its responses break off"
	default:
		return "no connection"
	}
}
