package cli

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/pause"
)

// sendFlags are the flags of send.
type sendFlags struct {
	channel, account, to, thread, label, key string
	buttons, files                           []string
}

func sendCommand(g command.Deps) *cobra.Command {
	var f sendFlags
	var asJSON bool
	var wait bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "send --channel CHANNEL --to CONVERSATION [TEXT]", Short: "Send a message through the gate", Args: command.Args(0, 1),
		Long: `Send a message through the gate, like any other message. The delivery's ID and the
gate's decision are printed.

--to is the platform's ID of a conversation or person, "owner" for the owner's
direct chat, or #name or @name on channels that can look up names.

Up to five --button flags add buttons. Pressing one sends its VALUE to the agent,
which never takes it as a command. Up to ten --file flags add files after the
text; TEXT may be left out then.

The command fails if the gate blocks the message. With --wait, it waits until the
message is sent, and fails if that does not happen.`,
	}
	cmd.RunE = g.Run(func(ctx context.Context, args []string) error {
		answer, err := g.Send(ctx, f.request, args)
		if err == nil && wait {
			answer, err = outcome(ctx, g, answer, timeout)
		}
		if err != nil {
			return err
		}
		return command.Present(g.Screen, answer, asJSON, printSent)
	})
	command.JSON(cmd, &asJSON)
	flags := cmd.Flags()
	flags.BoolVar(&wait, "wait", false, "wait until the message is sent, refused or has failed")
	flags.DurationVar(&timeout, "timeout", time.Minute, "with --wait: wait at most this long")
	flags.StringVar(&f.channel, "channel", "", "the `platform`, for example telegram")
	flags.StringVar(&f.account, "account", "", "the `account` on it (default: the only one, or \"default\")")
	flags.StringVar(&f.to, "to", "", "`ID` of the conversation, or owner")
	flags.StringVar(&f.thread, "thread", "", "`ID` of a thread or topic in it")
	flags.StringVar(&f.label, "label", "", "`level` of the text: PUBLIC (default), INTERNAL, CONFIDENTIAL or RESTRICTED")
	flags.StringVar(&f.key, "idempotency-key", "", "messages with the same `key` are sent only once")
	flags.StringArrayVar(&f.buttons, "button", nil, "add a button, as `LABEL=VALUE`; repeatable")
	flags.StringArrayVar(&f.files, "file", nil, "add the file at this `path`; repeatable")
	command.RequireFlags(cmd, "channel", "to")
	return cmd
}

// request sends the message.
func (f *sendFlags) request(args []string) (api.Request, error) {
	body, err := f.body(strings.Join(args, ""))
	r := api.Request{Method: http.MethodPost, Path: "/v1/messages", Body: body}
	if f.key != "" {
		r.Headers = map[string]string{"Idempotency-Key": f.key}
	}
	return r, err
}

// outcome polls a delivery until it is settled.
func outcome(ctx context.Context, g command.Deps, answer api.Answer, timeout time.Duration) (api.Answer, error) {
	const first, longest = 50 * time.Millisecond, time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoOutcome)
	defer cancel()
	for pauses := pause.Doubling(first, longest, 0); ; {
		d, err := api.Decode[api.Delivery](answer)
		if err != nil || d.Settled() {
			return answer, err
		}
		if err := pause.Wait(ctx, pauses.NextBackOff()); err != nil {
			return answer, fmt.Errorf("%s is %s: %w", d.ID, d.Expected(), err)
		}
		if answer, err = g.Call(ctx, api.Request{Path: api.Path("deliveries", d.ID)}); err != nil {
			return answer, err
		}
	}
}

var errNoOutcome = errors.New("the message was neither sent nor refused in time; \"sluice deliveries show\" shows its status")

// body is the body of the request.
func (f *sendFlags) body(text string) (map[string]any, error) {
	if text == "" && len(f.files) == 0 {
		return nil, terminal.UsageError{Text: "nothing to send: add a TEXT or a --file"}
	}
	body := map[string]any{"channel": f.channel, "to": f.to}
	for name, value := range map[string]string{"text": text, "account": f.account, "thread": f.thread, "label": f.label, "key": f.key} {
		if value != "" {
			body[name] = value
		}
	}
	var buttons []map[string]string
	for _, b := range f.buttons {
		label, value, ok := strings.Cut(b, "=")
		if !ok || label == "" || value == "" {
			return nil, terminal.Usagef("--button %q: use LABEL=VALUE", b)
		}
		buttons = append(buttons, map[string]string{"label": label, "value": value})
	}
	if buttons != nil {
		body["buttons"] = buttons
	}
	files, err := readFiles(f.files, uploadMax)
	if err != nil {
		return nil, err
	}
	if files != nil {
		body["files"] = files
	}
	return body, nil
}

// uploadMax bounds the files of one message. The gateway never takes more, however it is configured.
const uploadMax = 512 << 20

// readFiles reads files as the API takes them, up to a number of bytes together.
func readFiles(paths []string, limit int64) (files []map[string]any, err error) {
	left := limit
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read file: %w", err)
		}
		if !info.Mode().IsRegular() {
			return nil, terminal.Usagef("--file %q is not a regular file", path)
		}
		if info.Size() == 0 {
			return nil, terminal.Usagef("--file %q is empty", path)
		}
		if left -= info.Size(); left < 0 {
			return nil, terminal.Usagef("--file %q: all files together may have at most %d bytes", path, limit)
		}
		content, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return nil, fmt.Errorf("read file: %w", err)
		}
		kind := mime.TypeByExtension(filepath.Ext(path))
		if kind == "" {
			kind = http.DetectContentType(content)
		}
		files = append(files, map[string]any{"name": filepath.Base(path), "mime": kind, "data": content})
	}
	return files, nil
}

// sent is a delivery that the command has made.
type sent struct{ api.Delivery }

// Failed reports whether the message does not go out.
func (d sent) Failed() bool { return d.Expected() == "blocked" || d.Settled() && d.Status != "sent" }

func printSent(s terminal.Screen, d sent) error {
	if err := s.Printf("%s: %s to %s", d.ID, d.Expected(), terminal.Line(d.Route.String())); err != nil {
		return err
	}
	if d.Error != "" && d.Expected() != "blocked" { // what the gate says has the reason
		if err := s.Printf("error: %s", terminal.Line(d.Error)); err != nil {
			return err
		}
	}
	if d.Decision == nil {
		return nil
	}
	return printDecision(s, *d.Decision)
}
