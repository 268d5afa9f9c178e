package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

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
