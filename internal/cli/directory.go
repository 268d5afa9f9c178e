package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// conversation is one as the API looks it up.
type conversation struct {
	Route   struct{ Channel, Account, ChatType, Conversation, Title string }
	Members []member
}

// member is somebody who is in it.
type member struct {
	ID, Name, Username string
	Bot                bool
}

func (a *app) directoryCommand() *cobra.Command {
	var o output
	var channel, account string
	cmd := &cobra.Command{
		Use: "directory --channel CHANNEL TO", Short: "Look up a conversation by its name or id, and who is in it", Args: cobra.ExactArgs(1),
		Long: "Look up a conversation by its id, by #name or @name, or as owner, and list who is in it where the platform tells.",
		RunE: ask(a, &o, func(args []string) (request, error) {
			return request{path: "/v1/directory", query: queryOf("channel", channel, "to", args[0], "account", account)}, nil
		}, a.printConversation),
	}
	cmd.Flags().StringVar(&channel, "channel", "", "the platform, for example slack")
	cmd.Flags().StringVar(&account, "account", "", `the account on it (default: the only one, or "default")`)
	_ = cmd.MarkFlagRequired("channel") // the flag is there
	return o.flag(cmd)
}

func (a *app) printConversation(got conversation) error {
	at := got.Route
	_, err := fmt.Fprintf(a.Stdout, "%s/%s %s %s %s\n", at.Channel, at.Account, at.ChatType, clean(at.Conversation), clean(at.Title))
	if err != nil || len(got.Members) == 0 {
		return err
	}
	return list(a, []string{"ID", "NAME", "USERNAME", "BOT"}, got.Members, func(m member) []string {
		return []string{m.ID, orText(m.Name, m.Username), m.Username, yes(m.Bot)}
	})
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
