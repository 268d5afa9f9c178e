package console

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// explanation is why something is as it is.
type explanation struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Title  string `json:"title"`
	Answer string `json:"answer"`
	Change []struct {
		Text    string `json:"text"`
		Command string `json:"command"`
	} `json:"change"`
	Steps []step `json:"steps"`
}

type step struct {
	Step  string    `json:"step"`
	At    time.Time `json:"at"`
	Took  int64     `json:"took_ms"`
	State string    `json:"state"`
	Text  string    `json:"text"`
	Label string    `json:"label"`
	Rules []struct {
		Rule    string `json:"rule"`
		Matched bool   `json:"matched"`
		Action  string `json:"action"`
		Detail  string `json:"detail"`
	} `json:"rules"`
	Facts []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"facts"`
}

func why(d command.Deps) *cobra.Command {
	var session string
	cmd := command.Asking(d, &cobra.Command{
		Use: "why ID|LINK", Short: "Explain why something happened", Args: command.Args(1, 1),
		Long: `Explain what happened to something: one chain of causes, from what the platform
reported to the receipt, with the rules that were checked, as they were then.

ID names a run, a delivery, an approval, a job (cron/JOB) or one of its times
(cron/JOB/TIME), a request to a hook (hook/…), a refused person (ref_…), an audit
entry (aud_ and its id, from "sluice audit list --json"), or with --session a message.
A link of the web page works, too.`,
	}, func(args []string) (api.Request, error) {
		id, of := named(args[0])
		return api.Request{Path: api.Path("why", id), Query: api.Query("session", cmp.Or(session, of))}, nil
	}, printWhy)
	cmd.Flags().StringVar(&session, "session", "", "`ID` of a message's session")
	return cmd
}

// named extracts the id from a link of the page, with the session in the link. A text that is not a link is the id itself.
func named(text string) (id, session string) {
	link, err := url.Parse(text)
	if err != nil {
		return text, ""
	}
	if _, id, ok := strings.Cut(link.Path, "/why/"); ok {
		return id, link.Query().Get("session")
	}
	return text, ""
}

func printWhy(s terminal.Screen, e explanation) error {
	if err := s.Printf("%s: %s, %s\n%s", terminal.Line(e.ID), terminal.Line(e.Title), strings.ToUpper(terminal.Line(e.Status)), terminal.Text(e.Answer)); err != nil {
		return err
	}
	for _, c := range e.Change {
		line := "  To change: " + terminal.Line(c.Text)
		if c.Command != "" {
			line += "  (" + terminal.Line(c.Command) + ")"
		}
		if err := s.Printf("%s", line); err != nil {
			return err
		}
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	for i, one := range e.Steps {
		if err := printStep(s, i+1, one); err != nil {
			return err
		}
	}
	return nil
}

func printStep(s terminal.Screen, n int, one step) error {
	at, state := "--:--:--", map[string]string{"ok": "", "stopped": " STOPS", "waits": " waits", "failed": " FAILED", "unknown": " UNKNOWN", "not_recorded": " not recorded"}[one.State]
	if !one.At.IsZero() {
		at = one.At.Local().Format(time.TimeOnly)
	}
	took := ""
	if one.Took > 0 {
		took = fmt.Sprintf(" (%s)", time.Duration(one.Took)*time.Millisecond)
	}
	if err := s.Printf("%2d %s %-8s%s %s%s", n, at, terminal.Line(one.Step), state, terminal.Text(one.Text), took); err != nil {
		return err
	}
	for _, f := range one.Facts {
		if err := s.Printf("     %s: %s", terminal.Line(f.Name), terminal.Line(f.Value)); err != nil {
			return err
		}
	}
	for _, r := range one.Rules {
		matched := "did not match"
		if r.Matched {
			matched = "matched: " + r.Action
		}
		if err := s.Printf("     rule %s", strings.TrimSpace(terminal.Line(r.Rule+" "+matched+" "+r.Detail))); err != nil {
			return err
		}
	}
	return nil
}
