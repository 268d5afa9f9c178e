// Package archive has the commands that back up a gateway, restore it, and migrate its database. They read the state folder and the database
// themselves, on the machine of the gateway.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"sluice/internal/backup"
	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/store/engine"
)

// nameFormat is the name of a backup without --to: a restore to a point in time chooses by it.
const nameFormat = "sluice-20060102T150405Z.backup"

// Commands are what the commands need.
type Commands struct {
	Locator *api.Locator
	Screen  terminal.Screen
	Version string
	Now     func() time.Time
	// Run makes a command from a function that ends at an interrupt.
	Run func(t func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error
}

// Backup is `sluice backup`.
func (c *Commands) Backup() *cobra.Command {
	var o struct {
		to              string
		keys            []string
		noFiles, asJSON bool
	}
	cmd := &cobra.Command{
		Use: "backup", Short: "Copy all data of the gateway into one file", Args: cobra.NoArgs,
		Long: `Copy the database, the files of conversations, the token, the configuration and its
secrets into one file. The gateway may run. Run this on the gateway's machine.

The file contains every conversation and secret: only you can read it. With
--encrypt-to it is encrypted for keys of age (age-keygen makes them), and only
somebody with one of the secret keys can restore it.

Without --to, the file is sluice-TIME.backup in the current folder. --to - writes to
standard output.`,
		RunE: c.Run(func(ctx context.Context, _ []string) error {
			keys, err := recipients(o.keys)
			if err != nil {
				return err
			}
			if o.asJSON && o.to == "-" {
				return terminal.UsageError{Text: "--json cannot be used with --to -: standard output is the backup"}
			}
			return c.backup(ctx, o.to, keys, o.noFiles, o.asJSON)
		}),
	}
	cmd.Flags().StringVar(&o.to, "to", "", "the `file` or folder to write to; - for standard output")
	cmd.Flags().StringArrayVar(&o.keys, "encrypt-to", nil, "encrypt for this public `key` (age1…), or for those in a file; may be repeated")
	cmd.Flags().BoolVar(&o.noFiles, "no-files", false, "leave out the files of conversations (workspaces)")
	return command.ResultJSON(cmd, &o.asJSON)
}

// recipients reads public keys, or files with one a line.
func recipients(keys []string) (all []age.Recipient, err error) {
	for _, key := range keys {
		text := key
		if !strings.HasPrefix(key, "age1") {
			data, err := os.ReadFile(filepath.Clean(key))
			if err != nil {
				return nil, terminal.Usagef("--encrypt-to: %s is neither a key that begins with age1 nor a file that can be read", key)
			}
			text = string(data)
		}
		found, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, terminal.Usagef("--encrypt-to: %s", err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// backedUp is a new backup as JSON.
type backedUp struct {
	File      string `json:"file"`
	Bytes     int64  `json:"bytes"`
	Encrypted bool   `json:"encrypted"`
	Took      int64  `json:"took_ms"`
	backup.Manifest
}

func (c *Commands) backup(ctx context.Context, to string, keys []age.Recipient, noFiles, asJSON bool) error {
	path, loader, err := c.Locator.Find()
	if err != nil {
		return terminal.UsageError{Text: err.Error()}
	}
	cfg, err := loader.Load(path)
	if err != nil {
		return err
	}
	if path != "" {
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	source := backup.Source{Version: c.Version, State: cfg.State, Store: cfg.Store.URL.Reveal(), Config: path, NoFiles: noFiles, Now: c.Now()}
	if err := os.MkdirAll(cfg.State, 0o700); err != nil {
		return err
	}
	if to == "-" {
		_, err := backup.Create(ctx, source, c.Screen.Out, keys)
		return err
	}
	name := c.Now().UTC().Format(nameFormat)
	if info, err := os.Stat(to); strings.HasSuffix(to, "/") || to == "" || err == nil && info.IsDir() {
		name = filepath.Join(to, name)
	} else {
		name = to
	}
	file, err := backup.NewFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist: create it, or name another one with --to", filepath.Dir(name))
	}
	if err != nil {
		return err
	}
	begin := c.Now()
	made, err := backup.Create(ctx, source, file, keys)
	if err != nil {
		return errors.Join(err, file.Drop())
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Keep()); err != nil {
		return err
	}
	how := "not encrypted"
	if len(keys) > 0 {
		how = "encrypted"
	}
	took, without := c.Now().Sub(begin).Round(time.Millisecond), ""
	if path == "" {
		without = "\nIt has no configuration, because no configuration file was found: name the file with --config."
	}
	return c.Screen.Result(asJSON, backedUp{File: name, Bytes: info.Size(), Encrypted: len(keys) > 0, Took: took.Milliseconds(), Manifest: made},
		fmt.Sprintf("%s (%s, %s, %s)", name, humanize.IBytes(uint64(info.Size())), how, took)+without)
}

// Restore is `sluice restore`.
func (c *Commands) Restore() *cobra.Command {
	var o struct {
		identity, at, config   string
		replace, check, asJSON bool
	}
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Restore a backup", Args: command.Args(1, 1),
		Long: `Restore a backup into the state folder of this machine and, for a gateway with
PostgreSQL, into the empty database that store.url names. Stop the gateway first.

The command changes nothing until it has read and checked the whole backup. It
refuses a backup that is damaged, from the other kind of database or from a newer
version. With --replace, the present state moves to the folder before-restore-TIME.

If FILE is a folder with backups, the newest one is used, or with --at the newest one
that began at this time or before. The time is the one in the file's name. What
happened between two backups can't be restored.

Messages that the gateway accepted after the backup are missing. Messages that were
queued in the backup are sent again: look at them with sluice deliveries list before
you let people in.`,
		RunE: c.Run(func(ctx context.Context, args []string) error {
			file, err := choose(args[0], o.at)
			if err != nil {
				return err
			}
			keys, err := identities(o.identity)
			if err != nil {
				return err
			}
			return c.restore(ctx, file, backup.Target{Config: o.config, Replace: o.replace, Check: o.check}, keys, o.asJSON)
		}),
	}
	cmd.Flags().StringVar(&o.identity, "identity", "", "the `file` with the secret key of an encrypted backup")
	cmd.Flags().StringVar(&o.at, "at", "", "in a folder of backups, use the newest one that began at this `time` or before, such as 2026-11-25T18:00:00Z")
	cmd.Flags().StringVar(&o.config, "restore-config", "", "also write the configuration and its secrets, to this `file` and beside it; else they are put into the state folder")
	cmd.Flags().BoolVar(&o.replace, "replace", false, "move the present state to another folder first")
	cmd.Flags().BoolVar(&o.check, "check", false, "only check that the backup is complete and can be restored")
	return command.ResultJSON(cmd, &o.asJSON)
}

func identities(file string) ([]age.Identity, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, terminal.Usagef("--identity: %s", err)
	}
	found, err := age.ParseIdentities(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, terminal.Usagef("--identity: %s", err)
	}
	return found, nil
}

// Migrate is `sluice migrate`.
func (c *Commands) Migrate(migrate func(ctx context.Context) (engine.Migrated, error)) *cobra.Command {
	var asJSON bool
	return command.ResultJSON(&cobra.Command{
		Use: "migrate", Short: "Update the schema of the database", Args: cobra.NoArgs,
		Long: `Update the schema of the database. The command says which migrations it applies, and
how long they took. A gateway does the same when it starts; use this command before
an upgrade of several gateways.`,
		RunE: c.Run(func(ctx context.Context, _ []string) error {
			done, err := migrate(ctx)
			if err != nil {
				return err
			}
			return c.Screen.Result(asJSON, migrated{Created: done.Created, Applied: append([]string{}, done.Applied...), Took: done.Took.Milliseconds()},
				"The schema of the database is up to date.")
		}),
	}, &asJSON)
}

// migrated is what happened to the schema as JSON.
type migrated struct {
	Created bool     `json:"created"` // the database was empty
	Applied []string `json:"applied"` // migrations
	Took    int64    `json:"took_ms"`
}

// choose returns the backup that a file or a folder and a time name.
func choose(name, at string) (string, error) {
	limit := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if at != "" {
		var err error
		if limit, err = time.Parse(time.RFC3339, at); err != nil {
			return "", terminal.Usagef("--at %q: want a time such as 2026-11-25T18:00:00Z", at)
		}
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s does not exist: name a backup, or a folder with backups", name)
	}
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		if at != "" {
			return "", terminal.UsageError{Text: "--at chooses from a folder of backups: name the folder"}
		}
		return name, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(entries) { // sorted by name, and so by time
		if made, err := time.Parse(nameFormat, e.Name()); err == nil && !made.After(limit) {
			return filepath.Join(name, e.Name()), nil
		}
	}
	if at == "" {
		return "", fmt.Errorf("%s has no backups: their names would be like %s", name, nameFormat)
	}
	return "", fmt.Errorf("%s has no backups that began at that time or before: their names would be like %s", name, nameFormat)
}

func (c *Commands) restore(ctx context.Context, file string, t backup.Target, keys []age.Identity, asJSON bool) error {
	path, loader, err := c.Locator.Find()
	if err != nil {
		return terminal.UsageError{Text: err.Error()}
	}
	var cfg *config.Config
	if cfg, err = loader.Load(path); err != nil {
		return err
	}
	t.State, t.Store, t.Now = cfg.State, cfg.Store.URL.Reveal(), c.Now()
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return err
	}
	done, err := backup.Restore(ctx, io.Reader(f), t, keys)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	made := fmt.Sprintf("%s: made %s by version %s", file, done.Created.Format(time.RFC3339), cmp.Or(done.Version, "unknown"))
	text := made + "\nIt is complete and can be restored."
	if !t.Check {
		text = fmt.Sprintf("%s\nRestored to %s. Start the gateway with: sluice serve", made, t.State)
	}
	if done.Kept != "" {
		text += fmt.Sprintf("\nThe previous state is in %s. Delete this folder when you no longer need it.", done.Kept)
	}
	return c.Screen.Result(asJSON, restored{File: file, State: t.State, Restored: !t.Check, Kept: done.Kept, Manifest: done.Manifest}, text)
}

// restored is what was restored, or could be, as JSON.
type restored struct {
	File     string `json:"file"`
	State    string `json:"state"`
	Restored bool   `json:"restored"`       // false: it was only checked
	Kept     string `json:"kept,omitempty"` // the folder with the previous state
	backup.Manifest
}
