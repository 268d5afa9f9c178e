package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// pairing is the API's pairing: somebody who asked to be let in.
type pairing struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	User    struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"user"`
	Code    string    `json:"code"`
	Status  string    `json:"status"`
	Created time.Time `json:"created"`
	Note    string    `json:"note"`
}

func (p pairing) who() string {
	return p.Channel + ":" + p.User.ID + " " + orText(p.User.Name, p.User.Username)
}

// pairingList is the API's list of them.
type pairingList struct {
	Pairings []pairing `json:"pairings"`
}

func (a *app) pairingCommand() *cobra.Command {
	return group("pairing", "Who may talk to the agents in direct chats", a.pairingList(), a.pairingApprove(), a.pairingDeny(), a.pairingRevoke())
}

func (a *app) pairingList() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "list", Short: "List who has asked and who is let in", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/pairings", nil), func(got pairingList) error {
			return list(a, []string{"CODE", "STATUS", "WHO", "ACCOUNT", "ASKED"}, got.Pairings, func(p pairing) []string {
				return []string{p.Code, p.Status, p.who(), p.Account, a.ago(p.Created)}
			})
		}),
	})
}

func (a *app) pairingApprove() *cobra.Command {
	return a.pairingSettle("approve", "Let somebody in who was told this code", "may talk now")
}

func (a *app) pairingDeny() *cobra.Command {
	return a.pairingSettle("deny", "Refuse somebody who was told this code; they may ask again after a day", "was refused")
}

// pairingSettle is the command that says yes or no to a code; done is what then holds for the person.
func (a *app) pairingSettle(verb, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " CODE", Short: short, Args: cobra.ExactArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			raw, err := c.call(ctx, request{method: http.MethodPost, path: "/v1/pairings/" + url.PathEscape(args[0]) + "/" + verb})
			if err != nil {
				return err
			}
			var p pairing
			if err := json.Unmarshal(raw, &p); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			fmt.Fprintf(a.Stdout, "%s %s\n", clean(p.who()), done)
			if p.Note != "" {
				fmt.Fprintf(a.Stdout, "\nMind: %s\n", clean(p.Note))
			}
			return nil
		}),
	}
}

func (a *app) pairingRevoke() *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use: "revoke CHANNEL USER", Short: "Let somebody in no longer", Args: cobra.ExactArgs(2),
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			body := map[string]string{"channel": args[0], "account": account, "user": args[1]}
			if _, err := c.call(ctx, request{method: http.MethodPost, path: "/v1/pairings/revoke", body: body}); err != nil {
				var refused *apiError
				if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
					return fmt.Errorf("%s:%s was not let in by a code: see `sluice pairing list`", args[0], args[1])
				}
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s:%s may talk no longer\n", args[0], args[1])
			return err
		}),
	}
	cmd.Flags().StringVar(&account, "account", "default", "account of the channel")
	return cmd
}
