package console

import (
	"cmp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// speakers are who speaks where.
type speakers struct {
	People []struct {
		Person string `json:"person"`
		User   struct {
			Name string `json:"name"`
		} `json:"user"`
		Direct string `json:"direct"`
		Spoke  []struct {
			ChatType string    `json:"chat_type"`
			Chat     string    `json:"conversation"`
			Title    string    `json:"title"`
			Right    string    `json:"right"`
			Last     time.Time `json:"last"`
		} `json:"spoke"`
	} `json:"people"`
	More bool `json:"more"`
}

func people(d command.Deps) *cobra.Command {
	return command.Asking(d, &cobra.Command{
		Use: "people", Short: "Show who speaks where, and by what right", Args: command.Args(0, 0),
		Long: `Show the owners and everybody else who has spoken lately or may speak: by what right
they may write in private, where they have spoken, and by what right they still may
speak there.

A right is owner, open (everybody may), listed (in a list of the configuration), role
(with a role of the configuration), paired (approved with "sluice pairing"), ask (not
yet, but they may ask), none, or token (with an access token of the gateway).`,
	}, func([]string) (api.Request, error) { return api.Request{Path: api.Path("people")}, nil }, printPeople)
}

func printPeople(s terminal.Screen, got speakers) error {
	var rows [][]string
	for _, p := range got.People {
		row := []string{p.Person, p.User.Name, p.Direct, "", "", ""}
		for _, at := range p.Spoke {
			row[3], row[4], row[5] = strings.TrimSpace(at.ChatType+" "+cmp.Or(at.Title, at.Chat)), at.Right, s.Ago(at.Last)
			rows = append(rows, row)
			row = make([]string, len(row))
		}
		if len(p.Spoke) == 0 {
			rows = append(rows, row)
		}
	}
	err := terminal.List(s, "There are no owners, and nobody has spoken.", []string{"PERSON", "NAME", "IN PRIVATE", "PLACE", "RIGHT", "LAST"}, rows, func(r []string) []string { return r })
	if err != nil || !got.More {
		return err
	}
	return s.Printf("There is more: this covers the newest 2,000 messages, 200 people, and 10 places for each person.")
}
