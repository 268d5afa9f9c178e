package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/internal/hostos"
)

// Spec is what a service runs.
type Spec struct {
	System  bool   // of the machine; else of this person
	Created bool   // the configuration is new
	Program string // absolute path
	Config  string // absolute path; empty: the defaults
	State   string // absolute path; empty: where the configuration says
}

// manager starts and stops services on one system.
type manager interface {
	// install creates the service, or replaces it, and starts it. said is what the person has to know.
	install(ctx context.Context, s Spec) (said []string, err error)
	// uninstall stops and removes the service. A service that is not installed is no error.
	uninstall(ctx context.Context, system bool) error
	// status is one line about the service, and whether it runs.
	status(ctx context.Context, system bool) (text string, running bool, err error)
}

// run runs a program of the machine and returns what it prints.
type run func(ctx context.Context, name string, args ...string) (string, error)

// commands are what the three commands share.
type commands struct {
	loader  config.Loader
	locator *api.Locator
	screen  terminal.Screen
	manager manager
	system  bool
	asJSON  bool
}

// Command is `sluice service`.
func Command(loader config.Loader, locator *api.Locator, screen terminal.Screen, runner func(t func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error) *cobra.Command {
	c := &commands{loader: loader, locator: locator, screen: screen, manager: newManager(loader.Home, loader.Getenv, execute)}
	root := &cobra.Command{Use: "service", Short: "Run the gateway as a service of this machine", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	install := &cobra.Command{
		Use: "install", Short: "Install the gateway as a service, and start it", Args: cobra.NoArgs,
		Long: `Install the gateway as a service, and start it: with systemd on Linux, launchd on
macOS, the service manager on Windows. It starts again with your session, or
with --system when the machine starts, and after a crash.

The service uses the configuration that ` + "`sluice serve`" + ` would use here. With
--system it uses ` + "`--config`" + `, or creates one in the folder of the machine. Running
the command again changes the service.`,
		RunE: runner(func(ctx context.Context, _ []string) error { return c.install(ctx) }),
	}
	uninstall := &cobra.Command{
		Use: "uninstall", Short: "Stop the service and remove it; its configuration and state stay", Args: cobra.NoArgs,
		RunE: runner(func(ctx context.Context, _ []string) error { return c.uninstall(ctx) }),
	}
	status := &cobra.Command{
		Use: "status", Short: "Show whether the service runs", Args: cobra.NoArgs,
		RunE: runner(func(ctx context.Context, _ []string) error { return c.status(ctx) }),
	}
	install.Flags().BoolVar(&c.asJSON, "json", false, "print what was installed as JSON")
	uninstall.Flags().BoolVar(&c.asJSON, "json", false, "print the result as JSON")
	status.Flags().BoolVar(&c.asJSON, "json", false, "print the state as JSON")
	for _, cmd := range []*cobra.Command{install, uninstall, status} {
		cmd.Flags().BoolVar(&c.system, "system", runtime.GOOS == "windows", "the service of the machine instead of your own; needs the rights of an administrator")
		root.AddCommand(cmd)
	}
	return root
}

func (c *commands) install(ctx context.Context) error {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	if spec.Config != "" {
		loader := c.loader
		if spec.State != "" {
			loader.Getenv = with(loader.Getenv, config.EnvState, spec.State)
		}
		if _, err := loader.Load(spec.Config); err != nil {
			return err
		}
	}
	said, err := c.manager.install(ctx, spec)
	if err != nil {
		return err
	}
	if err := c.remember(spec); err != nil {
		return err
	}
	text := strings.Join(append(said, "The other commands find it: try sluice status"), "\n")
	return c.screen.Result(c.asJSON, installed{System: spec.System, Program: spec.Program, Config: spec.Config, State: spec.State, Text: text}, text)
}

// installed is the new service as JSON.
type installed struct {
	System  bool   `json:"system"` // of the machine
	Program string `json:"program"`
	Config  string `json:"config,omitempty"`
	State   string `json:"state,omitempty"`
	Text    string `json:"text"`
}

// with is an environment with another value of a variable.
func with(getenv func(string) (string, bool), name, value string) func(string) (string, bool) {
	return func(asked string) (string, bool) {
		if asked == name {
			return value, true
		}
		return getenv(asked)
	}
}

// spec decides what the service runs.
func (c *commands) spec() (Spec, error) {
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("find this program: %w", err)
	}
	s := Spec{System: c.system, Program: program}
	state, _ := c.loader.Getenv(config.EnvState)
	if c.system {
		return c.systemSpec(s, state)
	}
	path, err := c.loader.Find(c.locator.Config)
	if err != nil {
		return Spec{}, terminal.UsageError{Text: err.Error()}
	}
	if s.Config, err = absolute(path); err != nil {
		return Spec{}, err
	}
	s.State, err = absolute(state)
	return s, err
}

// systemSpec uses the folders of the machine, and writes a first configuration there.
func (c *commands) systemSpec(s Spec, state string) (_ Spec, err error) {
	folder, machineState := hostos.SystemFolders(c.loader.Getenv)
	s.State = cmp.Or(state, machineState)
	path := cmp.Or(c.locator.Config, filepath.Join(folder, config.FileName))
	if s.Config, err = absolute(path); err != nil {
		return s, err
	}
	if _, err := os.Stat(s.Config); c.locator.Config != "" || !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // as other folders of /etc
		return s, needsRoot(err)
	}
	s.Created = true
	return s, needsRoot(os.WriteFile(s.Config, []byte("# Sluice. All keys: sluice config schema, and docs/configuration.md\ngateway: { listen: "+config.DefaultListen+" }\n"), 0o640)) //nolint:gosec // the service reads it as its group
}

func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

func needsRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: run the command with the rights of an administrator (sudo)", err)
	}
	return err
}

// remember writes where the service has its files.
func (c *commands) remember(s Spec) error {
	file := api.ServiceRecord(c.loader, s.System)
	data, err := json.Marshal(api.Service{Config: s.Config, State: s.State})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // it has no secrets
		return needsRoot(err)
	}
	return needsRoot(os.WriteFile(file, append(data, '\n'), 0o644)) //nolint:gosec // see above
}

func (c *commands) uninstall(ctx context.Context) error {
	if err := c.manager.uninstall(ctx, c.system); err != nil {
		return err
	}
	if err := os.Remove(api.ServiceRecord(c.loader, c.system)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return needsRoot(err)
	}
	const text = "The service is removed. Its configuration and state are still there."
	return c.screen.Result(c.asJSON, removed{System: c.system, Text: text}, text)
}

// removed is the service that is gone as JSON.
type removed struct {
	System bool   `json:"system"` // of the machine
	Text   string `json:"text"`
}

// errNotRunning makes the command exit with 1.
var errNotRunning = terminal.ErrReported

// state is the service as JSON.
type state struct {
	Running bool   `json:"running"`
	Ready   bool   `json:"ready"` // the gateway works
	Text    string `json:"text"`
}

func (c *commands) status(ctx context.Context) error {
	text, running, err := c.manager.status(ctx, c.system)
	if err != nil {
		return err
	}
	st := state{Running: running, Text: text}
	if running {
		said := "The gateway is ready."
		if err := c.locator.Ready(ctx); err != nil {
			said = err.Error()
		} else {
			st.Ready = true
		}
		st.Text += "\n" + said
	}
	if err := c.screen.Result(c.asJSON, st, st.Text); err != nil {
		return err
	}
	if !st.Ready {
		return errNotRunning
	}
	return nil
}

// execute runs a program of the machine.
func execute(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return text, fmt.Errorf("%s is not installed on this machine", name)
	case err != nil && text != "":
		return text, fmt.Errorf("%s %s: %s", name, strings.Join(args, " "), text)
	case err != nil:
		return text, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return text, nil
}

// replace writes a file and its folder.
func replace(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // as other folders of services
		return needsRoot(err)
	}
	return needsRoot(os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // it has no secrets
}

// remove deletes a file that may not exist.
func remove(file string) (existed bool, err error) {
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, needsRoot(err)
}
