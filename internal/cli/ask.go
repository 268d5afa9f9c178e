package cli

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
)

// ask is a command that asks the gateway one thing, which its arguments say, and shows the answer: as JSON where o
// says so, else as plain prints it.
func ask[T any](a *app, o *output, about func(args []string) (request, error), plain func(T) error) func(*cobra.Command, []string) error {
	return a.run(func(ctx context.Context, args []string) error {
		r, err := about(args)
		if err != nil {
			return err
		}
		c, err := a.client()
		if err != nil {
			return err
		}
		var got T
		raw, err := c.decode(ctx, r, &got)
		if err != nil {
			return err
		}
		err = o.show(a, raw, func() error { return plain(got) })
		if err != nil || o.json {
			return err
		}
		return a.more("There are more", c.next)
	})
}

// always asks for the same, whatever the arguments are.
func always(path string, query func() url.Values) func([]string) (request, error) {
	return func([]string) (request, error) {
		r := request{path: path}
		if query != nil {
			r.query = query()
		}
		return r, nil
	}
}

// named asks for what the argument names, below a path.
func named(path string) func([]string) (request, error) {
	return func(args []string) (request, error) { return request{path: path + "/" + url.PathEscape(args[0])}, nil }
}

// list prints a table with a row for each of a list.
func list[T any](a *app, head []string, of []T, row func(T) []string) error {
	rows := make([][]string, len(of))
	for i, one := range of {
		rows[i] = row(one)
	}
	return a.table(head, rows)
}

// more says how the page after one is asked for; nothing where there is none.
func (a *app) more(what, after string) error {
	if after == "" {
		return nil
	}
	_, err := fmt.Fprintf(a.Stdout, "%s: --after %s\n", what, clean(after))
	return err
}
