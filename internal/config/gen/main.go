// Command gen writes the configuration's reference and schema to a folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sluice/internal/config"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen <folder>")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"sluice.schema.json": schema, "configuration.md": config.Reference()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil { //nolint:gosec // documentation is for everybody
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
