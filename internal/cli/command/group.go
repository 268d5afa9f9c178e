package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/terminal"
)

// Help prints the help of a command.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// Group is a command that only contains other commands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: Unknown, RunE: Help}
	g.AddCommand(commands...)
	return g
}

// Listing is a group that lists when no command is given, as its first command does.
func Listing(use, short string, list *cobra.Command, others ...*cobra.Command) *cobra.Command {
	g := Group(use, short, append([]*cobra.Command{list}, others...)...)
	g.RunE = list.RunE
	g.Flags().AddFlagSet(list.Flags())
	return g
}

// Unknown refuses words where a command is expected, and suggests similar commands.
func Unknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return terminal.UsageError{Text: text}
}

// RequireFlags marks flags as required.
func RequireFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.MarkFlagRequired(name) // the flag is defined next to the call
	}
}
