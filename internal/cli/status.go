package cli

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

func statusCommand(g *gateway) *cobra.Command {
	return asking(g, &cobra.Command{Use: "status", Short: "Show the state of a running gateway", Args: arguments(0, 0)}, get("/v1/status", nil), printStatus)
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
	return s.Counts("Deliveries", got.Deliveries)
}

func printAccounts(s terminal.Screen, accounts []api.Account) error {
	if err := s.Printf(""); err != nil {
		return err
	}
	return terminal.Rows(s, []string{"ACCOUNT", "NAME", "STATE", "LEVEL", "LAST EVENT", "PENDING", "RESTARTS"}, accounts, func(a api.Account) []string {
		return []string{a.Channel + "/" + a.Account, a.Profile(), a.Status, a.Level, s.Ago(a.LastEvent), strconv.Itoa(a.Pending), strconv.Itoa(a.Restarts)}
	})
}
