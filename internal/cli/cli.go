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

	"sluice/internal/build"
	"sluice/internal/cli/api"
	"sluice/internal/cli/archive"
	"sluice/internal/cli/automation"
	"sluice/internal/cli/command"
	"sluice/internal/cli/complete"
	"sluice/internal/cli/console"
	"sluice/internal/cli/doctor"
	"sluice/internal/cli/examples"
	"sluice/internal/cli/logs"
	"sluice/internal/cli/models"
	"sluice/internal/cli/node"
	"sluice/internal/cli/service"
	"sluice/internal/cli/setup"
	"sluice/internal/cli/terminal"
	"sluice/internal/cli/usage"
	"sluice/internal/config"
	"sluice/store/engine"
)

// The exit codes.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// The environment variables that choose a gateway.
const (
	EnvURL   = api.EnvURL
	EnvToken = api.EnvToken
)

// Deps is what the program gives to the command line. Signals, Exit, Browser, Secret and Typing may be nil.
type Deps struct {
	Args    []string // without the program's name
	Version string
	Build   build.Info // what `sluice version` prints
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Loader  config.Loader
	Now     func() time.Time

	// Serve runs a gateway until its context ends.
	Serve func(ctx context.Context, o ServeOptions) error

	// Migrate brings the schema of the database up to date. It logs to Stderr.
	Migrate func(ctx context.Context, o ServeOptions) (Migrated, error)

	// Probe asks the platforms of a configuration for the profiles of its accounts.
	Probe func(ctx context.Context, cfg *config.Config) []Probed

	Terminal bool                   // standard input and output are a terminal
	Secret   func() (string, error) // reads a line without showing it; nil: from Stdin
	// Typing takes the terminal over for questions, so that no secret is shown, even where several answers are pasted
	// at once. nil: Stdin and Secret are read.
	Typing  func() (Typing, error)
	Browser func(ctx context.Context, address string) error // opens an address; nil: there is no browser
	Signals <-chan os.Signal                                // interrupts; nil for none
	Exit    func(code int)                                  // ends the process at the second interrupt; nil: nothing does
}

type (
	// Typing is a terminal that was taken over for questions.
	Typing = setup.Typing
	// Probed is what a platform answered about one account.
	Probed = doctor.Probed
	// Migrated is what was done to the schema of a database.
	Migrated = engine.Migrated
)

// ServeOptions say how to serve.
type ServeOptions struct {
	ConfigPath string // as given; empty: the usual places are searched
	Listen     string // replaces gateway.listen; empty: does not
	Version    string
	Stdout     io.Writer
	Stderr     io.Writer
}

// Commands is the tree of all commands, for manual pages and completions. They can't be run.
func Commands() *cobra.Command {
	root := newRoot(Deps{Stdout: io.Discard, Stderr: io.Discard, Loader: config.Loader{Getenv: os.LookupEnv}}, nil)
	examples.Fill(root)
	return root
}

// Execute runs one command and returns the exit code of the process.
func Execute(ctx context.Context, d Deps) int {
	client := &http.Client{Transport: api.NewTransport()}
	defer client.CloseIdleConnections()
	root := newRoot(d, client)
	root.SetArgs(d.Args)
	cmd, err := root.ExecuteContextC(ctx)
	return exitCode(d.Stderr, cmd, err)
}

// failure is the error of a command that was used correctly.
type failure struct{ err error }

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// exitCode reports an error and returns the exit code for it.
func exitCode(stderr io.Writer, cmd *cobra.Command, err error) int {
	var failed failure
	var usage terminal.UsageError
	var faults config.Faults
	var refused *api.Error
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, terminal.ErrReported):
		return ExitFailed
	case errors.As(err, &faults):
		fmt.Fprintln(stderr, err)
		return ExitUsage
	case !errors.As(err, &failed), errors.As(err, &usage):
		return wrongUse(stderr, cmd, err)
	case errors.As(err, &refused) && refused.Status == http.StatusUnprocessableEntity: // the gateway refused a value
		return wrongUse(stderr, cmd, err)
	}
	fmt.Fprintf(stderr, "sluice: %s\n", terminal.Text(err.Error()))
	return ExitFailed
}

// wrongUse says what is wrong and how the command is used.
func wrongUse(stderr io.Writer, cmd *cobra.Command, err error) int {
	fmt.Fprintf(stderr, "sluice: %s\n", terminal.Text(strings.TrimSpace(strings.ReplaceAll(err.Error(), "\n\n", "\n"))))
	if !cmd.HasSubCommands() || strings.Contains(cmd.Use, " ") { // the command itself does something
		fmt.Fprintf(stderr, "Usage: %s\n", cmd.UseLine())
	}
	fmt.Fprintf(stderr, "Help: %s --help\n", cmd.CommandPath())
	return ExitUsage
}

func newRoot(d Deps, client *http.Client) *cobra.Command {
	screen := terminal.Screen{Out: d.Stdout, Err: d.Stderr, Now: d.Now}
	locator := &api.Locator{Loader: d.Loader, HTTP: client}
	r := runner{signals: d.Signals, exit: d.Exit}
	g := command.Deps{Screen: screen, Connect: locator.Connect, Run: r.run}
	until := r.run // for commands of other packages
	archives := &archive.Commands{Locator: locator, Screen: screen, Version: d.Version, Now: d.Now, Run: until}
	root := &cobra.Command{
		Use:   "sluice",
		Short: "A gateway between chat channels and AI agents",
		Long: `Sluice connects chat channels (Telegram, Slack, Discord, web chat) to AI agents.

"sluice serve" runs the gateway. It needs no configuration: by default it uses
an embedded database and message bus, web chat and an offline demo model, and
prints the address of its web page. "sluice init" creates a configuration.

Most other commands talk to a running gateway. Set SLUICE_URL and SLUICE_TOKEN
to choose one. By default the address comes from the configuration, and the
token from the state folder. SLUICE_STATE sets a different state folder.`,
		SilenceErrors: true, SilenceUsage: true,
		Args:    command.Unknown,
		RunE:    command.Help,
		Version: d.Version,
	}
	root.SetIn(d.Stdin)
	root.SetOut(d.Stdout) // before the completion command is made, which keeps it
	root.SetErr(d.Stderr)
	root.SetVersionTemplate("sluice {{.Version}}\n")
	root.PersistentFlags().StringVar(&locator.Config, "config", "", "configuration `file` (default: $SLUICE_CONFIG, ./sluice.yaml, $XDG_CONFIG_HOME/sluice/sluice.yaml)")
	root.AddCommand(
		serveCommand(d, r, locator), initCommand(d, r, locator), chatCommand(d, screen, locator), sendCommand(g),
		sessionsCommand(d, g), policyCommand(g, d.Stdin), deliveriesCommand(g), runsCommand(g), agentsCommand(g), modelsCommand(g, models.PricesCommand(screen, locator.Load, until, command.Args(0, 0))), usage.Command(g), busCommand(g), pairingCommand(g), approvalsCommand(g), memoryCommand(g), skillsCommand(g, client), command.Group("node", "Make this machine a node of a gateway", node.Commands(node.Deps{Deps: g, Stdin: d.Stdin, Version: d.Version})...), auditCommand(g), logs.Command(g, errInterrupted), directoryCommand(g),
		configCommand(d, g, locator), doctorCommand(d, r, locator, screen), statusCommand(g, locator),
	)
	root.AddCommand(service.Version(d.Build, screen, command.Args(0, 0), until), service.Command(d.Loader, locator, screen, until), archives.Backup(), archives.Restore(), archives.Export(), archives.Import(), archives.Migrate(func(ctx context.Context) (Migrated, error) {
		return d.Migrate(ctx, ServeOptions{ConfigPath: locator.Config, Version: d.Version, Stderr: d.Stderr})
	}))
	root.AddCommand(console.Commands(g, d.Browser)...)
	root.AddCommand(automation.Commands(automation.Deps{Deps: g, Stdin: d.Stdin, Terminal: d.Terminal, Now: d.Now})...)
	examples.Show(root)
	if len(d.Args) > 0 && strings.HasPrefix(d.Args[0], cobra.ShellCompRequestCmd) {
		complete.Values(root, locator.Connect)
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = command.Unknown, command.Help
	}
	return root
}
