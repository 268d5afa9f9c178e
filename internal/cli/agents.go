package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func agentsCommand(g command.Deps) *cobra.Command {
	return command.Group("agents", "The agents, and the programs that work for them", agentsList(g), agentsShow(g), agentsKey(g))
}

func agentsList(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "list", Short: "List the agents", Args: command.Args(0, 0)}, command.Get("/v1/agents", nil), func(s terminal.Screen, got api.AgentList) error {
		return terminal.Rows(s, []string{"ID", "NAME", "KIND", "MODEL", "LEVEL", "CONNECTED"}, got.Agents, func(a api.Agent) []string {
			return []string{a.ID, terminal.Line(a.Name), a.Kind, a.Model, a.Classification, connected(a)}
		})
	})
}

// connected is how many instances of an agent's program are there.
func connected(a api.Agent) string {
	if a.Kind != "nats" {
		return ""
	}
	return strconv.Itoa(len(a.Instances))
}

func agentsShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show AGENT", Short: "Show an agent, with its tools and the programs that are connected", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Path: api.Path("agents", args[0]), Query: api.Query("tools", "true")}, nil
	}, printAgent)
}

func printAgent(s terminal.Screen, a api.Agent) error {
	def := ""
	if a.Default {
		def = "yes"
	}
	err := s.Pairs("id", a.ID, "name", terminal.Line(a.Name), "default", def, "kind", a.Kind, "model", a.Model, "level", a.Classification, "connected", connected(a))
	if err != nil {
		return err
	}
	if len(a.Tools) > 0 {
		err = errors.Join(s.Printf(""), terminal.Rows(s, []string{"TOOL", "WHEN CALLED", "RESULTS", "GETS AT MOST"}, a.Tools, func(t api.Tool) []string {
			return []string{terminal.Line(t.Name), t.Permission, t.Source, t.Sink}
		}))
	}
	if err != nil || len(a.Instances) == 0 {
		return err
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	return terminal.Rows(s, []string{"INSTANCE", "VERSION", "STARTED", "TURNS"}, a.Instances, func(i api.Instance) []string {
		return []string{terminal.Line(i.ID), terminal.Line(i.Version), s.Ago(i.Started), strconv.Itoa(i.Turns)}
	})
}

func agentsKey(g command.Deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "key", Short: "Create the key with which a program connects to the bus", Args: command.Args(0, 0),
		Long: `Make a key for a program that is an agent of kind nats. The public part belongs in
the configuration. The program signs with the secret part, which is stored nowhere.`,
	}
	cmd.RunE = g.Run(func(context.Context, []string) error {
		public, seed, err := newKey()
		if err != nil {
			return err
		}
		if asJSON {
			return g.Screen.Object(map[string]string{"nkey": public, "seed": seed})
		}
		return g.Screen.Printf("For the agent in sluice.yaml:     nkey: %s\nFor the program; keep it secret:  %s", public, seed)
	})
	return command.JSON(cmd, &asJSON)
}

func newKey() (public, seed string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	defer pair.Wipe()
	if public, err = pair.PublicKey(); err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	text, err := pair.Seed()
	if err != nil {
		return "", "", fmt.Errorf("make key: %w", err)
	}
	return public, string(text), nil
}
