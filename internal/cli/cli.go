package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
)

// The exit codes.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// Deps is what the command line is given by the program. Every field is required but Signals, Exit, Secret and Typing.
type Deps struct {
	Args    []string // without the program's name
	Version string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Loader  config.Loader
	Now     func() time.Time

	// Serve runs a gateway until its context ends.
	Serve func(ctx context.Context, o ServeOptions) error

	// Probe asks the platforms of a configuration who its accounts are.
	Probe func(ctx context.Context, cfg *config.Config) []Probed

	Terminal bool                   // standard input and output are a terminal
	Secret   func() (string, error) // reads a line without showing it; nil: from Stdin
	// Typing takes the terminal over for questions, so that only the answers to open ones are shown, and no secrets, even
	// where several are pasted at once. nil: Stdin and Secret are read.
	Typing  func() (Typing, error)
	Signals <-chan os.Signal // interrupts; nil for none
	Exit    func(code int)   // ends the process at once, at the second interrupt; nil: nothing does
}

// Typing is a terminal that is taken over. What is written to it stands between questions.
type Typing interface {
	io.Writer
	// Ask reads one line; a secret one is not shown.
	Ask(prompt string, secret bool) (string, error)
	// Close gives the terminal back.
	Close() error
}

// ServeOptions say how to serve.
type ServeOptions struct {
	ConfigPath string // as given; empty: looked for in the usual places
	Listen     string // overrides gateway.listen; empty: not
	Version    string
	Stdout     io.Writer
	Stderr     io.Writer
}

// Probed is what a platform says of one account.
type Probed struct {
	Channel, Account string
	Name             string // how the bot calls itself there
	Err              error  // what is wrong, and what to do
}

// app is one invocation.
type app struct {
	Deps
	configPath string
	http       *http.Client
	typing     Typing // while questions are asked; nil: Stdin is read
}

// failure is an error of a command that was used rightly.
type failure struct{ err error }

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// usageError is a wrong use that only the command itself can see.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// errReported ends with code 1; everything has been said.
var errReported = errors.New("reported")

// Execute runs one command and gives the process's exit code.
func Execute(ctx context.Context, d Deps) int {
	a := &app{Deps: d, http: &http.Client{Transport: newTransport()}}
	defer a.http.CloseIdleConnections()
	root := a.root()
	root.SetArgs(d.Args)
	root.SetIn(d.Stdin)
	root.SetOut(d.Stdout)
	root.SetErr(d.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return a.exitCode(cmd, err)
}

func (a *app) exitCode(cmd *cobra.Command, err error) int {
	var failed failure
	var usage usageError
	var faults config.Faults
	var refused *apiError
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, errReported):
		return ExitFailed
	case errors.As(err, &faults):
		fmt.Fprintln(a.Stderr, faults)
		return ExitUsage
	case !errors.As(err, &failed), errors.As(err, &usage):
		return a.wrongUse(cmd, err)
	case errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity: // a value that can't be
		return a.wrongUse(cmd, err)
	}
	fmt.Fprintf(a.Stderr, "sluice: %s\n", safe(err.Error()))
	return ExitFailed
}

// wrongUse says what is wrong and how the command is used.
func (a *app) wrongUse(cmd *cobra.Command, err error) int {
	fmt.Fprintf(a.Stderr, "sluice: %s\n", safe(strings.TrimSpace(strings.ReplaceAll(err.Error(), "\n\n", "\n"))))
	if !cmd.HasSubCommands() {
		fmt.Fprintf(a.Stderr, "Usage: %s\n", cmd.UseLine())
	}
	fmt.Fprintf(a.Stderr, "See: %s --help\n", cmd.CommandPath())
	return ExitUsage
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice",
		Short: "A gateway between chat channels and AI agents",
		Long: `Sluice is a gateway between chat channels and AI agents.

"sluice serve" runs it; with no configuration at all it starts on embedded
parts and prints the address of its page. "sluice init" writes a configuration.

The other commands talk to a running gateway: to SLUICE_URL with SLUICE_TOKEN,
else to the one of the configuration, with the token in its state folder.
SLUICE_STATE names another state folder.`,
		SilenceErrors: true, SilenceUsage: true,
		Args:    unknownCommand,
		RunE:    help,
		Version: a.Version,
	}
	root.SetVersionTemplate("sluice {{.Version}}\n")
	root.PersistentFlags().StringVar(&a.configPath, "config", "", "configuration `file` (default: $SLUICE_CONFIG, ./sluice.yaml, $XDG_CONFIG_HOME/sluice/sluice.yaml)")
	root.AddCommand(
		a.serveCommand(), a.initCommand(), a.chatCommand(), a.sendCommand(),
		a.sessionsCommand(), a.policyCommand(), a.deliveriesCommand(), a.runsCommand(), a.pairingCommand(), a.approvalsCommand(), a.memoryCommand(), a.auditCommand(), a.directoryCommand(),
		a.configCommand(), a.doctorCommand(), a.statusCommand(), a.versionCommand(),
	)
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = unknownCommand, help
	}
	return root
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// group is a command that only has commands below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: unknownCommand, RunE: help}
	g.AddCommand(commands...)
	return g
}

// unknownCommand refuses words where a command is wanted, and says which was probably meant.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageError{text}
}

// task is a command's work.
type task func(ctx context.Context, args []string) error

// run makes a task end at the first interrupt. Its errors are failures, not wrong use.
func (a *app) run(t task) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancel(cmd.Context())
		done := make(chan struct{})
		ended := make(chan struct{})
		go func() { // ends with this function
			defer close(ended)
			a.watch(cancel, done)
		}()
		err := t(ctx, args)
		close(done)
		<-ended
		cancel()
		return failed(err)
	}
}

// watch cancels at the first interrupt and ends the process at the second.
func (a *app) watch(cancel context.CancelFunc, done <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		case <-a.Signals:
			cancel()
			if n > 0 && a.Exit != nil {
				a.Exit(ExitFailed)
			}
		}
	}
}

func failed(err error) error {
	if err == nil || errors.Is(err, errReported) {
		return err
	}
	return failure{err}
}
