package configure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/settings"
)

// secretMax is the longest secret that is read from standard input, in bytes, as in the gateway.
const secretMax = settings.SecretBytesMax

// change is how a setting would differ.
type change struct {
	Path          string
	Kind          settings.Kind
	Before, After any
	Was           bool `json:"was_set"`
	Is            bool `json:"is_set"`
}

// effects are what a change would do, or has done.
type effects struct {
	OK       bool
	Version  string
	Faults   []fault
	Changes  []change
	Accounts []struct{ Channel, Account, Effect string }
	Restart  []string
	Saved    int
}

// changing makes a command that changes the configuration as body says.
func (d Deps) changing(cmd *cobra.Command, body func(ctx context.Context, args []string) (map[string]any, error)) *cobra.Command {
	var yes, asJSON bool
	cmd.RunE = d.Run(func(ctx context.Context, args []string) error {
		draft, err := body(ctx, args)
		if err != nil {
			return err
		}
		return d.change(ctx, draft, yes, asJSON)
	})
	cmd.Long += "\n\n" + `The change is checked first, and the command shows what it would do. At a terminal, it
asks before it saves. A change with errors is not saved.`
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return command.JSON(cmd, &asJSON)
}

// change checks a draft, shows what it would do, asks, and saves it.
func (d Deps) change(ctx context.Context, draft map[string]any, yes, asJSON bool) error {
	answer, err := d.Call(ctx, api.Request{Method: http.MethodPost, Path: "/v1/config/check", Body: draft})
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status == http.StatusNotFound && draft["version"] != nil {
		return fmt.Errorf("version %d is not kept: `sluice config history` lists those that are", draft["version"])
	}
	if err != nil {
		return err
	}
	would, err := api.Decode[effects](answer)
	if err != nil {
		return err
	}
	if !would.OK {
		return d.refuse(answer, would, asJSON)
	}
	if err := d.agree(would, d.Terminal && !yes, asJSON); err != nil {
		return err
	}
	answer, err = d.Call(ctx, api.Request{Method: http.MethodPut, Path: "/v1/config", Body: draft, Headers: map[string]string{"If-Match": `"` + would.Version + `"`}})
	if err != nil {
		return err
	}
	done, err := api.Decode[effects](answer)
	switch {
	case err != nil:
		return err
	case asJSON:
		return d.Screen.JSON(answer.Body)
	}
	return d.Screen.Printf("Saved as version %d.", done.Saved)
}

// refuse says what is wrong with a draft.
func (d Deps) refuse(answer api.Answer, would effects, asJSON bool) error {
	if asJSON {
		if err := d.Screen.JSON(answer.Body); err != nil {
			return err
		}
		return terminal.ErrReported
	}
	lines := []string{"not saved:"}
	for _, f := range would.Faults {
		lines = append(lines, "  "+f.String())
	}
	return terminal.UsageError{Text: strings.Join(lines, "\n")}
}

// agree shows what a draft would do, and asks whether to save it.
func (d Deps) agree(would effects, ask, asJSON bool) error {
	shown := d.Screen
	if asJSON {
		shown.Out = d.Screen.Err
	}
	if ask || !asJSON {
		if err := preview(shown, would); err != nil {
			return err
		}
	}
	if !ask {
		return nil
	}
	return d.Screen.Confirm(d.Stdin, "Save this change?")
}

// preview shows what a change would do.
func preview(s terminal.Screen, would effects) error {
	err := terminal.List(s, "No setting gets another value.", []string{"SETTING", "BEFORE", "AFTER"}, would.Changes, func(c change) []string {
		after := written(c.Kind, c.After, c.Is)
		if c.Kind == settings.Hidden && c.Is && c.Was {
			after = "(another secret)"
		}
		return []string{c.Path, terminal.Short(written(c.Kind, c.Before, c.Was)), terminal.Short(after)}
	})
	if err != nil {
		return err
	}
	for _, a := range would.Accounts {
		if err := s.Printf("The account %s on %s %s.", terminal.Line(a.Account), terminal.Line(a.Channel), terminal.Line(a.Effect)); err != nil {
			return err
		}
	}
	if len(would.Restart) > 0 {
		return s.Printf("In effect after the next start: %s", terminal.Line(strings.Join(would.Restart, ", ")))
	}
	return nil
}

func set(d Deps) *cobra.Command {
	return d.changing(&cobra.Command{
		Use: "set KEY [VALUE]", Short: "Change a setting of the running gateway", Args: command.Args(1, 2),
		Long: `Change a setting in the configuration file of the running gateway, and put it into
effect. KEY is as "sluice config list" shows it. A list or a whole section is written as JSON.

The value of a secret is never an argument: leave VALUE out, and it is read from standard
input, at a terminal without showing it. A reference such as ${TELEGRAM_TOKEN} may be VALUE.`,
	}, func(ctx context.Context, args []string) (map[string]any, error) {
		value, err := d.value(ctx, args)
		if err != nil {
			return nil, err
		}
		return map[string]any{"changes": []any{map[string]any{"path": args[0], "value": value}}}, nil
	})
}

func unset(d Deps) *cobra.Command {
	return d.changing(&cobra.Command{
		Use: "unset KEY", Short: "Take a setting out of the configuration file, so that its default applies", Args: command.Args(1, 1),
		Long: `Take a setting, a whole section, or an entry of a list such as agents.list[1] out of the
configuration file of the running gateway. If there is a default, it applies from then on.`,
	}, func(_ context.Context, args []string) (map[string]any, error) {
		return map[string]any{"changes": []any{map[string]any{"path": args[0], "remove": true}}}, nil
	})
}

func rollback(d Deps) *cobra.Command {
	return d.changing(&cobra.Command{
		Use: "rollback VERSION", Short: "Go back to an earlier version of the configuration", Args: command.Args(1, 1),
		Long: `Go back to an earlier version of the configuration. "sluice config history" lists those
that are kept. Going back is a new version, so it can be taken back, too.`,
	}, func(_ context.Context, args []string) (map[string]any, error) {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return nil, terminal.Usagef("VERSION %q: use a number from \"sluice config history\"", args[0])
		}
		return map[string]any{"version": n}, nil
	})
}

// value converts the value of a setting to the type of its kind. It sends a value that does not fit as a text; the gateway
// reports the error.
func (d Deps) value(ctx context.Context, args []string) (any, error) {
	patterns, err := d.patterns(ctx)
	if err != nil {
		return nil, err
	}
	path := args[0]
	of, known := patterns.Find(path)
	if of.Kind == settings.Hidden && len(args) < 2 {
		return d.secret(path)
	}
	if len(args) < 2 {
		return nil, terminal.Usagef("the value of %s is missing", path)
	}
	text := args[1]
	if of.Kind == settings.Text || of.Kind == settings.Hidden {
		return text, noSecrets(patterns, path, text)
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	_, isText := value.(string)
	if whole := err == nil && !decoder.More(); !whole || isText || value == nil {
		if of.Kind == settings.List || !known && strings.ContainsAny(text[:min(1, len(text))], "[{") {
			return nil, terminal.Usagef(`%s: write the value as JSON, for example '["a", "b"]'`, path)
		}
		return text, nil
	}
	return value, noSecrets(patterns, path, value)
}

// patterns are the settings that there could be.
func (d Deps) patterns(ctx context.Context) (settings.Shapes, error) {
	answer, err := d.Call(ctx, api.Request{Path: "/v1/config/keys"})
	if err != nil {
		return nil, err
	}
	got, err := api.Decode[struct{ Keys []settings.Pattern }](answer)
	return settings.ShapesOf(got.Keys), err
}

// noSecrets refuses a value that has a secret: others see the arguments of a command, and shells keep them.
func noSecrets(patterns settings.Shapes, path string, value any) error {
	_, err := patterns.Replace(path, value, func(at, _ string) (string, error) {
		return "", terminal.Usagef("%s is a secret, and other programs can see the arguments of a command: leave VALUE out of \"sluice config set '%s'\", and the value is read from standard input", at, at)
	})
	return err
}

// secret reads the value of a secret, without showing it.
func (d Deps) secret(path string) (string, error) {
	var text string
	var err error
	if d.Secret != nil {
		fmt.Fprintf(d.Screen.Err, "Value of %s: ", terminal.Line(path))
		text, err = d.Secret()
		fmt.Fprintln(d.Screen.Err)
	} else {
		var all []byte
		all, err = io.ReadAll(io.LimitReader(d.Stdin, secretMax+2))
		text = strings.TrimSuffix(strings.TrimSuffix(string(all), "\n"), "\r")
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("read the value of %s: %w", path, err)
	case text == "":
		return "", terminal.Usagef("the value of %s is empty", path)
	case len(text) > secretMax:
		return "", terminal.Usagef("the value of %s has more than %d bytes", path, secretMax)
	}
	return text, nil
}
