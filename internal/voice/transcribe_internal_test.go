package voice

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config/agents"
	"sluice/internal/sandbox"
	"sluice/router/attach"
)

// recorder is a sandbox that keeps the last command.
type recorder struct{ command []string }

func (*recorder) Available(context.Context) error { return nil }

func (r *recorder) Run(_ context.Context, _ sandbox.Config, command ...string) (sandbox.Result, error) {
	r.command = command
	return sandbox.Result{Stdout: "said"}, nil
}

func TestTheNameOfARecordingIsNoPartOfACommand(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"hello.ogg": "recording.ogg", "a/b.MP3": "recording.MP3", "recording": "recording", "x.": "recording.",
		"x.$(touch y)": "recording", "x.o;id": "recording", "x.a b": "recording", "x.ogg\x00": "recording", "x." + strings.Repeat("a", 300): "recording",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := &recorder{}
			v := &Voice{Sandbox: ran, Limits: func() sandbox.Limits { return sandbox.Limits{} }}
			v.Configure(agents.Media{Transcription: agents.Transcription{Command: []string{"sh", "-c", "listen {file}"}}})
			text, err := v.Transcribe(t.Context(), attach.Recording{Name: name, Content: []byte("sound")})
			require.NoError(t, err)
			require.Equal(t, "said", text)
			require.Equal(t, []string{"sh", "-c", "listen /workspace/" + want}, ran.command)
		})
	}
}
