package cli

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// runner runs tasks until they end or are interrupted.
type runner struct {
	signals <-chan os.Signal // interrupts; nil for none
	exit    func(code int)   // nil: nothing ends the process
}

// run makes a task end at the first interrupt. Its errors are failures, not wrong use.
func (r runner) run(t command.Task) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancelCause(cmd.Context())
		defer cancel(nil)
		done, ended := make(chan struct{}), make(chan struct{})
		go func() { // ends with this function
			defer close(ended)
			r.watch(cancel, done)
		}()
		err := t(ctx, args)
		close(done)
		<-ended
		return failed(err)
	}
}

var errInterrupted = errors.New("interrupted")

// watch cancels at the first interrupt and ends the process at the second.
func (r runner) watch(cancel context.CancelCauseFunc, done <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		case <-r.signals:
			cancel(errInterrupted)
			if n > 0 && r.exit != nil {
				r.exit(ExitFailed)
			}
		}
	}
}

func failed(err error) error {
	if err == nil || errors.Is(err, terminal.ErrReported) {
		return err
	}
	return failure{err}
}

// get asks for a path with query parameters; nil for none.
func get(path string, query func() url.Values) command.Request {
	return func([]string) (api.Request, error) {
		r := api.Request{Path: path}
		if query != nil {
			r.Query = query()
		}
		return r, nil
	}
}

// one asks for the record that the first argument names.
func one(kind string) command.Request {
	return func(args []string) (api.Request, error) { return api.Request{Path: api.Path(kind, args[0])}, nil }
}

// page are the flags of a list: which entries, and how many.
type page struct {
	status, after string
	limit         int
}

// add adds the flags --limit and --after.
func (p *page) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().IntVar(&p.limit, "limit", 50, "show at most this `number` of entries")
	cmd.Flags().StringVar(&p.after, "after", "", "show the entries after this `position`, from the end of the previous page")
	return cmd
}

// addStatus adds the flag --status, too.
func (p *page) addStatus(cmd *cobra.Command, statuses string) *cobra.Command {
	cmd.Flags().StringVar(&p.status, "status", "", "show only entries with this `status`: "+statuses)
	return p.add(cmd)
}

func (p *page) query() url.Values { return p.with() }

// with is the query with more names and values.
func (p *page) with(more ...string) url.Values {
	return api.Query(append(more, "status", p.status, "limit", strconv.Itoa(p.limit), "after", p.after)...)
}
