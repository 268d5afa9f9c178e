package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// exchange is the API's exchange.
type exchange struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Requester party     `json:"requester"`
	Target    party     `json:"target"`
	Phase     string    `json:"phase"`
	Turn      int       `json:"turn"`
	Outcome   string    `json:"outcome"`
	Detail    string    `json:"detail"`
	Name      string    `json:"name"`
	Request   string    `json:"request"`
	FirstRun  string    `json:"first_run"`
	Started   time.Time `json:"started"`
}

// party is one side of it.
type party struct {
	Session string `json:"session"`
	Key     string `json:"key"`
}

// state is where it stands.
func (x exchange) state() string {
	switch {
	case x.Outcome != "":
		return x.Outcome
	case x.Turn > 0 && x.Phase == "replying":
		return fmt.Sprintf("%s %d", x.Phase, x.Turn)
	}
	return x.Phase
}

func (a *app) sessionsExchanges() *cobra.Command {
	var o output
	var kind string
	var open bool
	var limit int
	cmd := o.flag(&cobra.Command{Use: "exchanges [SESSION]", Short: "List what sessions have asked of each other, and the tasks of sub-agents", Args: cobra.MaximumNArgs(1)})
	cmd.RunE = ask(a, &o, func(args []string) (request, error) {
		query := queryOf("kind", kind, "limit", strconv.Itoa(limit))
		if len(args) > 0 {
			query.Set("session", args[0])
		}
		if open {
			query.Set("open", "true")
		}
		return request{path: "/v1/exchanges", query: query}, nil
	}, a.printExchanges)
	cmd.Flags().StringVar(&kind, "kind", "", "send or spawn: only requests, or only tasks of sub-agents")
	cmd.Flags().BoolVar(&open, "open", false, "only those that have not ended")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this `number`, the newest")
	return cmd
}

// exchangeList is a page of the API's exchanges.
type exchangeList struct {
	Exchanges []exchange `json:"exchanges"`
}

func (a *app) printExchanges(got exchangeList) error {
	return list(a, []string{"ID", "KIND", "STATE", "FROM", "TO", "ABOUT", "STARTED"}, got.Exchanges, func(x exchange) []string {
		return []string{
			x.ID, x.Kind, x.state(), orText(x.Requester.Key, x.Requester.Session), orText(x.Target.Key, x.Target.Session),
			short(orText(x.Detail, orText(x.Name, x.Request))), a.ago(x.Started),
		}
	})
}

// taskFlags are what a task of a sub-agent says beside its text.
type taskFlags struct {
	name, agent, model string
	timeout            time.Duration
	discard            bool
}

func (t *taskFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.name, "name", "", "a `name` of the task for people")
	cmd.Flags().StringVar(&t.agent, "agent", "", "the agent that does it; default: the session's")
	cmd.Flags().StringVar(&t.model, "model", "", "<provider>/<model>; default: the agent's")
	cmd.Flags().DurationVar(&t.timeout, "timeout", 0, "stop the work after so long, in whole seconds")
	cmd.Flags().BoolVar(&t.discard, "discard", false, "end the sub-agent's session with its report")
}

// body is the request that gives the task.
func (t *taskFlags) body(text string) (map[string]any, error) {
	if t.timeout < 0 || t.timeout%time.Second != 0 {
		return nil, usageError{"--timeout: want whole seconds, for example 90s"}
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

func (a *app) sessionsSpawn() *cobra.Command {
	var o output
	var t taskFlags
	cmd := o.flag(&cobra.Command{
		Use: "spawn SESSION TASK", Short: "Give a task to a sub-agent of a session, which is told what came of it", Args: cobra.ExactArgs(2),
		RunE: ask(a, &o, func(args []string) (request, error) {
			body, err := t.body(args[1])
			return request{method: http.MethodPost, path: sessionPath(args[0], "/tasks"), body: body}, err
		}, func(x exchange) error { return a.pairs("exchange", x.ID, "session", x.Target.Key, "run", x.FirstRun) }),
	})
	t.flags(cmd)
	return cmd
}
