package automation

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func alertsCommand(g command.Deps) *cobra.Command {
	return command.Group("alerts", "See what needs attention, and answer for it",
		alertsList(g), alertsShow(g), alertsFire(g),
		alertsPost(g, "ack", "Acknowledge an alert, which stops its escalation"),
		alertsPost(g, "resolve", "Mark an alert as resolved"),
		alertGroupsCommand(g), alertsSilence(g), silencesCommand(g), alertsTest(g))
}

func alertsList(g command.Deps) *cobra.Command {
	var p command.Page
	var filter []string
	cmd := command.Asking(g, &cobra.Command{
		Use: "list", Short: "List alerts, the latest first", Args: command.Args(0, 0),
	}, func([]string) (api.Request, error) {
		q := p.Query()
		if len(filter) > 0 {
			q["filter"] = filter
		}
		return api.Request{Path: "/v1/alerts", Query: q}, nil
	}, printAlerts)
	cmd.Flags().StringArrayVar(&filter, "filter", nil, "show only alerts whose labels match, as Alertmanager writes `matchers`; key, severity and source are labels too; may be repeated")
	return p.AddStatus(cmd, "open (default), all, firing, acknowledged, resolved, expired")
}

func printAlerts(s terminal.Screen, got api.AlertList) error {
	return terminal.List(s, `No alerts found. "--status all" includes alerts that have ended.`, []string{"KEY", "SEVERITY", "STATUS", "NOTIFIED", "QUIET", "TITLE", "SOURCE", "STARTED"}, got.Alerts, func(a api.Alert) []string {
		return []string{a.Key, a.Severity, a.Status, toldLast(s, a.Told), quietness(a), terminal.Short(a.Title), a.Source, s.Ago(a.Started)}
	})
}

// quietness is why nobody is told of an alert at present.
func quietness(a api.Alert) string {
	switch {
	case len(a.Silences) > 0:
		last := slices.MaxFunc(a.Silences, func(x, y api.AlertSilence) int { return x.Ends.Compare(y.Ends) })
		return "silenced by " + last.Author + " until " + instant(&last.Ends)
	case len(a.InhibitedBy) > 0:
		return "inhibited"
	}
	return ""
}

func alertsShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show ALERT", Short: "Show an alert, who was notified and why", Long: "Show an alert, who was notified and why. ALERT is a key or a short name such as al-1a2b3c4d.", Args: command.Args(1, 1)}, command.One("alerts"), printAlert)
}

func printAlert(s terminal.Screen, a api.Alert) error {
	err := s.Pairs("key", a.Key, "short name", a.Ref, "status", a.Status, "severity", a.Severity, "source", a.Source, "label", a.Label, "occurrences", strconv.Itoa(a.Occurrences),
		"started", s.Ago(a.Started), "expires", instant(a.Ends), "ended", s.Ago(a.Ended), a.Status+" by", strings.TrimSpace(a.By+" "+s.Ago(a.At)),
		"silenced by", strings.Join(a.SilencedBy, ", "), "inhibited by", strings.Join(a.InhibitedBy, ", "))
	if err != nil {
		return err
	}
	if err := s.Printf("\n%s", terminal.Text(strings.TrimSpace(cmp.Or(a.Title, a.Key)+"\n"+a.Text))); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		if err := s.Printf("%s=%s", terminal.Line(name), terminal.Line(a.Labels[name])); err != nil {
			return err
		}
	}
	for _, l := range a.Links {
		if err := s.Printf("%s: %s", terminal.Line(cmp.Or(l.Title, "link")), terminal.Line(l.URL)); err != nil {
			return err
		}
	}
	return printNotes(s, a.Notifications)
}

// printNotes prints who was notified and why.
func printNotes(s terminal.Screen, notes []api.AlertNotification) error {
	if len(notes) == 0 {
		return s.Printf("\nNobody has been notified yet.")
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	return terminal.Rows(s, []string{"NOTIFIED", "REASON", "STEP", "STATUS", "DELIVERY", "WHY", "AT"}, notes, func(n api.AlertNotification) []string {
		reason, step, why := n.Reason, "", n.Why
		if n.Edit {
			reason = strings.TrimSpace(reason + " (edit)")
		}
		if n.Step > 0 {
			step = strconv.Itoa(n.Step)
		}
		if n.Withheld {
			why = strings.TrimPrefix(why+"; withheld there", "; ")
		}
		return []string{n.Target, reason, step, cmp.Or(n.Arrival, n.Status), n.Delivery, why, s.Ago(n.Created)}
	})
}

func alertsPost(g command.Deps, verb, short string) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: verb + " ALERT", Short: short, Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodPost, Path: api.Path("alerts", args[0], verb)}, nil
	}, func(s terminal.Screen, a api.Alert) error {
		return s.Printf("%s is %s by %s", terminal.Line(a.Key), a.Status, terminal.Line(a.By))
	})
}

// alertFlags are what an alert says.
type alertFlags struct {
	severity, title, text, label string
	labels                       []string
}

func (f *alertFlags) body(key string) (map[string]any, error) {
	labels := map[string]string{}
	for _, pair := range f.labels {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, terminal.Usagef("--set %s: write name=value", pair)
		}
		labels[name] = value
	}
	body := map[string]any{"labels": labels}
	for name, value := range map[string]string{"key": key, "severity": f.severity, "title": f.title, "text": f.text, "label": f.label} {
		if value != "" {
			body[name] = value
		}
	}
	return body, nil
}

// add adds the flags by which routes are chosen.
func (f *alertFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.severity, "severity", "", "critical, error, warning (default) or info")
	cmd.Flags().StringArrayVar(&f.labels, "set", nil, "a label as `name=value`, for routes and silences; may be repeated")
	return cmd
}

func alertsFire(g command.Deps) *cobra.Command {
	var f alertFlags
	cmd := f.add(command.Asking(g, &cobra.Command{
		Use: "fire KEY", Short: "Report an alert; the same key again is the same alert", Args: command.Args(1, 1),
	}, func(args []string) (api.Request, error) {
		body, err := f.body(args[0])
		return api.Request{Method: http.MethodPost, Path: "/v1/alerts", Body: body}, err
	}, func(s terminal.Screen, a api.Alert) error {
		return s.Printf("%s is reported (%s)", terminal.Line(a.Key), a.Ref)
	}))
	cmd.Flags().StringVar(&f.title, "title", "", "what has happened, in one `line` (default: the key)")
	cmd.Flags().StringVar(&f.text, "text", "", "more `words` about it")
	cmd.Flags().StringVar(&f.label, "label", "", "how secret it is: a `level` such as INTERNAL (default PUBLIC)")
	return cmd
}

func alertsTest(g command.Deps) *cobra.Command {
	var f alertFlags
	var source string
	cmd := f.add(command.Asking(g, &cobra.Command{
		Use: "test [KEY]", Short: "Show who would be notified of an alert, without reporting one", Args: command.Args(0, 1),
	}, func(args []string) (api.Request, error) {
		body, err := f.body(strings.Join(args, ""))
		if source != "" && err == nil {
			body["source"] = source
		}
		return api.Request{Method: http.MethodPost, Path: "/v1/alerts/test", Body: body}, err
	}, printWays))
	cmd.Flags().StringVar(&source, "source", "", "who would report it, for example `alertmanager/prometheus`")
	return cmd
}

func printWays(s terminal.Screen, got api.AlertWays) error {
	for _, way := range got.Ways {
		quiet := ""
		if way.Quiet {
			quiet = ", quiet at present"
		}
		if err := s.Printf("route %s: receiver %s after %s%s", way.Route, terminal.Line(way.Receiver), way.GroupWait, quiet); err != nil {
			return err
		}
		for i, step := range way.Steps {
			line := "  " + strconv.Itoa(i+1) + ". notify " + terminal.Line(strings.Join(step.Notify, ", "))
			if step.Wait != "" {
				line += " after " + step.Wait + " without an acknowledgement"
			}
			if step.Repeat > 0 {
				line += ", repeated " + terminal.Plural(step.Repeat, "time", "times")
			}
			if err := s.Printf("%s", line); err != nil {
				return err
			}
		}
	}
	return s.Pairs("silenced by", strings.Join(got.SilencedBy, ", "), "inhibited by", strings.Join(got.InhibitedBy, ", "))
}
