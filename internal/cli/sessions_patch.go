package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// patchFlags are the flags of a patch: any setting by its name, and the older flags of some.
type patchFlags struct {
	set, clear []string
	named      map[string]*string // by field
}

func (a *app) sessionsPatch() *cobra.Command {
	var o output
	f := patchFlags{named: map[string]*string{}}
	cmd := &cobra.Command{
		Use: "patch SESSION", Short: "Change a session's settings", Args: cobra.ExactArgs(1),
		Long: "Changes a session's settings: sendPolicy, groupActivation, queueMode, model, thinkingLevel, verboseLevel, label, title and metadata (a JSON object).\n" +
			"What is cleared follows the configuration again.",
		Example: "  sluice sessions patch main --set queueMode=steer --set thinkingLevel=high\n  sluice sessions patch main --clear queueMode",
	}
	cmd.RunE = ask(a, &o, func(args []string) (request, error) {
		body, err := f.body(cmd.Flags().Changed)
		return request{method: http.MethodPatch, path: sessionPath(args[0], ""), body: body}, err
	}, a.printSession)
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "`field=value` to set; may be repeated")
	cmd.Flags().StringArrayVar(&f.clear, "clear", nil, "`field` to take back; may be repeated")
	for field, about := range map[string]string{
		"send_policy": "allow, deny or inherit", "group_activation": "mention, always or inherit",
		"model": "<provider>/<model>; empty follows the agent", "title": "its `name` for people",
	} {
		f.named[field] = cmd.Flags().String(strings.ReplaceAll(field, "_", "-"), "", about)
	}
	return o.flag(cmd)
}

// body is what is sent. Which fields there are, and what they may be, the gateway knows.
func (f patchFlags) body(changed func(string) bool) (map[string]any, error) {
	body := map[string]any{}
	put := func(field string, value any) error {
		if _, twice := body[field]; twice {
			return usageError{field + " is named twice"}
		}
		body[field] = value
		return nil
	}
	for field, value := range f.named {
		if changed(strings.ReplaceAll(field, "_", "-")) {
			body[field] = *value
		}
	}
	for _, pair := range f.set {
		field, text, ok := strings.Cut(pair, "=")
		if !ok || field == "" {
			return nil, usageError{fmt.Sprintf("--set %q: want field=value", pair)}
		}
		value, err := settingValue(field, text)
		if err != nil {
			return nil, err
		}
		if err := put(field, value); err != nil {
			return nil, err
		}
	}
	for _, field := range f.clear {
		if err := put(field, nil); err != nil {
			return nil, err
		}
	}
	if len(body) == 0 {
		return nil, usageError{"nothing to change: name --set field=value or --clear field"}
	}
	return body, nil
}

// settingValue is a setting as it was typed: a text, but for metadata.
func settingValue(field, text string) (any, error) {
	if field != "metadata" {
		return text, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, usageError{"--set metadata: want a JSON object"}
	}
	return json.RawMessage(text), nil
}
