package automation

import (
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func alertsSilence(g command.Deps) *cobra.Command {
	var lasts, comment string
	var match []string
	cmd := command.Asking(g, &cobra.Command{
		Use: "silence [ALERT]", Short: "Mute an alert, or all that match, for a time", Args: command.Args(0, 1),
		Long: "Mute an alert for a time, or with --match all whose labels match. A silenced alert is listed, but nobody is notified.",
	}, func(args []string) (api.Request, error) {
		if len(args) == len(match) && len(args) == 0 || len(args) > 0 && len(match) > 0 {
			return api.Request{}, terminal.Usagef("name either an alert or --match")
		}
		body := map[string]any{"for": lasts}
		if comment != "" {
			body["comment"] = comment
		}
		if len(args) > 0 {
			return api.Request{Method: http.MethodPost, Path: api.Path("alerts", args[0], "silence"), Body: body}, nil
		}
		body["matchers"] = match
		return api.Request{Method: http.MethodPost, Path: "/v1/silences", Body: body}, nil
	}, func(s terminal.Screen, got api.Silence) error {
		return s.Printf("%s: %s quiet until %s", terminal.Line(got.ID), terminal.Line(strings.Join(got.Matchers, " ")), instant(&got.Ends))
	})
	cmd.Flags().StringVar(&lasts, "for", "1h", "how `long`, for example 90m")
	cmd.Flags().StringVar(&comment, "comment", "", "`why`")
	cmd.Flags().StringArrayVar(&match, "match", nil, "a `matcher` as Alertmanager writes it, for example host=~\"db.*\"; may be repeated")
	return cmd
}

func silencesCommand(g command.Deps) *cobra.Command {
	return command.Listing("silences", "List and end silences", silencesList(g), silencesExpire(g))
}

func silencesList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List silences, those that end first at the top", Args: command.Args(0, 0)}, command.Get("/v1/silences", p.Query), func(s terminal.Screen, got api.SilenceList) error {
		return terminal.List(s, `No silences found. "--state all" includes silences that have ended.`, []string{"ID", "STATE", "MATCHERS", "AUTHOR", "COMMENT", "ENDS"}, got.Silences, func(x api.Silence) []string {
			return []string{x.ID, x.State, strings.Join(x.Matchers, " "), x.Author, terminal.Short(x.Comment), instant(&x.Ends)}
		})
	})
	p.Filter(cmd, "state", "state", "current (default), all, pending, active or expired `silences`")
	return p.Add(cmd)
}

func silencesExpire(g command.Deps) *cobra.Command {
	return command.Doing(g, &cobra.Command{Use: "expire SILENCE", Short: "End a silence now", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodDelete, Path: api.Path("silences", args[0])}, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		return s.Printf("%s has ended", terminal.Line(args[0]))
	})
}
