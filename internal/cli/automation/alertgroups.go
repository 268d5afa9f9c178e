package automation

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func alertGroupsCommand(g command.Deps) *cobra.Command {
	return command.Listing("groups", "See which alerts are reported together and who is notified next", alertGroupsList(g), alertGroupsShow(g))
}

func alertGroupsList(g command.Deps) *cobra.Command {
	var p command.Page
	cmd := command.Asking(g, &cobra.Command{Use: "list", Short: "List the open alert groups, newest first", Args: command.Args(0, 0)}, func([]string) (api.Request, error) {
		return api.Request{Path: "/v1/alert-groups", Query: p.Query()}, nil
	}, func(s terminal.Screen, got api.AlertGroupList) error {
		return terminal.List(s, "No open alert groups found.", []string{"GROUP", "SEVERITY", "ALERTS", "LABELS", "QUIET", "STEP", "NOTIFIED", "NEXT"}, got.Groups, func(x api.AlertGroup) []string {
			return []string{x.Group, x.Severity, alertsIn(x), labelPairs(x.Labels), groupQuietness(x), groupStep(x), toldLast(s, x.Told), nextMessage(x.Next)}
		})
	})
	return p.Add(cmd)
}

func alertGroupsShow(g command.Deps) *cobra.Command {
	return command.Asking(g, &cobra.Command{Use: "show GROUP", Short: "Show an open alert group: its alerts, who was notified, and when the next message is due", Args: command.Args(1, 1)}, command.One("alert-groups"), printAlertGroup)
}

func printAlertGroup(s terminal.Screen, x api.AlertGroup) error {
	err := s.Pairs("group", x.Group, "receiver", x.Receiver, "route", x.Route, "labels", labelPairs(x.Labels), "label", x.Label, "opened", s.Ago(x.Opened), "severity", x.Severity, "alerts", alertsIn(x),
		"quiet", groupQuietness(x), "step", groupStep(x), "next message", nextMessage(x.Next))
	if err != nil {
		return err
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	// The notifications stand below, so the alerts do without them.
	err = terminal.Rows(s, []string{"KEY", "SEVERITY", "STATUS", "QUIET", "TITLE", "SOURCE", "STARTED"}, x.Alerts, func(a api.Alert) []string {
		return []string{a.Key, a.Severity, a.Status, quietness(a), terminal.Short(a.Title), a.Source, s.Ago(a.Started)}
	})
	if err != nil {
		return err
	}
	return printNotes(s, x.Notifications)
}

// alertsIn says how many alerts of each state are in a group.
func alertsIn(x api.AlertGroup) string {
	return strings.Join(slices.Concat(counted(x.Firing, "firing"), counted(x.Acknowledged, "acknowledged"), counted(x.Ended, "ended")), ", ")
}

// counted is a number with its word; nothing for 0.
func counted(n int, word string) []string {
	if n == 0 {
		return nil
	}
	return []string{strconv.Itoa(n) + " " + word}
}

func labelPairs(labels map[string]string) string {
	all := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+"="+labels[name])
	}
	return strings.Join(all, " ")
}

// groupQuietness says why a group sends nothing, or less, at present.
func groupQuietness(x api.AlertGroup) string {
	var schedule []string
	if x.Muted {
		schedule = []string{"by schedule"}
	}
	return strings.Join(slices.Concat(schedule, counted(x.Silenced, "silenced"), counted(x.Inhibited, "inhibited")), ", ")
}

func groupStep(x api.AlertGroup) string {
	if x.Step == 0 || x.Steps == 0 {
		return ""
	}
	return strconv.Itoa(x.Step) + " of " + strconv.Itoa(x.Steps)
}

// toldLast says who was notified, or will be once quiet hours or a limit are over, and when the last time was.
func toldLast(s terminal.Screen, told []api.AlertNotification) string {
	if len(told) == 0 {
		return ""
	}
	names := make([]string, len(told))
	for i := range told {
		names[i] = told[i].Target
		if told[i].Status == "waiting" {
			names[i] += " (waiting)"
		}
	}
	return strings.Join(names, ", ") + " " + s.Ago(told[0].Created)
}

func nextMessage(next *api.AlertNext) string {
	if next == nil {
		return ""
	}
	return next.At.Format(time.RFC3339) + " to " + strings.Join(next.Targets, ", ") + " (" + cmp.Or(next.Reason, "change") + ")"
}
