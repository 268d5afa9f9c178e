package command

import (
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
)

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
