package cli

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

// task is what a command does.
type task = func(ctx context.Context, args []string) error

// runner runs tasks until they end or are interrupted.
type runner struct {
	signals <-chan os.Signal // interrupts; nil for none
	exit    func(code int)   // nil: nothing ends the process
}

// run makes a task end at the first interrupt. Its errors are failures, not wrong use.
func (r runner) run(t task) func(*cobra.Command, []string) error {
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

// gateway is what the commands need that ask a running gateway.
type gateway struct {
	runner
	screen  terminal.Screen
	connect func() (*api.Client, error) // called when a command runs, after its flags were read
}

// jsonFlag is the flag --json.
type jsonFlag bool

// add adds the flag to a command.
func (j *jsonFlag) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar((*bool)(j), "json", false, "print the gateway's response as JSON")
	return cmd
}

// show is how a command that asks the gateway one thing prints the answer.
type show[T any] func(s terminal.Screen, got T) error

// request builds a command's request from its arguments.
type request func(args []string) (api.Request, error)

// ask sends a command's request.
func (g *gateway) ask(ctx context.Context, about request, args []string) (api.Answer, error) {
	r, err := about(args)
	if err != nil {
		return api.Answer{}, err
	}
	c, err := g.connect()
	if err != nil {
		return api.Answer{}, err
	}
	return c.Call(ctx, r)
}

// asking is a command that sends one request and prints the answer: as JSON with --json, else with plain.
func asking[T any](g *gateway, cmd *cobra.Command, about request, plain show[T]) *cobra.Command {
	var asJSON jsonFlag
	cmd.RunE = g.run(func(ctx context.Context, args []string) error {
		answer, err := g.ask(ctx, about, args)
		if err != nil {
			return err
		}
		return present(g.screen, answer, asJSON, plain)
	})
	return asJSON.add(cmd)
}

// present prints an answer. The command fails if the answer says that it has failed.
func present[T any](s terminal.Screen, answer api.Answer, asJSON jsonFlag, plain show[T]) error {
	got, err := api.Decode[T](answer)
	if err != nil {
		return err
	}
	if asJSON {
		err = s.JSON(answer.Body)
	} else {
		err = plain(s, got)
	}
	if err != nil {
		return err
	}
	if bad, ok := any(got).(interface{ Failed() bool }); ok && bad.Failed() {
		return terminal.ErrReported
	}
	if asJSON {
		return nil
	}
	return s.More(answer.Next)
}

// doing is a command that sends one request and prints a sentence with said if the request succeeds. With --json it prints
// the response, which is an empty object if the response has no body.
func doing(g *gateway, cmd *cobra.Command, about request, said func(s terminal.Screen, answer api.Answer, args []string) error) *cobra.Command {
	var asJSON jsonFlag
	cmd.RunE = g.run(func(ctx context.Context, args []string) error {
		answer, err := g.ask(ctx, about, args)
		if err != nil {
			return err
		}
		if asJSON {
			return g.screen.JSON(answer.Body)
		}
		return said(g.screen, answer, args)
	})
	return asJSON.add(cmd)
}

// get asks for a path with query parameters; nil for none.
func get(path string, query func() url.Values) request {
	return func([]string) (api.Request, error) {
		r := api.Request{Path: path}
		if query != nil {
			r.Query = query()
		}
		return r, nil
	}
}

// one asks for the record that the first argument names.
func one(kind string) request {
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
