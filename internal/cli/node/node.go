// Package node has the commands that make this machine a node of a gateway.
package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	core "sluice/internal/node"
	"sluice/internal/node/protocol"
)

// Deps is what the commands need.
type Deps struct {
	command.Deps
	Stdin   io.Reader
	Version string // of the program
}

// Commands are the commands below "sluice node".
func Commands(d Deps) []*cobra.Command { return []*cobra.Command{d.pair(), d.run()} }

// stateFolder is where a node keeps its state.
func stateFolder(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for the node's state (set --state): %w", err)
	}
	return filepath.Join(dir, "sluice-node"), nil
}

func (d Deps) pair() *cobra.Command {
	var dir, name string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "pair URL", Short: "Ask a gateway to make this machine a node", Args: command.Args(1, 1),
		Long: `Ask a gateway to make this machine a node. The command prints a code, which an
owner of the gateway approves within an hour. Then "sluice node run" connects.`,
		RunE: d.Run(func(ctx context.Context, args []string) error {
			folder, err := stateFolder(dir)
			if err != nil {
				return err
			}
			p, err := core.Pair(ctx, folder, args[0], name)
			if err != nil {
				return err
			}
			start := "sluice node run"
			if dir != "" {
				start += " --state " + dir
			}
			return d.Screen.Result(asJSON, p, fmt.Sprintf("This machine asks to be the node %s. An owner of the gateway approves it with\n\n  sluice nodes approve %s\n\nwithin an hour. Start it with: %s", terminal.Line(p.Node), terminal.Line(p.Code), terminal.Line(start)))
		}),
	}
	cmd.Flags().StringVar(&dir, "state", "", "`folder` of the node's token and outbox (default: sluice-node in the user's configuration folder)")
	cmd.Flags().StringVar(&name, "name", "node", "`name` of the node: a-z 0-9 -")
	return command.ResultJSON(cmd, &asJSON)
}

func (d Deps) run() *cobra.Command {
	var f struct {
		dir, folder string
		commands    []string
		notify      bool
	}
	cmd := &cobra.Command{
		Use: "run", Short: "Connect this node to its gateway", Args: command.Args(0, 0),
		Long: `Connect this node to its gateway until Ctrl-C. Each line of standard input is a
message; a line "!event NAME JSON" is an event. Messages for the node are printed.

Agents get only the tools that you allow: files of one folder, commands of a
list, notifications. A command is given as its words; a last word * allows more
arguments. No shell is involved.`,
		RunE: d.Run(func(ctx context.Context, _ []string) error {
			dir, err := stateFolder(f.dir)
			if err != nil {
				return err
			}
			disk, err := core.Open(dir)
			if err != nil {
				return err
			}
			tools := core.Tools{Version: d.Version, Platform: runtime.GOOS, Folder: f.folder, Notify: f.notify}
			for _, c := range f.commands {
				if words := strings.Fields(c); len(words) > 0 {
					tools.Commands = append(tools.Commands, words)
				}
			}
			return work(ctx, d.Stdin, disk, tools, d.Screen)
		}),
	}
	cmd.Flags().StringVar(&f.dir, "state", "", "`folder` of the node's token and outbox")
	cmd.Flags().StringVar(&f.folder, "folder", "", "`folder` whose files agents may list, read and write")
	cmd.Flags().StringArrayVar(&f.commands, "command", nil, "`command` that agents may run; may be repeated")
	cmd.Flags().BoolVar(&f.notify, "notify", false, "show messages as notifications, and let agents show some")
	return cmd
}

// work runs a node. The reader of standard input ends with the process: a terminal can't be interrupted.
func work(ctx context.Context, stdin io.Reader, disk *core.Disk, tools core.Tools, screen terminal.Screen) error {
	note := func(text string) { _, _ = fmt.Fprintln(screen.Err, "node: "+terminal.Line(text)) } // nobody may read it
	n := core.New(disk, func(m core.Received) error {
		if tools.Notify && !m.Silent && core.Notify(ctx, "Sluice", m.Text) != nil {
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
			f, err := core.Said(lines.Text())
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
