package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Session is a session record.
type Session struct {
	ID              string          `json:"id"`
	Key             string          `json:"key"`
	Agent           string          `json:"agent"`
	Title           string          `json:"title"`
	Taint           json.RawMessage `json:"taint"`
	Channel         string          `json:"channel"`
	Clearance       string          `json:"clearance"`
	Carries         string          `json:"carries"`
	Held            string          `json:"held"`
	SendPolicy      string          `json:"send_policy"`
	Activation      string          `json:"group_activation"`
	QueueMode       string          `json:"queue_mode"`
	Thinking        string          `json:"thinking_level"`
	Verbose         string          `json:"verbose_level"`
	Temperature     json.Number     `json:"temperature"`
	MaxOutputTokens json.Number     `json:"max_output_tokens"`
	Label           string          `json:"label"`
	Model           string          `json:"model"`
	CreatedAt       Seconds         `json:"created_at"`
	LastActivity    Seconds         `json:"last_activity"`
	Busy            bool            `json:"busy"`
	Persistent      bool            `json:"persistent"`
	TTL             float64         `json:"ttl"`
	Status          string          `json:"status"`
	Metadata        json.RawMessage `json:"metadata"`
}

// State is what the session is doing.
func (s Session) State() string {
	if s.Busy {
		return "busy"
	}
	return s.Status
}

// Seconds is a time in seconds since 1970; zero for no time.
type Seconds float64

// Time is the same as a [time.Time].
func (s Seconds) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(s * 1000))
}

// Unquoted is a JSON string without its quotes, or another JSON value as it is written.
func Unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Transcript is a page of a session's messages, oldest first.
type Transcript struct {
	Messages []Message `json:"messages"`
}

// Message is one message of a transcript.
type Message struct {
	ID     string `json:"id"`
	Role   string `json:"role"`
	Text   string `json:"text"`
	Sender *struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	} `json:"sender"`
	Parts []struct {
		Type string          `json:"type"`
		Text string          `json:"text"`
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args"`
	} `json:"parts"`
}

// Speaker names the author of the message.
func (m Message) Speaker() string {
	if m.Sender != nil && (m.Sender.Name != "" || m.Sender.ID != "") {
		return cmp.Or(m.Sender.Name, m.Sender.ID)
	}
	return m.Role
}

// Words are the message's text and the tools that it used, a line each. short cuts the results of tools.
func (m Message) Words(short func(string) string) string {
	var lines []string
	for _, p := range m.Parts {
		switch {
		case p.Tool != "" && len(p.Args) > 0:
			lines = append(lines, fmt.Sprintf("[%s %s]", p.Tool, p.Args))
		case p.Type == "toolResult":
			lines = append(lines, fmt.Sprintf("[%s: %s]", p.Tool, short(p.Text)))
		case p.Text != "" && p.Type != "thinking":
			lines = append(lines, strings.TrimPrefix(p.Text, m.Speaker()+": ")) // texts from groups begin with their speaker
		}
	}
	if len(lines) == 0 {
		return m.Text
	}
	return strings.Join(lines, "\n")
}

// Turn is the answer to a message that was sent without streaming.
type Turn struct {
	Run      string    `json:"run_id"`
	Status   string    `json:"status"`
	Reply    string    `json:"reply"`
	Withheld *Withheld `json:"withheld"`
}

// Withheld says that there is an answer and that the gate withholds it.
type Withheld struct {
	Message  string `json:"message"`
	Delivery string `json:"delivery"`
	Approval string `json:"approval"`
}

// Line is the message with the command that shows more.
func (w *Withheld) Line() string {
	switch {
	case w.Approval != "":
		return w.Message + " [sluice approvals show " + w.Approval + "]"
	case w.Delivery != "":
		return w.Message + " [sluice deliveries show " + w.Delivery + "]"
	}
	return w.Message
}

// ExchangeList is a page of exchanges.
type ExchangeList struct {
	Exchanges []Exchange `json:"exchanges"`
}

// Exchange is a request that one session made of another, or a sub-agent's task.
type Exchange struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Requester Party     `json:"requester"`
	Target    Party     `json:"target"`
	Phase     string    `json:"phase"`
	Turn      int       `json:"turn"`
	Outcome   string    `json:"outcome"`
	Detail    string    `json:"detail"`
	Name      string    `json:"name"`
	Request   string    `json:"request"`
	FirstRun  string    `json:"first_run"`
	Started   time.Time `json:"started"`
}

// Party is one side of an exchange.
type Party struct {
	Session string `json:"session"`
	Key     string `json:"key"`
}

// String is the session's key, or its id where it has no key.
func (p Party) String() string { return cmp.Or(p.Key, p.Session) }

// State is how far the exchange is, or how it ended.
func (x Exchange) State() string {
	switch {
	case x.Outcome != "":
		return x.Outcome
	case x.Turn > 0 && x.Phase == "replying":
		return fmt.Sprintf("%s %d", x.Phase, x.Turn)
	}
	return x.Phase
}
