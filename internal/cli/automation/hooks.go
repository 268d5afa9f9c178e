package automation

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func hooksCommand(g command.Deps, stdin io.Reader) *cobra.Command {
	return command.Group("hooks", "Requests from other programs, and what happened to them", hooksList(g), hooksShow(g), hooksTest(g, stdin), hooksReplay(g))
}

func hooksList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list [HOOK]", Short: "List the hooks, or the requests to one, newest first", Args: command.Args(0, 1)}, func(args []string) (api.Request, error) {
		if len(args) == 0 {
			return api.Request{Path: "/v1/hooks"}, nil
		}
		return api.Request{Path: api.Path("hooks", args[0], "requests"), Query: p.Query()}, nil
	}, printHooks)
	return p.Add(cmd)
}

func printHooks(s terminal.Screen, got api.HookList) error {
	if got.Requests != nil {
		return terminal.List(s, "No requests found.", []string{"ID", "STATUS", "RUN", "REPEATS", "ALERTS", "WHY", "RECEIVED"}, got.Requests, func(r api.HookRequest) []string {
			return []string{r.ID, r.Status, r.Run, r.ReplayOf, terminal.Short(strings.Join(r.Alerts, " ")), terminal.Short(r.Why), s.Ago(r.Received)}
		})
	}
	return terminal.List(s, `No hooks found. Add them under "hooks" in the configuration.`, []string{"NAME", "PATH", "PRESET", "SIGNATURE", "LEVEL", "AGENT", "DELIVER"}, got.Hooks, func(h api.Hook) []string {
		if h.Alert {
			h.Deliver = []string{"(alerts)"}
		}
		return []string{h.Name, h.Path, h.Preset, h.Signature, h.Classification, h.Agent, strings.Join(h.Deliver, ",")}
	})
}

func hooksShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show HOOK REQUEST", Short: "Show a request with its payload and what happened to it", Args: command.Args(2, 2)}, func(args []string) (api.Request, error) {
		return api.Request{Path: api.Path("hooks", args[0], "requests", args[1])}, nil
	}, printHookRequest)
}

func printHookRequest(s terminal.Screen, r api.HookRequest) error {
	err := s.Pairs("id", r.ID, "hook", r.Hook, "status", r.Status, "why", r.Why, "session", r.Session, "run", r.Run, "repeats", r.ReplayOf, "label", api.Unquoted(r.Label),
		"received", s.Ago(r.Received), "ended", s.Ago(r.Ended))
	if err != nil {
		return err
	}
	for _, sent := range r.Sends {
		if err := s.Printf("to %s", terminal.Line(api.SentTo(sent.Target, sent.State, sent.Delivery, sent.Error))); err != nil {
			return err
		}
	}
	for _, key := range r.Alerts {
		if err := s.Printf("alert %s", terminal.Line(key)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if err := s.Printf("%s: %s", terminal.Line(name), terminal.Line(r.Headers[name])); err != nil {
			return err
		}
	}
	if r.Payload == "" {
		return nil
	}
	return s.Printf("\n%s", terminal.Text(r.Payload))
}

// payloadMax is the largest payload that a hook takes, in bytes.
const payloadMax = 1 << 20

func hooksTest(g command.Deps, stdin io.Reader) *cobra.Command {
	var headers []string
	var kind string
	cmd := command.Asking(g, &cobra.Command{
		Use: "test HOOK FILE", Short: "Show what a hook would make of a payload, without effects", Args: command.Args(2, 2),
		Long: "Show whether a payload passes the hook's filter, and its session and prompt, or its alerts. Nothing is stored and no agent is asked. FILE may be - for standard input.",
	}, func(args []string) (api.Request, error) {
		payload, err := readPayload(args[1], stdin)
		if err != nil {
			return api.Request{}, err
		}
		named := map[string]string{}
		for _, h := range headers {
			name, value, ok := strings.Cut(h, ":")
			if !ok {
				return api.Request{}, terminal.Usagef("--header %q: want \"name: value\"", h)
			}
			named[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
		return api.Request{Method: http.MethodPost, Path: api.Path("hooks", args[0], "test"), Body: map[string]any{"payload": payload, "type": kind, "headers": named}}, nil
	}, printHookTest)
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a `header` of the request, as \"name: value\"; may be repeated")
	cmd.Flags().StringVar(&kind, "type", "application/json", "the payload's media `type`")
	return cmd
}

func readPayload(path string, stdin io.Reader) (string, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(stdin, payloadMax+1))
	} else {
		data, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("read payload: %w", err)
	case len(data) > payloadMax:
		return "", errors.New("the payload is larger than 1 MiB, the most that a hook takes")
	}
	return string(data), nil
}

func printHookTest(s terminal.Screen, t api.HookTest) error {
	passes := "no"
	if t.Passes {
		passes = "yes"
	}
	if err := s.Pairs("passes", passes, "why", t.Why, "session", t.Session, "label", t.Label); err != nil {
		return err
	}
	for _, a := range t.Alerts {
		if err := s.Printf(""); err != nil {
			return err
		}
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
			labels = append(labels, name+"="+a.Labels[name])
		}
		err := s.Pairs("alert", a.Key, "action", a.Action, "severity", a.Severity, "title", a.Title, "text", a.Text, "source", a.Source,
			"labels", strings.Join(labels, " "), "links", strings.Join(a.Links, " "))
		if err != nil {
			return err
		}
	}
	if t.Prompt == "" {
		return nil
	}
	return s.Printf("\n%s", terminal.Text(t.Prompt))
}

func hooksReplay(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "replay HOOK REQUEST", Short: "Process a request again, as a new one", Args: command.Args(2, 2)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("hooks", args[0], "requests", args[1], "replay")}, nil
	}, func(s terminal.Screen, r api.HookRequest) error {
		return s.Printf("%s: repeats %s", terminal.Line(r.ID), terminal.Line(r.ReplayOf))
	})
}
