package cli

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"sluice/internal/cli/api"
	"sluice/internal/cli/chat"
	"sluice/internal/cli/command"
	"sluice/internal/cli/configure"
	"sluice/internal/cli/doctor"
	"sluice/internal/cli/setup"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
)

func serveCommand(d Deps, r runner, locator *api.Locator) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the gateway", Args: command.Args(0, 0),
		Long: `Run the gateway until Ctrl-C or SIGTERM. A second one stops it at once, without
waiting for work in progress.

Without a configuration it uses an embedded database and message bus, web chat
and an offline demo model.`,
		RunE: r.run(func(ctx context.Context, _ []string) error {
			if _, err := d.Loader.Find(locator.Config); err != nil {
				return terminal.UsageError{Text: err.Error()}
			}
			if _, _, err := net.SplitHostPort(listen); listen != "" && err != nil {
				return terminal.Usagef("--listen %q: use address:port, for example %s", listen, config.DefaultListen)
			}
			return d.Serve(ctx, ServeOptions{ConfigPath: locator.Config, Listen: listen, Version: d.Version, Stdout: d.Stdout, Stderr: d.Stderr})
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "", "listen on this `address` instead of gateway.listen")
	return cmd
}

func initCommand(d Deps, r runner, locator *api.Locator) *cobra.Command {
	var yes, force, asJSON bool
	cmd := &cobra.Command{
		Use: "init", Short: "Create a configuration, asking a few questions", Args: command.Args(0, 0),
		Long: `Create a commented configuration file, by default ./` + config.FileName + `. Use --config for
another path. Only you can read the file.

Secrets are not shown while you type them. Each is stored in its own file in the
folder ` + setup.SecretsDir + ` next to the configuration. To keep a secret somewhere else,
answer with a reference such as ${TELEGRAM_TOKEN} or ${file:/path}. Each answer is
checked at once, and the platform is asked whether the token is valid.`,
		RunE: r.run(func(ctx context.Context, _ []string) error {
			path := locator.Config
			if path == "" {
				path = config.FileName
			}
			s := &setup.Setup{
				Screen: terminal.Screen{Out: d.Stdout, Err: d.Stderr, Now: d.Now}, Input: d.Stdin, Terminal: d.Terminal, Secret: d.Secret, Typing: d.Typing,
				Loader: d.Loader, Path: path, Force: force, JSON: asJSON, Probe: d.profile,
			}
			return s.Run(ctx, yes)
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing: use web chat and the offline demo model")
	cmd.Flags().BoolVar(&force, "force", false, "write over existing files")
	return command.ResultJSON(cmd, &asJSON)
}

// profile asks a platform for the profile of the account on one channel.
func (d Deps) profile(ctx context.Context, cfg *config.Config, channel string) (string, error) {
	if d.Probe == nil {
		return "", nil
	}
	for _, p := range d.Probe(ctx, cfg) {
		if p.Channel == channel || p.Channel == "channels" {
			return p.Name, p.Err
		}
	}
	return "", nil
}

func chatCommand(d Deps, screen terminal.Screen, locator *api.Locator) *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use: "chat [TEXT...]", Short: "Talk to an agent from the terminal", Args: command.Args(0, command.Unlimited),
		Long: `Talk to an agent from the terminal. With TEXT, send one message and print the
reply.

Type /help for the gateway's commands; they also work while a reply arrives.
Other lines are sent after the reply. When the agent asks for permission, type
y to allow or n to deny. When several questions are open, answer each with
/approve ID allow or /approve ID deny.

Ctrl-C stops the agent's current work. Ctrl-C at the prompt, Ctrl-D and /quit
end the chat.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := locator.Connect()
			if err != nil {
				return failed(err)
			}
			c := &chat.Chat{Client: client, Session: session, Screen: screen, Input: d.Stdin, Terminal: d.Terminal, Signals: d.Signals}
			if len(args) > 0 {
				return failed(c.Once(cmd.Context(), strings.Join(args, " ")))
			}
			return failed(c.Run(cmd.Context()))
		},
	}
	cmd.Flags().StringVar(&session, "session", "main", "the session, by `key` or ID")
	return cmd
}

func doctorCommand(d Deps, r runner, locator *api.Locator, screen terminal.Screen) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check every component and suggest fixes", Args: command.Args(0, 0),
		RunE: r.run(func(ctx context.Context, _ []string) error {
			return (&doctor.Doctor{Screen: screen, Locator: locator, HTTP: locator.HTTP, Version: d.Version, Probe: d.Probe, JSON: asJSON}).Run(ctx)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

func configCommand(d Deps, g command.Deps, locator *api.Locator) *cobra.Command {
	screen := g.Screen
	var checkJSON, showJSON bool
	check := &cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration and list every mistake with its place", Args: command.Args(0, 1),
		RunE: g.Run(func(_ context.Context, args []string) error {
			given := locator.Config
			if len(args) > 0 {
				given = args[0]
			}
			return doctor.CheckConfig(screen, locator.Loader, given, checkJSON)
		}),
	}
	schema := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of sluice.yaml", Args: command.Args(0, 0),
		RunE: g.Run(func(context.Context, []string) error {
			data, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = screen.Out.Write(data)
			return err
		}),
	}
	show := &cobra.Command{
		Use: "show", Short: "Print the configuration with all defaults; secrets are hidden", Args: command.Args(0, 0),
		RunE: g.Run(func(context.Context, []string) error {
			cfg, err := locator.Load()
			if err != nil {
				return err
			}
			data, err := cfg.YAML()
			if err != nil {
				return err
			}
			if showJSON {
				var tree any
				if err := yaml.Unmarshal(data, &tree); err != nil {
					return fmt.Errorf("read the configuration: %w", err)
				}
				return screen.Object(tree)
			}
			_, err = screen.Out.Write(data)
			return err
		}),
	}
	command.ResultJSON(check, &checkJSON)
	command.ResultJSON(show, &showJSON)
	group := command.Group("config", "Check, show and change the configuration", check, schema, show)
	group.AddCommand(configure.Commands(configure.Deps{Deps: g, Stdin: d.Stdin, Terminal: d.Terminal, Secret: d.Secret})...)
	return group
}
