package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/internal/pattern"
	"sluice/sessions"
)

const help = `I am **Sluice's offline guide**: a demonstration that runs without a key and without a network. I am not an AI; I understand a few plain sentences and act on them with the real tools:

- **list sessions** – the conversations that you can see
- **show history of main** – what was said in a session
- **status** – this session's state
- **tell telegram 42: dinner is ready** – a message to another conversation (or: *send dinner is ready to telegram 42*)
- **ask agent ops: how many servers are there?** – a question to another agent (or *ask session KEY: …*)
- **start a background task: repeat hello** – a sub-agent does it and reports here
- **remember that Ada likes tea** · **what do you know about tea?** · **forget ada-likes-tea** – what I save for later conversations
- **repeat …** – I say it back

Commands such as ` + "`/help`" + ` work everywhere. For a real assistant, add a provider and a model to ` + "`sluice.yaml`" + `:

` + "```yaml" + `
models:
  default: anthropic/claude-sonnet-4-5
  providers:
    anthropic: { kind: anthropic, apiKey: "${ANTHROPIC_API_KEY}" }
` + "```"

// sentence is a kind of sentence that the guide understands.
type sentence struct {
	pattern *pattern.Pattern
	tool    string
	args    func(match []string) map[string]any
}

// sentences are tried in order.
var sentences = []sentence{
	{
		pattern.New(`(?i)^(?:please )?(?:list|show)(?: me)?(?: all| my| the)? (?:sessions|conversations)[.!?]?$`),
		"sessions_list",
		func([]string) map[string]any { return map[string]any{"messageLimit": 1} },
	},
	{
		pattern.New(`(?i)^(?:please )?show(?: me)?(?: the)? history(?: of (\S+?))?[.!?]?$`),
		"sessions_history",
		func(m []string) map[string]any {
			return map[string]any{"sessionKey": cmp.Or(m[1], "main"), "limit": 10}
		},
	},
	{
		pattern.New(`(?i)^(?:show )?(?:the |your |my )?status[.!?]?$`),
		"session_status",
		func([]string) map[string]any { return map[string]any{} },
	},
	{
		pattern.New(`(?is)^(?:please )?ask (?:the )?(agent |session )?(\S+): *(.+)$`),
		"sessions_send",
		func(m []string) map[string]any {
			key := m[2]
			if strings.TrimSpace(strings.ToLower(m[1])) != "session" && !strings.Contains(key, ":") {
				key = "agent:" + key + ":main"
			}
			return map[string]any{"sessionKey": key, "message": m[3]}
		},
	},
	{
		pattern.New(`(?is)^(?:please )?start a (?:background )?task: *(.+)$`),
		"sessions_spawn",
		func(m []string) map[string]any { return map[string]any{"task": m[1]} },
	},
	{
		pattern.New(`(?is)^(?:please )?(?:tell|message) (\w+) (\S+): *(.+)$`),
		"message",
		func(m []string) map[string]any { return message(m[1], m[2], m[3]) },
	},
	{
		pattern.New(`(?is)^(?:please )?send (.+) to (\w+) (\S+?)[.!?]?$`),
		"message",
		func(m []string) map[string]any { return message(m[2], m[3], strings.Trim(m[1], "\"“”")) },
	},
}

func message(channel, to, text string) map[string]any {
	return map[string]any{"channel": strings.ToLower(channel), "to": to, "message": text}
}

// guide answers the last message, or reports the results of its tools.
func guide(req sessions.Request) sessions.Completion {
	if done := results(req); done != nil {
		texts := spoken(before(req))
		for _, r := range done {
			texts = append(texts, render(r))
		}
		return says(strings.Join(texts, "\n\n"))
	}
	if c, ok := inExchange(req); ok {
		return c
	}
	asked := pending(req)
	if len(asked) == 0 {
		return says(help)
	}
	if c := wanted(asked); len(c.Parts) > 0 {
		return c
	}
	return says(strings.Join(spoken(asked), "\n\n"))
}

// wanted returns the tool calls that messages ask for.
func wanted(asked []sessions.Message) sessions.Completion {
	var c sessions.Completion
	for _, m := range asked {
		if s, match := sentenceOf(question(m)); s != nil {
			c.Parts = append(c.Parts, calls(s.tool, s.args(match), m.ID).Parts...)
		}
	}
	return c
}

func sentenceOf(text string) (*sentence, []string) {
	for _, list := range [][]sentence{sentences, remembering} {
		for i := range list {
			if m := list[i].pattern.Regexp().FindStringSubmatch(text); m != nil {
				return &list[i], m
			}
		}
	}
	return nil, nil
}

// spoken answers the messages that ask for no tool: it repeats the texts it is asked to repeat, and gives one help
// text for all others.
func spoken(asked []sessions.Message) []string {
	var texts []string
	helped := false
	for _, m := range asked {
		text := question(m)
		if s, _ := sentenceOf(text); s != nil {
			continue
		}
		if again, ok := cutFold(text, "repeat "); ok {
			texts = append(texts, again)
		} else if !helped {
			helped = true
			texts = append(texts, help)
		}
	}
	return texts
}

// before returns the messages that led to the tool results at the end of the thread.
func before(req sessions.Request) []sessions.Message {
	last := len(req.Messages) - 2 // the call
	if last < 0 {
		return nil
	}
	return pending(sessions.Request{Messages: req.Messages[:last]})
}

// question returns the last text of a message, without the speaker and the context that messages in groups have.
func question(m sessions.Message) string {
	text := ""
	for _, p := range m.Parts {
		if p.Type == sessions.PartText {
			text = p.Text
		}
	}
	who := cmp.Or(m.Sender.Name, m.Sender.Username, string(m.Sender.ID))
	return strings.TrimSpace(strings.TrimPrefix(text, who+": "))
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// calls makes the call of a tool. The call's id is derived from the message, so that the same question gives the same call.
func calls(tool string, args map[string]any, asked sessions.MessageID) sessions.Completion {
	text, err := json.Marshal(args)
	if err != nil {
		return says("I could not encode the call: " + err.Error())
	}
	return sessions.Completion{Parts: []sessions.Part{{
		Type: sessions.PartToolCall, CallID: "call_" + strings.TrimPrefix(string(asked), "msg_"), Tool: tool, Args: text,
	}}}
}

// result has the fields of tool results that the guide uses.
type result struct {
	row
	Count     *int   `json:"count"`
	Sessions  []row  `json:"sessions"`
	Messages  []said `json:"messages"`
	Status    string `json:"status"`
	Reason    string `json:"reason"`
	Reply     string `json:"reply"`
	Error     string `json:"error"`
	Child     string `json:"childSessionKey"`
	To        string `json:"to"`
	Running   int    `json:"running"`
	Queued    int    `json:"queued"`
	Truncated bool   `json:"truncated"`

	Results  []remembered `json:"results"`
	Memories []remembered `json:"memories"`
}

type row struct {
	Key       string `json:"key"`
	Kind      string `json:"kind"`
	Channel   string `json:"channel"`
	Model     string `json:"model"`
	Tokens    int    `json:"totalTokens"`
	UpdatedAt int64  `json:"updatedAt"`
	Messages  []said `json:"messages"`
}

type said struct {
	Role    string          `json:"role"`
	Sender  string          `json:"sender"`
	Content []sessions.Part `json:"content"`
}

// render describes a tool's result in plain words.
func render(p sessions.Part) string {
	if p.Error {
		return "That did not work: " + p.Text
	}
	var r result
	if err := json.Unmarshal([]byte(p.Text), &r); err != nil {
		return p.Text
	}
	switch p.Tool {
	case "sessions_list":
		return renderList(r)
	case "sessions_history":
		return renderHistory(r)
	case "session_status":
		return fmt.Sprintf("- session `%s` (%s)\n- model `%s`\n- tokens so far: %d\n- runs: %d working, %d waiting",
			r.Key, r.Kind, r.Model, r.Tokens, r.Running, r.Queued)
	case "message":
		if r.Status == "blocked" {
			return "The gate withheld the message: " + r.Reason
		}
		return "The message is on its way to " + r.Channel + " " + r.To + "."
	case "sessions_send":
		return renderSend(r)
	case "memory_save":
		return "I'll remember that (`" + r.Key + "`)."
	case "memory_search", "memory_list":
		return renderMemories(append(r.Results, r.Memories...))
	case "memory_delete":
		return "I have forgotten `" + r.Key + "`."
	case "sessions_spawn":
		return "A sub-agent is working on it (`" + r.Child + "`). It will report here."
	}
	return p.Text
}

func renderSend(r result) string {
	switch {
	case r.Reply != "":
		return "The reply: " + r.Reply
	case r.Error != "":
		return "No reply yet: " + r.Error
	}
	return "I sent the question."
}

func renderList(r result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "You can see %s:\n", plural(len(r.Sessions), "session"))
	for _, s := range r.Sessions {
		fmt.Fprintf(&b, "\n- `%s` – %s, last active %s", s.Key, s.Channel, time.UnixMilli(s.UpdatedAt).UTC().Format("2 Jan 15:04 UTC"))
		for _, m := range s.Messages {
			fmt.Fprintf(&b, ": “%s”", brief(m))
		}
	}
	return b.String()
}

func renderHistory(r result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The last %s:\n", plural(len(r.Messages), "message"))
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "\n- **%s**: %s", cmp.Or(m.Sender, m.Role), brief(m))
	}
	return b.String()
}

func plural(n int, word string) string {
	if n == 1 {
		return "one " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// brief returns the beginning of a message's text on one line.
func brief(m said) string { return short(sessions.Message{Parts: m.Content}.Text()) }

func short(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
