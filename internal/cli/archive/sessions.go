package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/backup"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/internal/transcript"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Export is `sluice export`.
func (c *Commands) Export() *cobra.Command {
	var to, agent, level string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "export", Short: "Write sessions with their messages as JSON lines", Args: cobra.NoArgs,
		Long: `Write all sessions, including archived ones, with their messages and labels as JSON lines.
Run this on the gateway's machine; the gateway may run meanwhile.

Runs, deliveries, memories, the content of attachments and the files of workspaces are not
exported: use sluice backup to copy everything.`,
		RunE: c.Run(func(ctx context.Context, _ []string) error {
			highest := flow.Restricted
			if level != "" {
				if err := highest.UnmarshalText([]byte(level)); err != nil {
					return terminal.Usagef("--level: %s", err)
				}
			}
			if asJSON && (to == "" || to == "-") {
				return terminal.UsageError{Text: "--json needs --to FILE: without it, standard output is the export"}
			}
			return c.export(ctx, to, agent, highest, asJSON)
		}),
	}
	cmd.Flags().StringVar(&to, "to", "", "write to this `file` (default: standard output)")
	cmd.Flags().StringVar(&agent, "agent", "", "export only the sessions of the agent with this `id`")
	cmd.Flags().StringVar(&level, "level", "", "export only sessions up to this `level` (default: all)")
	return command.ResultJSON(cmd, &asJSON)
}

// moved is what an export or an import wrote as JSON.
type moved struct {
	File     string `json:"file"`
	Sessions int    `json:"sessions"`
	Messages int    `json:"messages"`
}

func (c *Commands) export(ctx context.Context, to, agent string, level flow.Level, asJSON bool) (err error) {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	if _, err := os.Stat(cfg.State); cfg.Store.URL == "" && err != nil {
		return fmt.Errorf("no state of the gateway found (check \"state\" in the configuration): %w", err)
	}
	db, done, err := backup.OpenCopy(ctx, cfg.State, cfg.Store.URL.Reveal())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if to == "" || to == "-" {
		_, err := transcript.Export(ctx, db, c.Screen.Out, c.Version, c.Now(), agent, level)
		return err
	}
	file, err := backup.NewFile(to)
	if err != nil {
		return err
	}
	n, err := transcript.Export(ctx, db, file, c.Version, c.Now(), agent, level)
	if err != nil {
		return errors.Join(err, file.Drop())
	}
	if err := file.Keep(); err != nil {
		return err
	}
	return c.Screen.Result(asJSON, moved{to, n.Sessions, n.Messages}, fmt.Sprintf("%s: %d sessions with %d messages", to, n.Sessions, n.Messages))
}

// Import is `sluice import`.
func (c *Commands) Import() *cobra.Command {
	var renames []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Import sessions from a file of sluice export", Args: command.Args(1, 1),
		Long: `Import sessions with their messages and labels from a file of sluice export; - reads
standard input. With SQLite, stop the gateway first; with PostgreSQL it may run meanwhile.

Sessions and messages that are already stored stay as they are, so an import can be
repeated, for example after an interruption. The import stops at the first invalid line
and reports its number.`,
		RunE: c.Run(func(ctx context.Context, args []string) error { return c.load(ctx, args[0], renames, asJSON) }),
	}
	cmd.Flags().StringArrayVar(&renames, "agent", nil, "give the sessions of agent OLD to agent NEW: `OLD=NEW`; may be repeated")
	return command.ResultJSON(cmd, &asJSON)
}

func (c *Commands) load(ctx context.Context, name string, renames []string, asJSON bool) (err error) {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	o := transcript.Options{
		Rename: map[string]string{},
		HasAgent: func(id string) bool {
			return slices.ContainsFunc(cfg.Agents.List, func(a config.Agent) bool { return a.ID == id })
		},
		Partition: func(id sessions.ID) int { return sessions.SessionLane(id).Partition(cfg.Limits.Partitions) },
	}
	for _, r := range renames {
		old, now, ok := strings.Cut(r, "=")
		if !ok || !o.HasAgent(now) {
			return terminal.Usagef("--agent %q: use OLD=NEW, where NEW is an agent of the configuration", r)
		}
		o.Rename[old] = now
	}
	in := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // it was only read
		in = file
	}
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return err
	}
	db, err := backup.OpenStore(ctx, cfg.State, cfg.Store.URL.Reveal())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.FixPartitions(ctx, cfg.Limits.Partitions); err != nil {
		return err
	}
	n, err := transcript.Import(ctx, in, db, o)
	if err != nil {
		return fmt.Errorf("%w\n%d new sessions with %d new messages were imported before this error", err, n.Sessions, n.Messages)
	}
	return c.Screen.Result(asJSON, moved{name, n.Sessions, n.Messages}, fmt.Sprintf("%d new sessions with %d new messages", n.Sessions, n.Messages))
}

func (c *Commands) config() (*config.Config, error) {
	path, loader, err := c.Locator.Find()
	if err != nil {
		return nil, terminal.UsageError{Text: err.Error()}
	}
	return loader.Load(path)
}
