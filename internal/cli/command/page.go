package command

import (
	"net/url"
	"strconv"
	"strings"

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
	Limit         int // 0: as many as the gateway gives
	filters       []func() []string
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

// Filter adds a flag whose value narrows the list.
func (p *Page) Filter(cmd *cobra.Command, flag, param, usage string) {
	value := cmd.Flags().String(flag, "", usage)
	p.filters = append(p.filters, func() []string { return []string{param, *value} })
}

// Level adds the flag --level, which narrows the list to a level.
func (p *Page) Level(cmd *cobra.Command, what string) {
	value := cmd.Flags().String("level", "", "show only "+what+" of this `level`: PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED")
	p.filters = append(p.filters, func() []string { return []string{"level", strings.ToUpper(*value)} })
}

// Only adds a flag without a value that narrows the list.
func (p *Page) Only(cmd *cobra.Command, flag, usage string) {
	only := cmd.Flags().Bool(flag, false, usage)
	p.filters = append(p.filters, func() []string {
		if !*only {
			return nil
		}
		return []string{flag, "true"}
	})
}

// Query is the query of the flags.
func (p *Page) Query() url.Values { return p.With() }

// With is the query with more names and values.
func (p *Page) With(more ...string) url.Values {
	more = append(more, "status", p.Status, "after", p.After)
	if p.Limit != 0 {
		more = append(more, "limit", strconv.Itoa(p.Limit))
	}
	for _, f := range p.filters {
		more = append(more, f()...)
	}
	return api.Query(more...)
}
