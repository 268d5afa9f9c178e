// Package configure has the commands that show and change the settings of a running gateway.
package configure

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/settings"
)

// Deps is what the commands need.
type Deps struct {
	command.Deps
	Stdin    io.Reader
	Terminal bool                   // somebody can be asked
	Secret   func() (string, error) // reads a line without showing it; nil: from Stdin
}

// Commands are those below "sluice config" that need a running gateway.
func Commands(d Deps) []*cobra.Command {
	return []*cobra.Command{list(d), set(d), unset(d), history(d), rollback(d)}
}

// key is a setting in effect.
type key struct {
	Path, Doc string
	Kind      settings.Kind
	Value     any
	Set       bool
	Restart   bool
	Source    struct {
		From settings.From
		Line int
		Name string
	}
}

type fault struct {
	Line       int
	Path, Text string
}

func (f fault) String() string {
	text := strings.TrimPrefix(f.Path+": "+f.Text, ": ")
	if f.Line > 0 {
		text = fmt.Sprintf("line %d: %s", f.Line, text)
	}
	return text
}

// state is what is in effect. Keys are as the gateway sent them.
type state struct {
	File, Makes string
	Keys        []json.RawMessage
	Faults      []fault
	Waiting     []string
}

func list(d Deps) *cobra.Command {
	var changed, asJSON bool
	cmd := &cobra.Command{
		Use: "list [WORDS...]", Short: "List the settings of the running gateway, with where each comes from", Args: command.Args(0, 100),
		Long: `List the settings that are in effect, with their values, where each value comes from,
and whether a change needs a restart. With WORDS, list only the settings whose name or
description has all of them. Secrets are never shown, only whether they are set.`,
		RunE: d.Run(func(ctx context.Context, words []string) error {
			answer, err := d.Call(ctx, api.Request{Path: "/v1/config"})
			if err != nil {
				return err
			}
			got, err := api.Decode[state](answer)
			if err != nil {
				return err
			}
			raw, keys, err := chosen(got.Keys, words, changed)
			if err != nil {
				return err
			}
			if asJSON {
				return d.filtered(answer.Body, raw)
			}
			return d.show(got, keys)
		}),
	}
	cmd.Flags().BoolVar(&changed, "changed", false, "list only settings that are not at their defaults")
	return command.JSON(cmd, &asJSON)
}

// chosen are the settings that have all words, as they were sent and as they were read.
func chosen(all []json.RawMessage, words []string, changed bool) (raw []json.RawMessage, keys []key, err error) {
	raw = []json.RawMessage{}
	for _, one := range all {
		var k key
		if err := json.Unmarshal(one, &k); err != nil {
			return nil, nil, fmt.Errorf("read the gateway's response: %w", err)
		}
		text := strings.ToLower(k.Path + " " + k.Doc)
		lacks := func(word string) bool { return !strings.Contains(text, strings.ToLower(word)) }
		if changed && k.Source.From == settings.Default || slices.ContainsFunc(words, lacks) {
			continue
		}
		raw, keys = append(raw, one), append(keys, k)
	}
	return raw, keys, nil
}

// filtered prints an answer with these settings.
func (d Deps) filtered(body []byte, keys []json.RawMessage) error {
	var whole map[string]any
	if err := json.Unmarshal(body, &whole); err != nil {
		return fmt.Errorf("read the gateway's response: %w", err)
	}
	whole["keys"] = keys
	return d.Screen.Object(whole)
}

func (d Deps) show(got state, keys []key) error {
	err := terminal.List(d.Screen, "No settings found.", []string{"SETTING", "VALUE", "SOURCE", "RESTART"}, keys, func(k key) []string {
		restart := ""
		if k.Restart {
			restart = "yes"
		}
		return []string{k.Path, terminal.Short(written(k.Kind, k.Value, k.Set)), k.source(), restart}
	})
	if err != nil {
		return err
	}
	var notes []string
	switch {
	case got.File != "":
		notes = append(notes, "File: "+got.File)
	case got.Makes != "":
		notes = append(notes, "There is no configuration file. The first change makes "+got.Makes+".")
	}
	if len(got.Faults) > 0 {
		notes = append(notes, "The file has errors. The last valid configuration stays in effect:")
		for _, f := range got.Faults {
			notes = append(notes, "  "+f.String())
		}
	}
	if len(got.Waiting) > 0 {
		notes = append(notes, "Changed, and in effect after the next start: "+strings.Join(got.Waiting, ", "))
	}
	for i, note := range notes {
		if i == 0 {
			note = "\n" + terminal.Line(note)
		} else {
			note = terminal.Line(note)
		}
		if err := d.Screen.Printf("%s", note); err != nil {
			return err
		}
	}
	return nil
}

// written is a value as a text; of a secret only that there is one.
func written(kind settings.Kind, value any, isSet bool) string {
	switch list, ok := value.([]any); {
	case kind == settings.Hidden && isSet:
		return "(secret)"
	case value == nil:
		return ""
	case ok:
		texts := make([]string, len(list))
		for i, one := range list {
			texts[i] = plain(one)
		}
		return strings.Join(texts, ", ")
	}
	return plain(value)
}

// plain is a value as people write it: a million is 1000000, not 1e+06.
func plain(value any) string {
	if n, ok := value.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// source says where a value comes from.
func (k *key) source() string {
	from := map[settings.From]string{
		settings.Default: "default", settings.File: "file", settings.Environment: "environment", settings.SecretFile: "file",
		settings.Credential: "credential", settings.Flag: "flag", settings.Made: "generated by the gateway",
	}
	text := cmp.Or(from[k.Source.From], string(k.Source.From))
	if k.Source.Name != "" && k.Source.From != settings.Made {
		text += " " + k.Source.Name
	}
	if k.Source.Line > 0 {
		text += fmt.Sprintf(", line %d", k.Source.Line)
	}
	return text
}

// version is the file as somebody has left it.
type version struct {
	ID      int
	At      time.Time
	By      string
	Back    int  `json:"back_to"`
	NoFile  bool `json:"no_file"`
	Changes []change
}

func history(d Deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "history", Short: "List the versions of the configuration that are kept, newest first", Args: command.Args(0, 0),
		Long: `List the versions of the configuration that are kept, with who saved each and which
settings changed. "sluice config rollback VERSION" goes back to one.`,
		RunE: d.Run(func(ctx context.Context, _ []string) error {
			answer, err := d.Call(ctx, api.Request{Path: "/v1/config/history"})
			if err != nil {
				return err
			}
			got, err := api.Decode[struct{ Versions []version }](answer)
			if err != nil {
				return err
			}
			if asJSON {
				return d.Screen.JSON(answer.Body)
			}
			return terminal.List(d.Screen, "No versions found. The first change keeps one.", []string{"VERSION", "SAVED", "BY", "CHANGED"}, got.Versions, func(v version) []string {
				paths := make([]string, len(v.Changes))
				for i, c := range v.Changes {
					paths[i] = c.Path
				}
				what := strings.Join(paths, ", ")
				if v.Back > 0 {
					what = strings.TrimSuffix(fmt.Sprintf("back to version %d: %s", v.Back, what), ": ")
				}
				if v.NoFile {
					return []string{strconv.Itoa(v.ID), d.Screen.Ago(v.At), "", "no configuration file"}
				}
				return []string{strconv.Itoa(v.ID), d.Screen.Ago(v.At), cmp.Or(v.By, "outside the gateway"), terminal.Short(what)}
			})
		}),
	}
	return command.JSON(cmd, &asJSON)
}
