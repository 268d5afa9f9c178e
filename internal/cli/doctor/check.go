package doctor

import (
	"fmt"

	"sluice/internal/cli/terminal"
	"sluice/internal/config"
)

// CheckConfig lists the mistakes of a configuration.
func CheckConfig(screen terminal.Screen, loader config.Loader, given string) error {
	path, err := loader.Find(given)
	if err != nil {
		return terminal.UsageError{Text: err.Error()}
	}
	cfg, err := loader.Load(path)
	if err != nil {
		return err
	}
	if path == "" {
		return screen.Printf("No configuration file: the defaults are used. Create one with: sluice init")
	}
	if mode, exposed := ExposedSecrets(path, cfg); exposed {
		fmt.Fprintf(screen.Err, "%s contains secrets and other users can read it (mode %04o): chmod 600 %s\n", path, mode, path)
	}
	return screen.Printf("%s: ok", path)
}
