// Package examples has the examples in the help and the manual pages of all commands. They are in one file so that they
// can be read, compared and checked together.
package examples

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed examples.txt
var lines string

// Show makes the help of a command and of all commands below it show their examples.
func Show(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Example = Of(cmd)
		help(cmd, args)
	})
}

// Fill sets the examples of a command and of all commands below it.
func Fill(root *cobra.Command) {
	root.Example = Of(root)
	for _, cmd := range root.Commands() {
		Fill(cmd)
	}
}

// Of returns the examples of a command, each on an indented line, without those of the commands below it.
func Of(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	var found []string
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if words, ok := Words(line, cmd.CommandPath()); ok && !below(cmd, words) {
			found = append(found, "  "+line)
		}
	}
	return strings.Join(found, "\n")
}

// Words returns what follows the command in a line of a shell, which may have variables, sudo or another program before it.
func Words(line, command string) (rest string, ok bool) {
	_, rest, ok = strings.Cut(" "+line+" ", " "+command+" ")
	return strings.TrimSpace(rest), ok
}

// below reports whether words begin with the name of a command below cmd.
func below(cmd *cobra.Command, words string) bool {
	name, _, _ := strings.Cut(words, " ")
	return slices.ContainsFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
}
