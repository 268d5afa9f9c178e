// Package complete lets shells complete the values of arguments and flags: sessions, agents, channels, jobs and
// everything else that a running gateway can list.
package complete

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/policy/flow"
)

// answerWithin bounds how long a person waits after pressing the key.
const answerWithin = 2 * time.Second

// Connect returns a client of the gateway.
type Connect func() (*api.Client, error)

// source is where values come from: the gateway, or a fixed list.
type source struct {
	path  string   // of the request
	list  string   // the field of the response with the records; empty: the response is the list
	value string   // the field of a record with the completed value
	about string   // the field of a record with a description; empty: no description
	fixed []string // fixed values, without a request
}

var (
	sessions  = source{path: "/v1/sessions", value: "key", about: "title"}
	agents    = source{path: "/v1/agents", list: "agents", value: "id", about: "name"}
	channels  = source{path: "/v1/status", list: "accounts", value: "channel"}
	providers = source{path: "/v1/providers", list: "providers", value: "name", about: "classification"}
	skills    = source{path: "/v1/skills", list: "skills", value: "name", about: "description"}
	levels    = source{fixed: levelNames()}
)

func levelNames() []string {
	var names []string
	for _, level := range flow.Levels() {
		names = append(names, level.String())
	}
	return names
}

// arguments are the sources of arguments, by their name in the usage of a command.
var arguments = map[string]source{
	"SESSION":  sessions,
	"AGENT":    agents,
	"CHANNEL":  channels,
	"PROVIDER": providers,
	"LEVEL":    levels,
	"JOB":      {path: "/v1/cron", list: "jobs", value: "id", about: "when"},
	"DELIVERY": {path: "/v1/deliveries", list: "deliveries", value: "id", about: "status"},
	"RUN":      {path: "/v1/runs", list: "runs", value: "id", about: "status"},
	"ALERT":    {path: "/v1/alerts", list: "alerts", value: "key", about: "title"},
	"GROUP":    {path: "/v1/alert-groups", list: "groups", value: "group", about: "receiver"},
	"SILENCE":  {path: "/v1/silences", list: "silences", value: "id", about: "comment"},
	"CHECK":    {path: "/v1/checks", list: "checks", value: "name"},
	"HOOK":     {path: "/v1/hooks", list: "hooks", value: "name", about: "path"},
	"NODE":     {path: "/v1/nodes", list: "nodes", value: "id", about: "status"},

	"approvals ID":  {path: "/v1/approvals", list: "approvals", value: "id", about: "tool"},
	"memory KEY|ID": {path: "/v1/memory", list: "memories", value: "id", about: "key"},
	"memory KEY":    {path: "/v1/memory", list: "memories", value: "key", about: "namespace"},
	"config KEY":    {path: "/v1/config", list: "keys", value: "path", about: "doc"},
	"pairing CODE":  {path: "/v1/pairings", list: "pairings", value: "code", about: "channel"},
	"nodes CODE":    {path: "/v1/nodes", list: "nodes", value: "code", about: "platform"},
	"skills NAME":   skills,
}

// flags are the sources of flags, by name.
var flags = map[string]source{
	"session":        sessions,
	"agent":          agents,
	"channel":        channels,
	"account":        {path: "/v1/status", list: "accounts", value: "account", about: "channel"},
	"model":          {path: "/v1/providers", list: "models", value: "name"},
	"part":           {path: "/v1/status", list: "parts", value: "name"},
	"label":          levels,
	"classification": levels,
	"chat-type":      {fixed: []string{"direct", "group", "channel"}},
	"severity":       {fixed: []string{"critical", "error", "warning", "info"}},
}

// Values gives all commands below root their completions.
func Values(root *cobra.Command, connect Connect) {
	c := completer{connect}
	for _, cmd := range root.Commands() {
		Values(cmd, connect)
	}
	if sources := sourcesOf(root); sources != nil {
		root.ValidArgsFunction = c.arguments(sources)
	}
	for name, from := range flags {
		if root.Flags().Lookup(name) != nil {
			_ = root.RegisterFlagCompletionFunc(name, c.values(from)) // it fails only for an unknown flag or a second completion
		}
	}
}

// sourcesOf returns the source of each argument of a command, as its usage names it; nil if none has one.
func sourcesOf(cmd *cobra.Command) []source {
	var found []source
	known := false
	_, usage, _ := strings.Cut(cmd.Use, " ")
	for _, word := range strings.Fields(usage) {
		word = strings.Trim(word, "[]")
		if strings.ToUpper(word) != word || strings.HasPrefix(word, "-") {
			continue
		}
		from, ok := arguments[word]
		if !ok && cmd.HasParent() {
			from, ok = arguments[cmd.Parent().Name()+" "+word]
		}
		found, known = append(found, from), known || ok
	}
	if !known {
		return nil
	}
	return found
}

type completer struct{ connect Connect }

// arguments completes the arguments of a command.
func (c completer) arguments(sources []source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(sources) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.values(sources[len(args)])(cmd, args, typed)
	}
}

// values completes from one source. If the gateway does not answer, there are no values.
func (c completer) values(from source) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if from.fixed != nil {
			return offered(from.fixed, nil, typed), cobra.ShellCompDirectiveNoFileComp
		}
		if from.path == "" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		values, about, err := c.ask(cmd.Context(), from)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
		}
		return offered(values, about, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// ask lists the records of the gateway.
func (c completer) ask(ctx context.Context, from source) (values, about []string, err error) {
	client, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	answer, err := client.Call(ctx, api.Request{Path: from.path})
	if err != nil {
		return nil, nil, err
	}
	list := answer.Body
	if from.list != "" {
		fields, err := api.Decode[map[string]json.RawMessage](answer)
		if err != nil {
			return nil, nil, err
		}
		list = fields[from.list]
	}
	var records []map[string]any
	if err := json.Unmarshal(list, &records); err != nil {
		return nil, nil, err
	}
	for _, r := range records {
		value, _ := r[from.value].(string)
		text, _ := r[from.about].(string)
		values, about = append(values, value), append(about, text)
	}
	return values, about, nil
}

// unsafe are characters with a meaning for shells: bash inserts the common beginning of several values without quotes.
const unsafe = "$`\"'\\;&|<>(){}!*?~"

// offered are the values that begin with the typed text, each once, with their descriptions. Agents and strangers have named
// some of them: a value with invisible characters, or that a shell or the command would read as something else, is left out.
func offered(values, about []string, typed string) []cobra.Completion {
	var found []cobra.Completion
	var seen []string
	for i, value := range values {
		if value == "" || value[0] == '-' || strings.ContainsAny(value, unsafe) || terminal.Line(value) != value || !strings.HasPrefix(strings.ToLower(value), strings.ToLower(typed)) || slices.Contains(seen, value) {
			continue
		}
		seen = append(seen, value)
		one := value
		if about != nil && about[i] != "" {
			one = cobra.CompletionWithDesc(value, terminal.Short(about[i]))
		}
		found = append(found, one)
	}
	return found
}
