package automation

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// wakeFlags are the flags of wake.
type wakeFlags struct{ session, text, mode, label, key string }

func wake(d Deps) *cobra.Command {
	var f wakeFlags
	cmd := command.Asking(d.Deps, &cobra.Command{
		Use: "wake [--session SESSION] [--text TEXT]", Short: "Send a text to a session without waiting for the reply", Args: command.Args(0, 0),
		Long: `Say something to a session, as a message does, without waiting for the reply. The
command ends when the gateway has stored the text.

With --mode next-heartbeat, the next heartbeat of the session's agent is told the
text, with whatever else it has to look at.

Without --text, or with --text -, the text is read from standard input.`,
	}, func([]string) (api.Request, error) {
		text, err := f.read(d)
		if err != nil {
			return api.Request{}, err
		}
		body := map[string]any{"text": text}
		for name, value := range map[string]string{"session": f.session, "mode": f.mode, "label": f.label, "id": f.key} {
			if value != "" {
				body[name] = value
			}
		}
		return api.Request{Method: http.MethodPost, Path: api.Path("wake"), Body: body}, nil
	}, printWake)
	flags := cmd.Flags()
	flags.StringVar(&f.session, "session", "", "key or ID of the `session` (default: main)")
	flags.StringVar(&f.text, "text", "", "the `text`; - reads it from standard input")
	flags.StringVar(&f.mode, "mode", "", "`when` the agent works on it: now (default), or next-heartbeat")
	flags.StringVar(&f.label, "label", "", "`level` of the text: PUBLIC (default), INTERNAL, CONFIDENTIAL or RESTRICTED")
	flags.StringVar(&f.key, "idempotency-key", "", "a text with the same `key` is said only once")
	return cmd
}

// wakeMax bounds what is read from standard input, in bytes. The gateway takes less, unless it is configured otherwise.
const wakeMax = 1 << 20

// read is the text, from the flag or from standard input.
func (f *wakeFlags) read(d Deps) (string, error) {
	if f.text != "" && f.text != "-" {
		return f.text, nil
	}
	if f.text == "" && d.Terminal {
		return "", terminal.UsageError{Text: "nothing to say: add --text TEXT, or --text - to type it and end with Ctrl-D"}
	}
	data, err := io.ReadAll(io.LimitReader(d.Stdin, wakeMax+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read text: %w", err)
	case len(data) > wakeMax:
		return "", errors.New("the text is larger than 1 MiB: shorten it")
	case strings.TrimSpace(string(data)) == "":
		return "", terminal.UsageError{Text: "nothing to say: standard input is empty; add --text TEXT"}
	}
	return string(data), nil
}

func printWake(s terminal.Screen, w api.Wake) error {
	switch {
	case w.Job != "" && w.Next == nil:
		return s.Printf("%s has this text already; sluice cron history %s shows what came of it", terminal.Line(w.Job), terminal.Line(w.Job))
	case w.Job != "":
		return s.Printf("%s gets the text at %s, or at its first later time at which it can run", terminal.Line(w.Job), instant(w.Next))
	case w.Run == "":
		return s.Printf("%s", terminal.Text(w.Reply))
	}
	return s.Printf("%s: accepted in %s; sluice runs show %s shows what comes of it", terminal.Line(w.Run), terminal.Line(w.Session), terminal.Line(w.Run))
}
