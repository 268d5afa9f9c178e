package automation

import (
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func nodesCommand(g command.Deps) *cobra.Command {
	return command.Group("nodes", "Approve and revoke programs and devices that dial in", nodesList(g), nodesApprove(g), nodesLevel(g), nodesRevoke(g))
}

// nodeRecord is a node as the gateway lists it.
type nodeRecord struct {
	ID, Code, Status, Platform, Classification, Session string
	Connected                                           bool
	Created                                             time.Time
}

type nodeList struct{ Nodes []nodeRecord }

func nodesList(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "list", Short: "List nodes, and programs that wait for approval", Args: command.Args(0, 0)}, command.Get("/v1/nodes", nil), func(s terminal.Screen, got nodeList) error {
		return terminal.List(s, `No nodes found. To add one, run "sluice node pair" on another machine.`, []string{"NODE", "STATUS", "CODE", "LEVEL", "PLATFORM", "CONNECTED", "CREATED"}, got.Nodes, func(n nodeRecord) []string {
			connected := "no"
			if n.Connected {
				connected = "yes"
			}
			return []string{n.ID, n.Status, n.Code, n.Classification, n.Platform, connected, s.Ago(n.Created)}
		})
	})
}

func nodesApprove(g command.Deps) *cobra.Command {
	var level string
	cmd := command.Doing(g, &cobra.Command{
		Use: "approve CODE", Short: "Make the program that shows this code a node", Args: command.Args(1, 1),
		Long: `Make the program that shows this code a node. It gets nothing above its level, and
what it sends has this level.`,
	}, func(args []string) (api.Request, error) {
		body := map[string]string{"code": args[0]}
		if level != "" {
			body["classification"] = strings.ToUpper(level)
		}
		return api.Request{Method: http.MethodPost, Path: "/v1/nodes/approve", Body: body}, nil
	}, func(s terminal.Screen, answer api.Answer, _ []string) error {
		n, err := api.Decode[nodeRecord](answer)
		if err != nil {
			return err
		}
		return s.Printf("%s is a node, level %s, session %s", terminal.Line(n.ID), n.Classification, terminal.Line(n.Session))
	})
	cmd.Flags().StringVar(&level, "classification", "", "highest `level` of what the node gets (default PUBLIC)")
	return cmd
}

func nodesLevel(g command.Deps) *cobra.Command {
	return command.Doing(g, &cobra.Command{
		Use: "level NODE LEVEL", Short: "Change the level of a node", Args: command.Args(2, 2),
		Long: `Change the level of a node: public, internal, confidential or restricted. A node gets
nothing above its level, and what it sends has this level. The node is disconnected
and connects again.`,
	}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPatch, Path: api.Path("nodes", args[0]), Body: map[string]string{"classification": strings.ToUpper(args[1])}}, nil
	}, func(s terminal.Screen, answer api.Answer, _ []string) error {
		n, err := api.Decode[nodeRecord](answer)
		if err != nil {
			return err
		}
		return s.Printf("%s has the level %s", terminal.Line(n.ID), n.Classification)
	})
}

func nodesRevoke(g command.Deps) *cobra.Command {
	return command.Doing(g, &cobra.Command{Use: "revoke NODE", Short: "Revoke a node's access, and disconnect it", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodDelete, Path: api.Path("nodes", args[0])}, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		return s.Printf("%s no longer has access", terminal.Line(args[0]))
	})
}
