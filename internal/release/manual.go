package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"sluice/internal/cli"
)

// manuals writes the manual pages and the completions of the shells.
func (r *release) manuals(dir string) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, folder := range []string{man, completions} {
		if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // it is published
			return err
		}
	}
	root := cli.Commands()
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: "SLUICE", Section: "1", Date: &r.at, Source: "Sluice " + r.version(), Manual: "Sluice"}
	if err := doc.GenManTree(root, header, man); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	for name, write := range map[string]func(*cobra.Command, io.Writer) error{
		"sluice.bash": func(c *cobra.Command, w io.Writer) error { return c.GenBashCompletionV2(w, true) },
		"_sluice":     (*cobra.Command).GenZshCompletion,
		"sluice.fish": func(c *cobra.Command, w io.Writer) error { return c.GenFishCompletion(w, true) },
		"sluice.ps1":  (*cobra.Command).GenPowerShellCompletionWithDesc,
	} {
		if err := create(filepath.Join(completions, name), func(w io.Writer) error { return write(root, w) }); err != nil {
			return fmt.Errorf("write completion: %w", err)
		}
	}
	return nil
}
