package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func pairingCommand(g command.Deps) *cobra.Command {
	return command.Group("pairing", "Admit people to direct chats with the agents", pairingList(g), pairingApprove(g), pairingDeny(g), pairingRevoke(g))
}

func pairingList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List people who asked for access and people who have it", Args: command.Args(0, 0)}, command.Get("/v1/pairings", p.Query), printPairings)
	p.Filter(cmd, "status", "status", "show only people with this `status`: pending, approved, denied, revoked or all (default: pending and approved)")
	return cmd
}

func printPairings(s terminal.Screen, got api.PairingList) error {
	return terminal.List(s, "No pairing requests found. People get a code when they write to the bot for the first time.", []string{"CODE", "STATUS", "PERSON", "ACCOUNT", "ASKED"}, got.Pairings, func(p api.Pairing) []string {
		return []string{p.Code, p.Status, p.Person(), p.Account, s.Ago(p.Created)}
	})
}

func pairingApprove(g command.Deps) *cobra.Command {
	return settle(g, &cobra.Command{Use: "approve CODE", Short: "Admit the person who was given this code", Args: command.Args(1, 1)}, "approve", "is admitted")
}

func pairingDeny(g command.Deps) *cobra.Command {
	return settle(g, &cobra.Command{Use: "deny CODE", Short: "Turn down the person who was given this code; they can ask again after a day", Args: command.Args(1, 1)}, "deny", "is turned down")
}

// settle is the command that decides about a code; result is what then holds for the person.
func settle(g command.Deps, cmd *cobra.Command, verb, result string) *cobra.Command {
	return command.Doing(g, cmd, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("pairings", args[0], verb)}, nil
	}, func(s terminal.Screen, answer api.Answer, _ []string) error {
		p, err := api.Decode[api.Pairing](answer)
		if err != nil {
			return err
		}
		if err := s.Printf("%s %s", terminal.Line(p.Person()), result); err != nil || p.Note == "" {
			return err
		}
		return s.Printf("\nNote: %s", terminal.Line(p.Note))
	})
}

func pairingRevoke(g command.Deps) *cobra.Command {
	var account string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "revoke CHANNEL:USER", Short: "Withdraw a person's access", Args: command.Args(1, 2), // two words: as it was
		RunE: g.Run(func(ctx context.Context, args []string) error {
			channel, user, ok := strings.Cut(strings.Join(args, ":"), ":")
			if !ok {
				return terminal.Usagef("%q: use CHANNEL:USER, for example telegram:1001", args[0])
			}
			c, err := g.Connect()
			if err != nil {
				return err
			}
			body := map[string]string{"channel": channel, "account": account, "user": user}
			person := terminal.Line(channel + ":" + user)
			if _, err := c.Call(ctx, api.Request{Method: http.MethodPost, Path: "/v1/pairings/revoke", Body: body}); err != nil {
				var refused *api.Error
				if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
					return fmt.Errorf("%s was not admitted by a pairing code: `sluice pairing list` shows who was", person)
				}
				return err
			}
			return g.Screen.Result(asJSON, body, person+" no longer has access")
		}),
	}
	cmd.Flags().StringVar(&account, "account", "default", "the `account` of the channel")
	return command.ResultJSON(cmd, &asJSON)
}

func directoryCommand(g command.Deps) *cobra.Command {
	var channel, account string
	cmd := command.Asking(g, &cobra.Command{
		Use: "directory --channel CHANNEL TO", Short: "Look up a conversation and its members", Args: command.Args(1, 1),
		Long: `Look up a conversation by its ID, by #name or @name, or as "owner". The members
are listed where the platform tells them.`,
	}, func(args []string) (api.Request, error) {
		return api.Request{Path: "/v1/directory", Query: api.Query("channel", channel, "to", args[0], "account", account)}, nil
	}, printConversation)
	cmd.Flags().StringVar(&channel, "channel", "", "the `platform`, for example slack")
	cmd.Flags().StringVar(&account, "account", "", "the `account` on it (default: the only one, or \"default\")")
	command.RequireFlags(cmd, "channel")
	return cmd
}

func printConversation(s terminal.Screen, got api.Conversation) error {
	at := got.Route
	if err := s.Printf("%s/%s %s %s %s", at.Channel, at.Account, at.ChatType, terminal.Line(at.Conversation), terminal.Line(at.Title)); err != nil || len(got.Members) == 0 {
		return err
	}
	rows := make([][]string, len(got.Members))
	for i, m := range got.Members {
		bot := ""
		if m.Bot {
			bot = "yes"
		}
		rows[i] = []string{m.ID, cmp.Or(m.Name, m.Username), m.Username, bot}
	}
	return s.Table([]string{"ID", "NAME", "USERNAME", "BOT"}, rows)
}
