package cli

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func deliveriesCommand(g command.Deps) *cobra.Command {
	return command.Group("deliveries", "Outgoing messages and what happened to them",
		deliveriesList(g), deliveriesShow(g),
		deliveriesChange(g, "retry", "Send a failed, expired, blocked or unknown delivery again"),
		deliveriesChange(g, "discard", "Discard a delivery that was not sent"))
}

func deliveriesList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List deliveries, newest first", Args: command.Args(0, 0)}, command.Get("/v1/deliveries", p.Query), printDeliveries)
	p.Filter(cmd, "channel", "channel", "show only deliveries on this `channel`")
	p.Filter(cmd, "account", "account", "show only deliveries of this `account`")
	p.Filter(cmd, "to", "to", "show only deliveries to the conversation with this `ID`")
	p.Filter(cmd, "session", "session", "show only deliveries of the session with this `ID`")
	p.Filter(cmd, "rule", "rule", "show only deliveries that this `rule` of the policy has matched")
	p.Filter(cmd, "text", "q", "show only deliveries whose text contains these `words`")
	return p.AddStatus(cmd, "queued, held, sending, sent, blocked, failed, unknown, expired or discarded")
}

func printDeliveries(s terminal.Screen, got api.DeliveryList) error {
	err := terminal.List(s, "No deliveries found.", []string{"ID", "STATUS", "KIND", "TO", "TEXT", "REASON", "CREATED"}, got.Deliveries, func(d api.Delivery) []string {
		return []string{d.ID, d.Status, d.Kind, d.Route.String(), terminal.Short(d.Text), terminal.Short(d.Error), s.Ago(d.Created)}
	})
	if err != nil {
		return err
	}
	return s.Counts("Total", got.Counts)
}

func deliveriesShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show DELIVERY", Short: "Show a delivery and the gate's decision", Args: command.Args(1, 1)}, command.One("deliveries"), printDelivery)
}

func printDelivery(s terminal.Screen, d api.Delivery) error {
	err := s.Pairs("id", d.ID, "status", d.Status, "kind", d.Kind, "to", d.Route.String(), "label", api.Unquoted(d.Label), "session", d.Session, "run", d.Run, "repeats", d.ResendOf,
		"attempts", strconv.Itoa(d.Attempts), "error", d.Error, "created", s.Ago(d.Created))
	if err != nil {
		return err
	}
	if d.Decision != nil {
		if err := printDecision(s, *d.Decision); err != nil {
			return err
		}
	}
	if err := s.Printf("\n%s", terminal.Text(d.Text)); err != nil {
		return err
	}
	for _, f := range d.Files {
		if err := s.Printf("file: %s %s", f.ID, terminal.Line(f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// printDecision prints the gate's decision and every rule it checked.
func printDecision(s terminal.Screen, d api.Decision) error {
	if err := s.Printf("gate: %s: %s", d.Action, terminal.Line(d.Reason)); err != nil {
		return err
	}
	return printRules(s, d.Rules)
}

func printRules(s terminal.Screen, rules []api.Rule) error {
	for _, r := range rules {
		verdict := "does not match"
		if r.Matched {
			verdict = cmp.Or(r.Action, "matches")
		}
		if r.Detail != "" {
			verdict += " (" + terminal.Line(r.Detail) + ")"
		}
		if err := s.Printf("  %s: %s", terminal.Line(r.Rule), verdict); err != nil {
			return err
		}
	}
	return nil
}

func deliveriesChange(g command.Deps, verb, short string) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: verb + " DELIVERY", Short: short, Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("deliveries", args[0], verb)}, nil
	}, func(s terminal.Screen, d api.Delivery) error { return s.Printf("%s: %s", d.ID, d.Status) })
}

func runsCommand(g command.Deps) *cobra.Command {
	return command.Group("runs", "Current and past work of the agents", runsList(g), runsShow(g))
}

func runsList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List runs, newest first", Args: command.Args(0, 0)}, command.Get("/v1/runs", p.Query), printRuns)
	p.Filter(cmd, "agent", "agent", "show only runs of this `agent`")
	p.Filter(cmd, "channel", "channel", "show only runs whose message came in on this `channel`")
	p.Filter(cmd, "model", "model", "show only runs that this `model` answered")
	p.Filter(cmd, "kind", "kind", "show only runs of this `kind`: message, ask, reply, announce, task, report, command, note or trigger")
	p.Filter(cmd, "text", "q", "show only runs of which the message contains these `words`")
	return p.AddStatus(cmd, "queued, running, done, failed, timeout, aborted or dropped")
}

func printRuns(s terminal.Screen, got api.RunList) error {
	err := terminal.List(s, "No runs found.", []string{"ID", "STATUS", "SESSION", "RESULT", "RECEIVED"}, got.Runs, func(r api.Run) []string {
		return []string{r.ID, r.Status, r.Session, terminal.Short(r.Said()), s.Ago(r.Accepted)}
	})
	if err != nil || !slices.ContainsFunc(got.Runs, func(r api.Run) bool { return r.Error != "" }) {
		return err
	}
	return s.Printf("\nThe exact reason of a failure: sluice why RUN")
}

func runsShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show RUN", Short: "Show a run and its reply", Args: command.Args(1, 1)}, command.One("runs"), printRun)
}

func printRun(s terminal.Screen, r api.Run) error {
	err := s.Pairs("id", r.ID, "status", r.Status, "kind", r.Kind, "session", r.Session, "model", r.Model, "attempts", strconv.Itoa(r.Attempts),
		"received", s.Ago(r.Accepted), "finished", s.Ago(r.Finished), "error", r.Error)
	for i := 0; err == nil && i < len(r.ModelCalls); i++ {
		err = s.Printf("call: %s", terminal.Line(r.ModelCalls[i].Line()))
	}
	if err == nil && r.Error != "" {
		err = s.Printf("\nThe exact reason: sluice why %s", r.ID)
	}
	switch {
	case err != nil:
		return err
	case r.Withheld != nil:
		return s.Printf("\n%s", terminal.Line(r.Withheld.Line()))
	case r.Reply != "":
		return s.Printf("\n%s", terminal.Text(r.Reply))
	}
	return nil
}
