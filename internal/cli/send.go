package cli

import (
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) sendCommand() *cobra.Command {
	var o output
	var f sendFlags
	cmd := o.flag(&cobra.Command{
		Use: "send --channel CHANNEL --to CONVERSATION [TEXT]", Short: "Send a message through the gate", Args: cobra.MaximumNArgs(1),
		Long: `Send a message that nobody waits for. It goes through the gate like every other
text; the delivery's id and what the gate decided are printed.

--to is the platform's id of a conversation or person, "owner" for the owner's direct chat,
or "#name" or "@name" on channels that can look names up.

--button may be given up to five times. Who presses it tells the agent its VALUE,
which is never a command. --file may be given up to ten times; the
files come after the text, which may then be left out.`,
		RunE: ask(a, &o, func(args []string) (request, error) {
			body, err := f.body(strings.Join(args, ""))
			return request{method: http.MethodPost, path: "/v1/messages", body: body, headers: idempotency(f.key)}, err
		}, a.printSent),
	})
	flags := cmd.Flags()
	flags.StringVar(&f.channel, "channel", "", "the platform, for example telegram")
	flags.StringVar(&f.account, "account", "", "the account on it (default: the only one, or \"default\")")
	flags.StringVar(&f.to, "to", "", "the conversation's `id`, or owner")
	flags.StringVar(&f.thread, "thread", "", "the `id` of a thread or topic in it")
	flags.StringVar(&f.label, "label", "", "the text's `level`: PUBLIC (default), INTERNAL, CONFIDENTIAL or RESTRICTED")
	flags.StringVar(&f.key, "idempotency-key", "", "a repeated `key` is the same message, sent once")
	flags.StringArrayVar(&f.buttons, "button", nil, "a button below the text, as `LABEL=VALUE`")
	flags.StringArrayVar(&f.files, "file", nil, "send the file at this `path` after the text")
	requireFlags(cmd, "channel", "to")
	return cmd
}

// sendFlags are those of send.
type sendFlags struct {
	channel, account, to, thread, label, key string
	buttons, files                           []string
}

// body is the request for them.
func (f *sendFlags) body(text string) (map[string]any, error) {
	if text == "" && len(f.files) == 0 {
		return nil, usageError{"want a TEXT, or a --file"}
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
			return nil, usageError{fmt.Sprintf("--button %q: want LABEL=VALUE", b)}
		}
		buttons = append(buttons, map[string]string{"label": label, "value": value})
	}
	if buttons != nil {
		body["buttons"] = buttons
	}
	files, err := readFiles(f.files)
	if err != nil {
		return nil, err
	}
	if files != nil {
		body["files"] = files
	}
	return body, nil
}

// uploadMost is how much is read of the files of one message: the gateway takes no more, however it is configured.
const uploadMost = 512 << 20

// readFiles reads files as the API takes them.
func readFiles(paths []string) (files []map[string]any, err error) {
	left := int64(uploadMost)
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("read file: %w", err)
		}
		if !info.Mode().IsRegular() {
			return nil, usageError{fmt.Sprintf("--file %q: is no file", path)}
		}
		if left -= info.Size(); left < 0 {
			return nil, usageError{fmt.Sprintf("--file %q: the files are larger than %d bytes together", path, uploadMost)}
		}
		content, err := os.ReadFile(path)
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

func idempotency(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Idempotency-Key": key}
}

func (a *app) printSent(d delivery) error {
	status := d.Status
	if status == "queued" && d.Decision != nil { // as it will be the moment its turn comes
		status = orText(map[string]string{"block": "blocked", "hold": "held"}[d.Decision.Action], status)
	}
	if _, err := fmt.Fprintf(a.Stdout, "%s: %s to %s\n", d.ID, status, clean(d.Route.String())); err != nil {
		return err
	}
	if d.Decision == nil {
		return nil
	}
	return a.printDecision(*d.Decision)
}
