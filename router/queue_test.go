package router

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want command
		ok   bool
	}{
		{"/help", command{"help", ""}, true},
		{" /HELP ", command{"help", ""}, true},
		{"/start", command{"help", ""}, true},
		{"/send off", command{"send", "off"}, true},
		{"/send: off", command{"send", "off"}, true},
		{"/pair approve ABCD", command{"pair", "approve ABCD"}, true},
		{"/usr/bin is a directory", command{}, false},
		{"/helpme", command{}, false},
		{"say /help", command{}, false},
		{"/help\nand more", command{}, false},
		{"/new tell me\na story", command{"new", "tell me\na story"}, true},
		{"/", command{}, false},
		{"", command{}, false},
	} {
		got, ok := parseCommand(tc.text)
		require.Equal(t, tc.ok, ok, tc.text)
		if ok {
			require.Equal(t, tc.want, got, tc.text)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add("/send off")
	f.Add("/\x00")
	f.Fuzz(func(t *testing.T, text string) {
		cmd, ok := parseCommand(text)
		if ok {
			require.NotEmpty(t, cmd.name)
			require.True(t, cmd.name == "new" || cmd.name == "reset" || !strings.Contains(cmd.args, "\n"), cmd)
		}
	})
}
