// Package console has the commands that lead to the web page, and those that show in a terminal what the page shows: open, people and why.
package console

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// Commands are the commands. launch opens an address in a browser; nil: nothing does.
func Commands(d command.Deps, launch func(ctx context.Context, address string) error) []*cobra.Command {
	return []*cobra.Command{open(d, launch), people(d), why(d)}
}

// link is a one-time link of the gateway.
type link struct {
	Path string `json:"path"`
}

func open(d command.Deps, launch func(ctx context.Context, address string) error) *cobra.Command {
	var show, asJSON bool
	cmd := &cobra.Command{
		Use: "open", Short: "Open the web page and sign in there", Args: command.Args(0, 0),
		Long: `Open the web page of the gateway in a browser and sign in there, as the access
token that this command uses. The address works once, within a minute. The browser
stays signed in for two weeks, or until you sign out.`,
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the address and open no browser")
	cmd.RunE = d.Run(func(ctx context.Context, _ []string) error {
		c, err := d.Connect()
		if err != nil {
			return err
		}
		made, err := api.Get[link](ctx, c, api.Request{Method: "POST", Path: api.Path("links")})
		if err != nil {
			return err
		}
		address := c.Address() + made.Path
		text, opened := "Open this address within a minute; it works once:\n", false
		if !show && launch != nil && launch(ctx, address) == nil {
			text, opened = "The page opens in your browser. If it does not, open this address within a minute; it works once:\n", true
		}
		return d.Screen.Result(asJSON, map[string]any{"address": address, "opened": opened}, text+terminal.Line(address))
	})
	return command.ResultJSON(cmd, &asJSON)
}

// Browser opens an address in this machine's browser. It returns when the browser has been started.
func Browser(ctx context.Context, address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("find a browser: %w", err)
	}
	if err := exec.CommandContext(ctx, path, args...).Run(); err != nil {
		return fmt.Errorf("start a browser: %w", err)
	}
	return nil
}
