package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func sessionsCommand(d Deps, g command.Deps) *cobra.Command {
	return command.Group("sessions", "List, read, change and talk to sessions",
		sessionsList(g), sessionsShow(g), sessionsHistory(g), sessionsSend(g), sessionsPatch(g), sessionsReset(g), sessionsDelete(d, g), sessionsExchanges(g), sessionsSpawn(g))
}

func sessionsList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List sessions, the last active first", Args: command.Args(0, 0)}, command.Get("/v1/sessions", p.Query), printSessions)
	cmd.Flags().IntVar(&p.Limit, "limit", 0, "show at most this `number` of sessions (default 1000)")
	cmd.Flags().StringVar(&p.After, "after", "", "show the sessions after this `ID`, from the end of the previous page")
	p.Filter(cmd, "agent", "agent", "show only sessions of this `agent`")
	p.Filter(cmd, "channel", "channel", "show only sessions in which a person last wrote on this `channel`")
	p.Filter(cmd, "kind", "kind", "show only sessions of this `kind`: main, direct, group, channel, cron, hook, node, subagent or api")
	p.Level(cmd, "sessions")
	p.Filter(cmd, "active", "active", "show only sessions active within this `time`, such as 30m")
	p.Filter(cmd, "text", "q", "show only sessions whose key, title or label contains these `words`")
	p.Only(cmd, "busy", "show only sessions with a message that is processed or waits")
	p.Only(cmd, "archived", "show only sessions that are archived")
	return cmd
}

func printSessions(s terminal.Screen, found []api.Session) error {
	return terminal.List(s, `No sessions found. "sluice chat" starts one.`, []string{"ID", "KEY", "TITLE", "LEVEL", "STATE", "LAST ACTIVE"}, found, func(one api.Session) []string {
		return []string{one.ID, one.Key, terminal.Short(one.Title), api.Unquoted(one.Taint), one.State(), s.Ago(one.LastActivity.Time())}
	})
}

func sessionsShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show SESSION", Short: "Show a session, by key or ID", Args: command.Args(1, 1)}, command.One("sessions"), printSession)
}

func printSession(s terminal.Screen, got api.Session) error {
	ttl := ""
	if got.TTL > 0 {
		ttl = (time.Duration(got.TTL) * time.Second).String()
	}
	return s.Pairs("id", got.ID, "key", got.Key, "title", got.Title, "agent", got.Agent, "model", got.Model, "state", got.State(),
		"level", api.Unquoted(got.Taint), "clearance", got.Clearance, "last channel", got.Channel, "channel allows", got.Carries, "withheld", got.Held,
		"label", got.Label, "send policy", cmp.Or(got.SendPolicy, "inherit"), "group activation", got.Activation,
		"queue mode", got.QueueMode, "thinking", got.Thinking, "verbose", got.Verbose, "temperature", got.Temperature.String(), "max output tokens", got.MaxOutputTokens.String(),
		"persistent", strconv.FormatBool(got.Persistent), "ttl", ttl,
		"created", s.Ago(got.CreatedAt.Time()), "last active", s.Ago(got.LastActivity.Time()), "metadata", strings.TrimPrefix(string(got.Metadata), "{}"))
}

func sessionsHistory(g command.Deps) *cobra.Command {
	var limit int
	cmd := command.Asking(g, &cobra.Command{Use: "history SESSION", Short: "Print a session's transcript", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Path: api.Path("sessions", args[0], "history"), Query: api.Query("limit", strconv.Itoa(limit))}, nil
	}, printTranscript)
	cmd.Flags().IntVar(&limit, "limit", 50, "show at most this `number` of messages, the newest ones")
	return cmd
}

func printTranscript(s terminal.Screen, got api.Transcript) error {
	for _, m := range got.Messages {
		words := m.Words(terminal.Short)
		if words == "" {
			continue // its author chose not to answer
		}
		if err := s.Printf("%s: %s", terminal.Line(m.Speaker()), terminal.Text(words)); err != nil {
			return err
		}
	}
	return nil
}

func sessionsSend(g command.Deps) *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{Use: "send SESSION TEXT", Short: "Send a message to a session and print the reply", Args: command.Args(2, 2)}
	cmd.RunE = g.Run(func(ctx context.Context, args []string) error {
		c, err := g.Connect()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no reply within %s; the agent continues, and `sluice sessions history %s` shows the reply later", timeout, args[0]))
		defer cancel()
		answer, err := c.CallSlowly(ctx, api.Request{Method: http.MethodPost, Path: api.Path("sessions", args[0], "messages"), Body: map[string]string{"message": args[1]}})
		if err != nil {
			return err
		}
		if err := command.Present(g.Screen, answer, asJSON, printTurn); err != nil {
			return err
		}
		if got, err := api.Decode[api.Turn](answer); err != nil || got.Status != "ok" {
			return fmt.Errorf("run %s ended with status %s", got.Run, got.Status)
		}
		return nil
	})
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "wait at most this long for the reply")
	return command.JSON(cmd, &asJSON)
}

func printTurn(s terminal.Screen, got api.Turn) error {
	if got.Withheld != nil {
		fmt.Fprintln(s.Err, terminal.Line(got.Withheld.Line()))
		return nil
	}
	return s.Printf("%s", terminal.Text(got.Reply))
}

func sessionsReset(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "reset SESSION", Short: "Start the session over: same key, no history, lowest level", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("sessions", args[0], "reset")}, nil
	}, printSession)
}

func sessionsDelete(d Deps, g command.Deps) *cobra.Command {
	var yes bool
	cmd := command.Doing(g, &cobra.Command{
		Use: "delete SESSION", Short: "End and delete a session", Args: command.Args(1, 1),
		Long: "End a session and delete it with its transcript. At a terminal, the command asks for confirmation.",
	}, func(args []string) (api.Request, error) {
		if d.Terminal && !yes {
			if err := g.Screen.Confirm(d.Stdin, "Delete "+args[0]+" with its transcript?"); err != nil {
				return api.Request{}, err
			}
		}
		return api.Request{Method: http.MethodDelete, Path: api.Path("sessions", args[0])}, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		return s.Printf("%s: deleted", terminal.Line(args[0]))
	})
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return cmd
}

// patchFlags are the flags of patch: any setting by its name, and a flag for each of the older settings.
type patchFlags struct {
	set, clear []string
	named      map[string]*string // by field
}

func sessionsPatch(g command.Deps) *cobra.Command {
	f := patchFlags{named: map[string]*string{}}
	cmd := &cobra.Command{
		Use: "patch SESSION", Short: "Change a session's settings", Args: command.Args(1, 1),
		Long: `Change a session's settings: sendPolicy, groupActivation, queueMode, model,
thinkingLevel, verboseLevel, temperature, maxOutputTokens, label, title and metadata
(a JSON object). A setting that you clear follows the configuration again.`,
	}
	command.Asking(g, cmd, func(args []string) (api.Request, error) {
		body, err := f.body(cmd.Flags().Changed)
		return api.Request{Method: http.MethodPatch, Path: api.Path("sessions", args[0]), Body: body}, err
	}, printSession)
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "set this `field=value`; repeatable")
	cmd.Flags().StringArrayVar(&f.clear, "clear", nil, "clear this `field`; repeatable")
	for field, about := range map[string]string{
		"send_policy": "allow, deny or inherit", "group_activation": "mention, always or inherit",
		"model": "<provider>/<model>; empty for the agent's model", "title": "a `name` for people",
	} {
		f.named[field] = cmd.Flags().String(flagOf(field), "", about)
	}
	return cmd
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

// body is the request. The gateway knows which fields exist and which values they take.
func (f patchFlags) body(changed func(string) bool) (map[string]any, error) {
	body := map[string]any{}
	put := func(field string, value any) error {
		if _, twice := body[field]; twice {
			return terminal.Usagef("%s is given twice", field)
		}
		body[field] = value
		return nil
	}
	for _, field := range slices.Sorted(maps.Keys(f.named)) {
		if changed(flagOf(field)) {
			body[field] = *f.named[field]
		}
	}
	for _, pair := range f.set {
		field, text, ok := strings.Cut(pair, "=")
		if !ok || field == "" {
			return nil, terminal.Usagef("--set %q: use field=value", pair)
		}
		value, err := settingValue(field, text)
		if err == nil {
			err = put(field, value)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, field := range f.clear {
		if err := put(field, nil); err != nil {
			return nil, err
		}
	}
	if len(body) == 0 {
		return nil, terminal.UsageError{Text: "nothing to change: use --set field=value or --clear field"}
	}
	return body, nil
}

// settingValue is a setting as it was typed: a text, except for metadata.
func settingValue(field, text string) (any, error) {
	if field != "metadata" {
		return text, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, terminal.UsageError{Text: "--set metadata: use a JSON object"}
	}
	return json.RawMessage(text), nil
}

func sessionsExchanges(g command.Deps) *cobra.Command {
	var kind string
	var open bool
	var limit int
	cmd := command.Asking(g, &cobra.Command{Use: "exchanges [SESSION]", Short: "List requests between sessions and tasks of sub-agents", Args: command.Args(0, 1)}, func(args []string) (api.Request, error) {
		query := api.Query("kind", kind, "limit", strconv.Itoa(limit))
		if len(args) > 0 {
			query.Set("session", args[0])
		}
		if open {
			query.Set("open", "true")
		}
		return api.Request{Path: "/v1/exchanges", Query: query}, nil
	}, printExchanges)
	cmd.Flags().StringVar(&kind, "kind", "", "show only one `kind`: send (requests) or spawn (tasks of sub-agents)")
	cmd.Flags().BoolVar(&open, "open", false, "show only those that have not ended")
	cmd.Flags().IntVar(&limit, "limit", 50, "show at most this `number`, the newest ones")
	cmd.AddCommand(exchangesShow(g))
	return cmd
}

// exchangesShow prints an exchange with its steps. It needs two requests.
func exchangesShow(g command.Deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "show EXCHANGE", Short: "Show an exchange and each of its steps", Args: command.Args(1, 1)}
	cmd.RunE = g.Run(func(ctx context.Context, args []string) error {
		c, err := g.Connect()
		if err != nil {
			return err
		}
		about, err := c.Call(ctx, api.Request{Path: api.Path("exchanges", args[0])})
		if err != nil {
			return err
		}
		steps, err := c.Call(ctx, api.Request{Path: "/v1/runs", Query: api.Query("exchange", args[0], "limit", "200")})
		if err != nil {
			return err
		}
		x, err := api.Decode[api.Exchange](about)
		if err != nil {
			return err
		}
		runs, err := api.Decode[api.RunList](steps)
		if err != nil {
			return err
		}
		if asJSON {
			return g.Screen.JSON(fmt.Appendf(nil, `{"exchange": %s, "steps": %s}`, about.Body, steps.Body))
		}
		return printExchange(g.Screen, x, runs.Runs)
	})
	return command.JSON(cmd, &asJSON)
}

// printExchange prints an exchange and its steps, the newest of which comes first.
func printExchange(s terminal.Screen, x api.Exchange, steps []api.Run) error {
	err := s.Pairs("id", x.ID, "kind", x.Kind, "state", x.State(), "from", x.Requester.String(), "to", x.Target.String(), "name", x.Name,
		"request", terminal.Short(x.Request), "why", x.Detail, "started", s.Ago(x.Started))
	if err != nil {
		return err
	}
	slices.Reverse(steps)
	sides := map[string]api.Party{x.Requester.Session: x.Requester, x.Target.Session: x.Target}
	if err := s.Printf(""); err != nil {
		return err
	}
	return terminal.Rows(s, []string{"STEP", "BY", "STATUS", "TOOK", "SAID", "RUN"}, steps, func(r api.Run) []string {
		return []string{r.Kind, cmp.Or(sides[r.Session].String(), r.Session), r.Status, r.Took(), terminal.Short(r.Said()), r.ID}
	})
}

func printExchanges(s terminal.Screen, got api.ExchangeList) error {
	return terminal.List(s, "No exchanges found.", []string{"ID", "KIND", "STATE", "FROM", "TO", "ABOUT", "STARTED"}, got.Exchanges, func(x api.Exchange) []string {
		about := cmp.Or(x.Detail, x.Name, x.Request)
		return []string{x.ID, x.Kind, x.State(), x.Requester.String(), x.Target.String(), terminal.Short(about), s.Ago(x.Started)}
	})
}

// taskFlags describe a sub-agent's task.
type taskFlags struct {
	name, agent, model string
	timeout            time.Duration
	discard            bool
}

func sessionsSpawn(g command.Deps) *cobra.Command {
	var t taskFlags
	cmd := command.Asking(g, &cobra.Command{Use: "spawn SESSION TASK", Short: "Give a task to a sub-agent, which reports back to the session", Args: command.Args(2, 2)}, func(args []string) (api.Request, error) {
		body, err := t.body(args[1])
		return api.Request{Method: http.MethodPost, Path: api.Path("sessions", args[0], "tasks"), Body: body}, err
	}, func(s terminal.Screen, x api.Exchange) error {
		return s.Pairs("exchange", x.ID, "session", x.Target.Key, "run", x.FirstRun)
	})
	cmd.Flags().StringVar(&t.name, "name", "", "a `name` for the task")
	cmd.Flags().StringVar(&t.agent, "agent", "", "the agent that does it (default: the session's agent)")
	cmd.Flags().StringVar(&t.model, "model", "", "<provider>/<model> (default: the agent's model)")
	cmd.Flags().DurationVar(&t.timeout, "timeout", 0, "stop the task after this long, in whole seconds")
	cmd.Flags().BoolVar(&t.discard, "discard", false, "delete the sub-agent's session after its report")
	return cmd
}

// body is the request that gives the task.
func (t *taskFlags) body(text string) (map[string]any, error) {
	if t.timeout < 0 || t.timeout%time.Second != 0 {
		return nil, terminal.UsageError{Text: "--timeout: use whole seconds, for example 90s"}
	}
	body := map[string]any{"task": text}
	for field, value := range map[string]string{"name": t.name, "agent": t.agent, "model": t.model} {
		if value != "" {
			body[field] = value
		}
	}
	if t.timeout > 0 {
		body["timeout"] = int(t.timeout.Seconds())
	}
	if t.discard {
		body["cleanup"] = "delete"
	}
	return body, nil
}
