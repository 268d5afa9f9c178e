package automation

import (
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func checksCommand(g command.Deps) *cobra.Command {
	return command.Group("checks", "List checks, which need no model, and run them", checksList(g), checksRun(g))
}

func checksList(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "list", Short: "List the checks with what they found last", Args: command.Args(0, 0)}, command.Get("/v1/checks", nil),
		func(s terminal.Screen, got api.CheckList) error {
			return terminal.List(s, `No checks found. Add them under "checks" in the configuration.`, []string{"NAME", "SOURCE", "VALUE", "CHANGED", "CHECKED", "ERROR"}, got.Checks, func(c api.Check) []string {
				return []string{c.Name, terminal.Line(c.Source), terminal.Short(c.Value), s.Ago(c.Changed), s.Ago(c.Looked), terminal.Short(c.Error)}
			})
		})
}

func checksRun(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "run CHECK", Short: "Run a check now, and show its value", Args: command.Args(1, 1)},
		func(args []string) (api.Request, error) {
			return api.Request{Method: http.MethodPost, Path: api.Path("checks", args[0], "run")}, nil
		},
		func(s terminal.Screen, c api.Check) error {
			holds := ""
			if c.Value != "" {
				holds = strconv.FormatBool(c.Holds)
			}
			fails := ""
			if c.Fails > 0 {
				fails = strconv.Itoa(c.Fails)
			}
			return s.Pairs("name", c.Name, "source", c.Source, "every", c.Every, "label", c.Label, "value", c.Value, "before", c.Before, "changed", s.Ago(c.Changed),
				"condition holds", holds, "error", c.Error, "failures", fails)
		})
}
