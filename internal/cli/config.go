package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"sluice/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	check := &cobra.Command{
		Use: "check [FILE]", Short: "Say all that is wrong with a configuration, and where", Args: cobra.MaximumNArgs(1),
		RunE: a.run(a.configCheck),
	}
	schema := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of sluice.yaml", Args: cobra.NoArgs,
		RunE: a.run(func(context.Context, []string) error {
			data, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(data)
			return err
		}),
	}
	show := &cobra.Command{
		Use: "show", Short: "Print the configuration with every default, secrets hidden", Args: cobra.NoArgs,
		RunE: a.run(a.configShow),
	}
	return group("config", "Check, show and describe the configuration", check, schema, show)
}

func (a *app) configCheck(_ context.Context, args []string) error {
	explicit := a.configPath
	if len(args) > 0 {
		explicit = args[0]
	}
	path, err := a.Loader.Find(explicit)
	if err != nil {
		return usageError{err.Error()}
	}
	cfg, err := a.Loader.Load(path)
	if err != nil {
		return err
	}
	if path == "" {
		_, err = fmt.Fprintln(a.Stdout, "no configuration file: the defaults are used (sluice init writes one)")
		return err
	}
	if open, mode := othersMayRead(path); open && holdsSecrets(path, cfg) {
		fmt.Fprintf(a.Stderr, "%s: it holds secrets and others may read it (mode %04o): chmod 600 %s\n", path, mode, path)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: ok\n", path)
	return err
}

// othersMayRead reports whether a file is open to other users of the machine.
func othersMayRead(path string) (bool, fs.FileMode) {
	info, err := os.Stat(path)
	if err != nil || errors.Is(err, fs.ErrNotExist) {
		return false, 0
	}
	return info.Mode().Perm()&0o077 != 0, info.Mode().Perm()
}

func (a *app) configShow(context.Context, []string) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	data, err := cfg.YAML()
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(data)
	return err
}
