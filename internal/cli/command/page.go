package command

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

// Help prints the help of a command.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// Group is a command that only contains other commands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: Unknown, RunE: Help}
	g.AddCommand(commands...)
	return g
}

// Listing is a group that lists when no command is given, as its first command does.
func Listing(use, short string, list *cobra.Command, others ...*cobra.Command) *cobra.Command {
	g := Group(use, short, append([]*cobra.Command{list}, others...)...)
	g.RunE = list.RunE
	g.Flags().AddFlagSet(list.Flags())
	return g
}

// Unknown refuses words where a command is expected, and suggests similar commands.
func Unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return terminal.UsageError{Text: text}
}

// RequireFlags marks flags as required.
func RequireFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.MarkFlagRequired(name) // the flag is defined next to the call
	}
}

// Get asks for a path with query parameters; nil for none.
func Get(path string, query func() url.Values) Request {
	return func([]string) (api.Request, error) {
		r := api.Request{Path: path}
		if query != nil {
			r.Query = query()
		}
		return r, nil
	}
}

// One asks for the record that the first argument names.
func One(kind string) Request {
	return func(args []string) (api.Request, error) { return api.Request{Path: api.Path(kind, args[0])}, nil }
}

// Page are the flags of a list: which entries, and how many.
type Page struct {
	Status, After string
	Limit         int
}

// Add adds the flags --limit and --after.
func (p *Page) Add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "show at most this `number` of entries")
	cmd.Flags().StringVar(&p.After, "after", "", "show the entries after this `position`, from the end of the previous page")
	return cmd
}

// AddStatus adds the flag --status, too.
func (p *Page) AddStatus(cmd *cobra.Command, statuses string) *cobra.Command {
	cmd.Flags().StringVar(&p.Status, "status", "", "show only entries with this `status`: "+statuses)
	return p.Add(cmd)
}

// Query is the query of the flags.
func (p *Page) Query() url.Values { return p.With() }

// With is the query with more names and values.
func (p *Page) With(more ...string) url.Values {
	return api.Query(append(more, "status", p.Status, "limit", strconv.Itoa(p.Limit), "after", p.After)...)
}
