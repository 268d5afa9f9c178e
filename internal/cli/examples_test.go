package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
	"sluice/internal/cli/examples"
)

func TestEachCommandHasExamplesThatItTakes(t *testing.T) {
	t.Parallel()
	root, shown := cli.Commands(), 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" { // cobra's own
			return
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		if !cmd.HasSubCommands() {
			require.NotEmpty(t, cmd.Example, cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			shown++
			rest, ok := examples.Words(strings.TrimSpace(line), cmd.CommandPath())
			require.True(t, ok, line)
			require.NoError(t, cmd.ParseFlags(shellWords(rest)), line)
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
			require.NoError(t, cmd.ValidateRequiredFlags(), line)
		}
	}
	check(root)
	all, err := os.ReadFile("examples/examples.txt")
	require.NoError(t, err)
	require.Len(t, strings.FieldsFunc(string(all), func(r rune) bool { return r == '\n' }), shown, "each example belongs to one command")
}

// shellWords splits the first command of a line as a shell does.
func shellWords(line string) []string {
	var found []string
	var quote rune
	word, open := "", false
	for _, r := range line + " " {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case r == quote:
			quote = 0
		case quote == 0 && r == ' ':
			switch {
			case !open && (word == "|" || word == ">" || word == "&&" || word == "||" || word == "#"):
				return found
			case word != "" || open:
				found = append(found, word)
			}
			word, open = "", false
		default:
			word += string(r)
		}
	}
	return found
}
