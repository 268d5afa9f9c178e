package cli

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
)

func (a *app) directoryCommand() *cobra.Command {
	var o output
	var channel, account string
	cmd := &cobra.Command{
		Use: "directory --channel CHANNEL TO", Short: "Look up a conversation by its name or id, and who is in it", Args: cobra.ExactArgs(1),
		Long: "Look up a conversation by its id, by #name or @name, or as owner, and list who is in it where the platform tells.",
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			var got struct {
				Route   struct{ Channel, Account, ChatType, Conversation, Title string }
				Members []struct {
					ID, Name, Username string
					Bot                bool
				}
			}
			query := url.Values{"channel": {channel}, "to": {args[0]}}
			if account != "" {
				query.Set("account", account)
			}
			raw, err := c.get(ctx, "/v1/directory", query, &got)
			if err != nil {
				return err
			}
			return o.show(a, raw, func() error {
				at := got.Route
				fmt.Fprintf(a.Stdout, "%s/%s %s %s %s\n", at.Channel, at.Account, at.ChatType, safe(at.Conversation), safe(at.Title))
				rows := make([][]string, len(got.Members))
				for i, m := range got.Members {
					rows[i] = []string{m.ID, orText(m.Name, m.Username), m.Username, yes(m.Bot)}
				}
				if len(rows) == 0 {
					return nil
				}
				return a.table([]string{"ID", "NAME", "USERNAME", "BOT"}, rows)
			})
		}),
	}
	cmd.Flags().StringVar(&channel, "channel", "", "the platform, for example slack")
	cmd.Flags().StringVar(&account, "account", "", `the account on it (default: the only one, or "default")`)
	_ = cmd.MarkFlagRequired("channel") // the flag is there
	return o.flag(cmd)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
