package usage

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

type budgetList struct{ Budgets []budget }

// budget is how much of a budget a subject has used.
type budget struct {
	Name, Scope, Subject, Unit, Per, Limit, Used string
	Until                                        *time.Time
	Percent                                      int
	Partial                                      bool
}

// budgets is "sluice usage budgets".
func budgets(d command.Deps) *cobra.Command {
	return command.Asking(d, &cobra.Command{Use: "budgets", Short: "Show how much of each budget is used", Args: command.Args(0, 0)}, func([]string) (api.Request, error) {
		return api.Request{Path: api.Path("budgets")}, nil
	}, func(s terminal.Screen, got budgetList) error { return standings(s, got.Budgets) })
}

func standings(s terminal.Screen, all []budget) error {
	if len(all) == 0 {
		return s.Printf(`No budgets found. Add them under "budgets" in the configuration to limit what models may cost.`)
	}
	partial := false
	err := terminal.Rows(s, []string{"BUDGET", "OF", "USED", "LIMIT", "PERCENT", "UNTIL"}, all, func(b budget) []string {
		partial = partial || b.Partial
		until := ""
		if b.Until != nil {
			until = b.Until.Local().Format(time.DateTime)
		}
		return []string{b.Name, strings.TrimSpace(b.Scope + " " + b.Subject), b.amount(b.Used), b.amount(b.Limit), fmt.Sprintf("%d%%", b.Percent), until}
	})
	if err == nil && partial {
		err = s.Printf("\nOnly calls that your token may see are counted. The real use may be higher.")
	}
	return err
}

func (b *budget) amount(exact string) string {
	if b.Unit == "tokens" {
		return exact + " tokens"
	}
	return money(exact) + " " + b.Unit
}
