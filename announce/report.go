package announce

import (
	"fmt"
	"strings"
	"time"

	"sluice/sessions"
)

// ReportOf is the report of a task; said is the sub-agent's text and may be empty.
func ReportOf(x Exchange, said string) Report {
	if said == "" {
		said = x.Reply
	}
	return Report{
		Name: x.Name, Status: x.Status, Result: said, Notes: x.Detail, Runtime: x.Runtime, Usage: x.Usage, Cost: x.Cost, Key: x.Target.Key, Session: x.Target.Session,
	}
}

// Report is what the people of the requester's conversation read about a sub-agent's task.
type Report struct {
	Name    string             // of the task; may be empty
	Status  sessions.RunStatus // of the task's run; the model does not set it
	Result  string             // the sub-agent's text
	Notes   string             // what went wrong; may be empty
	Runtime time.Duration
	Usage   sessions.Usage
	Cost    string // of its model calls; empty: none was counted
	Key     sessions.Key
	Session sessions.ID
}

// statusWords are the runtime's words for how a task ended.
var statusWords = map[sessions.RunStatus]string{
	sessions.RunDone: "success", sessions.RunFailed: "error", sessions.RunTimeout: "timeout", sessions.RunAborted: "stopped",
}

// TranscriptPath is the path of a session's transcript in the gateway's API.
func TranscriptPath(id sessions.ID) string { return "/v1/sessions/" + string(id) + "/history" }

// Text is the report as Markdown: status, result, notes, and a line of statistics.
func (r Report) Text() string {
	status, ok := statusWords[r.Status]
	if !ok {
		status = "unknown"
	}
	if name := strings.Join(strings.Fields(r.Name), " "); name != "" {
		status += " (" + name + ")" // on the same line: a name must not look like a status
	}
	lines := []string{"**Status:** " + status}
	if r.Result != "" {
		lines = append(lines, "**Result:** "+r.Result)
	}
	if r.Notes != "" {
		lines = append(lines, "**Notes:** "+r.Notes)
	}
	cost := ""
	if r.Cost != "" {
		cost = " · cost " + r.Cost
	}
	stats := fmt.Sprintf("_runtime %s · tokens %d in, %d out%s · session `%s` (`%s`) · transcript `%s`_",
		r.Runtime.Round(100*time.Millisecond), r.Usage.InputTokens, r.Usage.OutputTokens, cost, r.Key, r.Session, TranscriptPath(r.Session))
	return strings.Join(append(lines, stats), "\n\n")
}
