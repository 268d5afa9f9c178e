package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// session is the API's session record.
type session struct {
	ID           string          `json:"id"`
	Key          string          `json:"key"`
	Agent        string          `json:"agent"`
	Title        string          `json:"title"`
	Taint        json.RawMessage `json:"taint"`
	Channel      string          `json:"channel"`
	Clearance    string          `json:"clearance"`
	Carries      string          `json:"carries"`
	Held         string          `json:"held"`
	SendPolicy   string          `json:"send_policy"`
	Activation   string          `json:"group_activation"`
	QueueMode    string          `json:"queue_mode"`
	Thinking     string          `json:"thinking_level"`
	Verbose      string          `json:"verbose_level"`
	Label        string          `json:"label"`
	Model        string          `json:"model"`
	CreatedAt    float64         `json:"created_at"`
	LastActivity float64         `json:"last_activity"`
	Busy         bool            `json:"busy"`
	Persistent   bool            `json:"persistent"`
	TTL          float64         `json:"ttl"`
	Status       string          `json:"status"`
	Metadata     json.RawMessage `json:"metadata"`
}

// state is what the session is doing.
func (s session) state() string {
	if s.Busy {
		return "busy"
	}
	return s.Status
}

// epoch is a time that the API gives in seconds.
func epoch(seconds float64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(seconds * 1000))
}

// word is a JSON text without its quotes, or any other JSON value as it stands.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// sessionPath is a session's address; id may be its key.
func sessionPath(id, below string) string { return "/v1/sessions/" + url.PathEscape(id) + below }

func (a *app) sessionsCommand() *cobra.Command {
	return group("sessions", "List, read and steer sessions",
		a.sessionsList(), a.sessionsShow(), a.sessionsHistory(), a.sessionsSend(), a.sessionsPatch(), a.sessionsReset(), a.sessionsDelete(), a.sessionsExchanges(), a.sessionsSpawn())
}

func (a *app) sessionsList() *cobra.Command {
	var o output
	var after string
	cmd := &cobra.Command{
		Use: "list", Short: "List the sessions", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/sessions", func() url.Values { return queryOf("after", after) }), func(found []session) error {
			return list(a, []string{"ID", "KEY", "TITLE", "TAINT", "STATE", "LAST"}, found, func(s session) []string {
				return []string{s.ID, s.Key, short(s.Title), word(s.Taint), s.state(), a.ago(epoch(s.LastActivity))}
			})
		}),
	}
	cmd.Flags().StringVar(&after, "after", "", "go on after this `id`")
	return o.flag(cmd)
}

func (a *app) sessionsShow() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "show SESSION", Short: "Show a session, named by its id or key", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, named("/v1/sessions"), a.printSession),
	})
}

func (a *app) printSession(s session) error {
	ttl := ""
	if s.TTL > 0 {
		ttl = (time.Duration(s.TTL) * time.Second).String()
	}
	return a.pairs("id", s.ID, "key", s.Key, "title", s.Title, "agent", s.Agent, "model", s.Model, "state", s.state(),
		"taint", word(s.Taint), "may learn", s.Clearance, "last spoken to on", s.Channel, "may be said there", s.Carries, "held back", s.Held, "label", s.Label, "send policy", orText(s.SendPolicy, "inherit"), "group activation", s.Activation,
		"queue mode", s.QueueMode, "thinking", s.Thinking, "verbose", s.Verbose, "persistent", strconv.FormatBool(s.Persistent), "ttl", ttl,
		"created", a.ago(epoch(s.CreatedAt)), "last", a.ago(epoch(s.LastActivity)), "metadata", strings.TrimPrefix(string(s.Metadata), "{}"))
}

// message is one line of a transcript.
type message struct {
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

// who names the speaker for people.
func (m message) who() string {
	if m.Sender != nil && (m.Sender.Name != "" || m.Sender.ID != "") {
		return orText(m.Sender.Name, m.Sender.ID)
	}
	return m.Role
}

// words are what was said, and which tools were used.
func (m message) words() string {
	var lines []string
	for _, p := range m.Parts {
		switch {
		case p.Tool != "" && len(p.Args) > 0:
			lines = append(lines, fmt.Sprintf("[%s %s]", p.Tool, p.Args))
		case p.Type == "toolResult":
			lines = append(lines, fmt.Sprintf("[%s: %s]", p.Tool, short(p.Text)))
		case p.Text != "" && p.Type != "thinking":
			lines = append(lines, strings.TrimPrefix(p.Text, m.who()+": ")) // groups' texts name their speaker
		}
	}
	if len(lines) == 0 {
		return m.Text
	}
	return strings.Join(lines, "\n")
}

func (a *app) sessionsHistory() *cobra.Command {
	var o output
	var limit int
	cmd := o.flag(&cobra.Command{
		Use: "history SESSION", Short: "Print a session's transcript", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, func(args []string) (request, error) {
			return request{path: sessionPath(args[0], "/history"), query: queryOf("limit", strconv.Itoa(limit))}, nil
		}, a.printTranscript),
	})
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this `number` of messages, the newest")
	return cmd
}

// transcript is a page of a session's messages, oldest first.
type transcript struct {
	Messages []message `json:"messages"`
}

func (a *app) printTranscript(got transcript) error {
	for _, m := range got.Messages {
		words := m.words()
		if words == "" {
			continue // its author chose to be silent
		}
		if _, err := fmt.Fprintf(a.Stdout, "%s: %s\n", clean(m.who()), safe(words)); err != nil {
			return err
		}
	}
	return nil
}

// answer is what a turn over JSON gives.
type answer struct {
	Run    string `json:"run_id"`
	Status string `json:"status"`
	Reply  string `json:"reply"`

	Withheld *withheld `json:"withheld"`
}

func (a *app) sessionsSend() *cobra.Command {
	var o output
	var timeout time.Duration
	cmd := o.flag(&cobra.Command{
		Use: "send SESSION TEXT", Short: "Say something in a session and print the answer", Args: cobra.ExactArgs(2),
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s (it is still being worked on: sluice sessions history %s)", timeout, args[0]))
			defer cancel()
			raw, err := c.read(ctx, request{method: http.MethodPost, path: sessionPath(args[0], "/messages"), body: map[string]string{"message": args[1]}})
			if err != nil {
				return err
			}
			var got answer
			if err := json.Unmarshal(raw, &got); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			err = o.show(a, raw, func() error {
				if got.Withheld != nil { // the answer is not on standard output
					_, err := fmt.Fprintln(a.Stderr, clean(got.Withheld.line()))
					return err
				}
				_, err := fmt.Fprintln(a.Stdout, safe(got.Reply))
				return err
			})
			if err == nil && got.Status != "ok" {
				return fmt.Errorf("run %s: %s", got.Run, got.Status)
			}
			return err
		}),
	})
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "wait at most so long")
	return cmd
}

func (a *app) sessionsReset() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "reset SESSION", Short: "Begin a session anew: same key, empty, what it had learnt forgotten", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, func(args []string) (request, error) {
			return request{method: http.MethodPost, path: sessionPath(args[0], "/reset")}, nil
		}, a.printSession),
	})
}

func (a *app) sessionsDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete SESSION", Short: "End a session", Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			if _, err := c.call(ctx, request{method: http.MethodDelete, path: sessionPath(args[0], "")}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: deleted\n", args[0])
			return err
		}),
	}
}
