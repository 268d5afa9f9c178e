package usage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
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
func budgets(d Deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "budgets", Short: "Show how much of each budget is used", Args: d.Args(0, 0),
		RunE: d.Run(func(ctx context.Context, _ []string) error {
			c, err := d.Connect()
			if err != nil {
				return err
			}
			answer, err := c.Call(ctx, api.Request{Path: api.Path("budgets")})
			if err != nil {
				return err
			}
			if asJSON {
				return d.Screen.JSON(answer.Body)
			}
			got, err := api.Decode[budgetList](answer)
			if err != nil {
				return err
			}
			return standings(d.Screen, got.Budgets)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the gateway's response as JSON")
	return cmd
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
