package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/internal/node"
	"sluice/internal/node/protocol"
)

func nodesCommand(g *gateway) *cobra.Command {
	return group("nodes", "Approve and revoke programs and devices that dial in", nodesList(g), nodesApprove(g), nodesLevel(g), nodesRevoke(g))
}

// nodeRecord is a node as the gateway lists it.
type nodeRecord struct {
	ID, Code, Status, Platform, Classification, Session string
	Connected                                           bool
	Created                                             time.Time
}

type nodeList struct{ Nodes []nodeRecord }

func nodesList(g *gateway) *cobra.Command {
	return asking(g, &cobra.Command{Use: "list", Short: "List nodes, and programs that wait for approval", Args: arguments(0, 0)}, get("/v1/nodes", nil), func(s terminal.Screen, got nodeList) error {
		return terminal.List(s, `No nodes found. "sluice node" on another machine asks to become one.`, []string{"NODE", "STATUS", "CODE", "LEVEL", "PLATFORM", "CONNECTED", "CREATED"}, got.Nodes, func(n nodeRecord) []string {
			connected := "no"
			if n.Connected {
				connected = "yes"
			}
			return []string{n.ID, n.Status, n.Code, n.Classification, n.Platform, connected, s.Ago(n.Created)}
		})
	})
}

func nodesApprove(g *gateway) *cobra.Command {
	var level string
	cmd := doing(g, &cobra.Command{
		Use: "approve CODE", Short: "Make the program that shows this code a node", Args: arguments(1, 1),
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

func nodesLevel(g *gateway) *cobra.Command {
	return doing(g, &cobra.Command{
		Use: "level NODE LEVEL", Short: "Change the level of a node", Args: arguments(2, 2),
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

func nodesRevoke(g *gateway) *cobra.Command {
	return doing(g, &cobra.Command{Use: "revoke NODE", Short: "Revoke a node's access, and disconnect it", Args: arguments(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodDelete, Path: api.Path("nodes", args[0])}, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		return s.Printf("%s no longer has access", terminal.Line(args[0]))
	})
}

func nodeCommand(d Deps, r runner, screen terminal.Screen) *cobra.Command {
	return group("node", "Make this machine a node of a gateway", nodePair(r, screen), nodeRun(d, r, screen))
}

// nodeFolder is where a node keeps its state.
func nodeFolder(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for the node's state (set --state): %w", err)
	}
	return filepath.Join(dir, "sluice-node"), nil
}

func nodePair(r runner, screen terminal.Screen) *cobra.Command {
	var dir, name string
	cmd := &cobra.Command{
		Use: "pair URL", Short: "Ask a gateway to make this machine a node", Args: arguments(1, 1),
		Long: `Ask a gateway to make this machine a node. The command prints a code, which an
owner of the gateway approves within an hour. Then "sluice node run" connects.`,
		RunE: r.run(func(ctx context.Context, args []string) error {
			folder, err := nodeFolder(dir)
			if err != nil {
				return err
			}
			p, err := node.Pair(ctx, folder, args[0], name)
			if err != nil {
				return err
			}
			return screen.Printf("This machine asks to be the node %s. An owner of the gateway approves it with\n\n  sluice nodes approve %s\n\nwithin an hour. Start it with: sluice node run", terminal.Line(p.Node), terminal.Line(p.Code))
		}),
	}
	cmd.Flags().StringVar(&dir, "state", "", "`folder` of the node's token and outbox (default: sluice-node in the user's configuration folder)")
	cmd.Flags().StringVar(&name, "name", "node", "`name` of the node: a-z 0-9 -")
	return cmd
}

func nodeRun(d Deps, r runner, screen terminal.Screen) *cobra.Command {
	var f struct {
		dir, folder string
		commands    []string
		notify      bool
	}
	cmd := &cobra.Command{
		Use: "run", Short: "Connect this node to its gateway", Args: arguments(0, 0),
		Long: `Connect this node to its gateway until Ctrl-C. Each line of standard input is a
message; a line "!event NAME JSON" is an event. Messages for the node are printed.

Agents get only the tools that you allow: files of one folder, commands of a
list, notifications. A command is given as its words; a last word * allows more
arguments. No shell is involved.`,
		RunE: r.run(func(ctx context.Context, _ []string) error {
			dir, err := nodeFolder(f.dir)
			if err != nil {
				return err
			}
			disk, err := node.Open(dir)
			if err != nil {
				return err
			}
			tools := node.Tools{Version: d.Version, Platform: runtime.GOOS, Folder: f.folder, Notify: f.notify}
			for _, c := range f.commands {
				if words := strings.Fields(c); len(words) > 0 {
					tools.Commands = append(tools.Commands, words)
				}
			}
			return runNode(ctx, d.Stdin, disk, tools, screen)
		}),
	}
	cmd.Flags().StringVar(&f.dir, "state", "", "`folder` of the node's token and outbox")
	cmd.Flags().StringVar(&f.folder, "folder", "", "`folder` whose files agents may list, read and write")
	cmd.Flags().StringArrayVar(&f.commands, "command", nil, "`command` that agents may run; may be repeated")
	cmd.Flags().BoolVar(&f.notify, "notify", false, "show messages as notifications, and let agents show some")
	return cmd
}

// runNode runs a node. The reader of standard input ends with the process: a terminal can't be interrupted.
func runNode(ctx context.Context, stdin io.Reader, disk *node.Disk, tools node.Tools, screen terminal.Screen) error {
	note := func(text string) { _, _ = fmt.Fprintln(screen.Err, "node: "+terminal.Line(text)) } // nobody may read it
	n := node.New(disk, func(m node.Received) error {
		if tools.Notify && !m.Silent && node.Notify(ctx, "Sluice", m.Text) != nil {
			note("the notification could not be shown; the message is printed")
		}
		return screen.Printf("%s", terminal.Text(m.Text))
	}, note, tools)
	go func() {
		lines := bufio.NewScanner(stdin)
		lines.Buffer(nil, protocol.FrameMax)
		for lines.Scan() {
			if strings.TrimSpace(lines.Text()) == "" {
				continue
			}
			f, err := node.Said(lines.Text())
			if err == nil {
				err = n.Say(f)
			}
			if err != nil {
				note("not sent: " + err.Error())
			}
		}
		if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
			note("standard input: " + err.Error())
		}
	}()
	return n.Run(ctx)
}
