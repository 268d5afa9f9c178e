package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func statusCommand(g command.Deps, locator *api.Locator) *cobra.Command {
	cmd := command.Asking(g, &cobra.Command{
		Use: "status", Short: "Show the state of a running gateway", Args: command.Args(0, 0),
		Long: `Show the state of a running gateway. With --ready, print nothing and exit with 0 if the gateway is ready, else with 1:
for health checks of containers. This needs no token.`,
	}, command.Get("/v1/status", nil), printStatus)
	var ready bool
	cmd.Flags().BoolVar(&ready, "ready", false, "only check whether the gateway is ready, without a token")
	cmd.MarkFlagsMutuallyExclusive("ready", "json")
	full := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !ready {
			return full(cmd, args)
		}
		return g.Run(func(ctx context.Context, _ []string) error { return locator.Ready(ctx) })(cmd, args)
	}
	return cmd
}

func printStatus(s terminal.Screen, got api.Status) error {
	word := "not ready"
	if got.Ready {
		word = "ready"
	}
	if err := s.Printf("Sluice %s: %s, up %s\n", terminal.Line(got.Version), word, terminal.Line(got.Uptime)); err != nil {
		return err
	}
	err := terminal.Rows(s, []string{"COMPONENT", "STATE"}, got.Parts, func(p api.Component) []string {
		if p.OK {
			return []string{p.Name, "ok"}
		}
		return []string{p.Name, cmp.Or(p.Detail, "does not work")}
	})
	if err != nil {
		return err
	}
	if len(got.Accounts) > 0 {
		if err := printAccounts(s, got.Accounts); err != nil {
			return err
		}
	}
	if err := s.Counts("Deliveries", got.Deliveries); err != nil || len(got.Limited) == 0 {
		return err
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	return terminal.Rows(s, []string{"LIMITED", "REFUSED", "LAST", "REASON"}, got.Limited, func(l api.Limited) []string {
		return []string{l.Person, strconv.Itoa(l.Count), s.Ago(l.Last), l.Reason}
	})
}

func printAccounts(s terminal.Screen, accounts []api.Account) error {
	if err := s.Printf(""); err != nil {
		return err
	}
	err := terminal.Rows(s, []string{"ACCOUNT", "NAME", "STATE", "LEVEL", "LAST EVENT", "PENDING", "RESTARTS"}, accounts, func(a api.Account) []string {
		return []string{a.Channel + "/" + a.Account, a.Profile(), a.Status, a.Level, s.Ago(a.LastEvent), strconv.Itoa(a.Pending), strconv.Itoa(a.Restarts)}
	})
	deaf := slices.DeleteFunc(slices.Clone(accounts), func(a api.Account) bool { return a.DeafSince.IsZero() })
	if err != nil || len(deaf) == 0 {
		return err
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	return terminal.Rows(s, []string{"RECEIVES NOTHING", "SINCE", "REASON"}, deaf, func(a api.Account) []string {
		return []string{a.Channel + "/" + a.Account, s.Ago(a.DeafSince), terminal.Line(a.Detail)}
	})
}
