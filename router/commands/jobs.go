package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// Jobs lists jobs, and works out changes of them, see [jobs.Drafts].
type Jobs interface {
	List(ctx context.Context, p jobs.Page) (found []jobs.Job, more bool, err error)
	Get(ctx context.Context, id string) (jobs.Job, error)
	History(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error)
	Add(ctx context.Context, id string, object json.RawMessage, who jobs.Maker) (ledger.Change, jobs.Job, error)
	Pause(ctx context.Context, id string, who jobs.Maker) (ledger.Change, error)
	Resume(ctx context.Context, id string, who jobs.Maker) (ledger.Change, error)
	Run(ctx context.Context, id string, who jobs.Maker) (ledger.Change, error)
	Remove(ctx context.Context, id string, who jobs.Maker) (ledger.Change, error)
}

const (
	jobsRead  = 200 // jobs read for a list
	jobsShown = 50
	timesMax  = 10 // times that /cron history shows
)

const cronUsage = "Usage: `/cron` lists the jobs. `/cron show ID` shows one; `pause`, `resume`, `run`, `remove` and `history` also take an ID.\n" +
	"`/cron add NAME WHEN TEXT` creates a job that sends a text here; `/cron ask NAME WHEN PROMPT` creates one that asks me and sends my reply. " +
	"WHEN is `in 20m`, `at 2026-12-24T18:00`, `every 24h`, or a cron expression in quotes, such as `\"45 9 * * mon-fri\"`."

// cron lists jobs, shows one, or changes one.
func (k *Commands) cron(ctx context.Context, c Call) (ledger.Change, string, error) {
	return cronCommand{k.Jobs, k.Places, k.Now}.answer(ctx, c)
}

// cronCommand is the command /cron.
type cronCommand struct {
	Jobs   Jobs
	Places *place.Places
	Now    func() time.Time
}

func (k cronCommand) answer(ctx context.Context, c Call) (ledger.Change, string, error) {
	verb, rest := cutWord(c.Args)
	var change ledger.Change
	var text string
	var err error
	switch verb = strings.ToLower(verb); {
	case verb == "" || verb == "list" && rest == "":
		text, err = k.jobList(ctx, c)
	case verb == "add" || verb == "ask":
		change, text, err = k.addJob(ctx, c, verb, rest)
	case rest == "" || strings.ContainsAny(rest, " \n"):
		return change, cronUsage, nil
	default:
		change, text, err = k.oneJob(ctx, c, verb, strings.Trim(rest, "`"))
	}
	bad, refused := errors.AsType[*request.Error](err)
	switch {
	case refused:
		return ledger.Change{}, "I can't do that: " + c.Quotes.Or(flow.NewText(bad.Error(), k.Places.Label(c.In.Route, c.Owner)), "the request is wrong") + ".", nil
	case errors.Is(err, sessions.ErrNotFound):
		return ledger.Change{}, "There is no such job here. `/cron` lists the jobs.", nil
	}
	return change, text, err
}

// cutWord cuts off the first word of a text, or what it begins with in quotes.
func cutWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	for open, end := range map[string]string{`"`: `"`, "'": "'", "`": "`", "“": "”", "„": "“"} {
		if inside, ok := strings.CutPrefix(text, open); ok {
			if word, rest, ok := strings.Cut(inside, end); ok {
				return word, strings.TrimSpace(rest)
			}
		}
	}
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}

// jobMaker is the sender as one who makes jobs.
func (k cronCommand) jobMaker(c Call) jobs.Maker {
	return jobs.Maker{
		Actor: c.In.Speaker(), Level: k.Places.SinkLevel(c.In.Route), Label: k.Places.Label(c.In.Route, c.Owner), Owner: c.Token == nil, Bounded: c.Token != nil,
		Home: c.In.Route.Place(),
	}
}

// mayShow reports whether a job may be shown here: in a private chat with an owner all of them, elsewhere those made there.
func (k cronCommand) mayShow(c Call, j *jobs.Job) bool {
	home, here := j.Row.Home, c.In.Route
	return c.private() || j.Made && home.Channel == here.Channel && home.Account == here.Account && home.Conversation == here.Conversation
}

// jobList lists the jobs that may be shown in the conversation.
func (k cronCommand) jobList(ctx context.Context, c Call) (string, error) {
	found, more, err := k.Jobs.List(ctx, jobs.Page{MaxLevel: k.Places.SinkLevel(c.In.Route), Limit: jobsRead})
	if err != nil {
		return "", fmt.Errorf("list jobs: %w", err)
	}
	var lines []string
	for i := range found {
		j := &found[i]
		if !k.mayShow(c, j) {
			continue
		}
		if len(lines) == jobsShown {
			more = true
			break
		}
		if line, ok := c.Quotes.Show(flow.NewText("- "+jobLine(j), j.Secrecy())); ok {
			lines = append(lines, line)
		}
	}
	said := "There are no jobs here."
	if len(lines) > 0 {
		said = "Jobs:\n\n" + strings.Join(lines, "\n")
	}
	if more {
		said += "\n\nThere are more: `sluice cron list` shows them all."
	}
	return said, nil
}

// jobLine says when a job is due.
func jobLine(j *jobs.Job) string {
	line := visible.CodeSpan(j.ID) + ": " + visible.CodeSpan(j.When)
	switch j.State() {
	case jobs.StatePaused:
		return line + ", paused"
	case jobs.StateFaulty:
		return line + ", not fired because of a fault: " + visible.CodeSpan(j.Fault)
	case jobs.StateEnded:
		return line + ", over"
	}
	return line + ", next " + shownTime(j, j.Next)
}

// shownTime is a time in a job's zone.
func shownTime(j *jobs.Job, at time.Time) string {
	return j.Local(at).Format("2006-01-02 15:04:05 -07:00")
}

// oneJob shows or changes a job. A job that may not be shown in the conversation is as unknown there as one that is absent.
func (k cronCommand) oneJob(ctx context.Context, c Call, verb, id string) (change ledger.Change, said string, err error) {
	j, err := k.Jobs.Get(ctx, id)
	if err != nil {
		return change, "", err
	}
	about, ok := c.Quotes.Show(flow.NewText(jobText(&j), j.Secrecy()))
	if !ok || !k.mayShow(c, &j) {
		return change, "", sessions.ErrNotFound
	}
	who, name := k.jobMaker(c), visible.CodeSpan(j.ID)
	switch verb {
	case "show":
		return change, about, nil
	case "history":
		said, err = k.jobHistory(ctx, c, &j)
		return change, said, err
	case "pause":
		change, err = k.Jobs.Pause(ctx, j.ID, who)
		return change, name + " is paused. `/cron resume ID` resumes it.", err
	case "resume":
		change, err = k.Jobs.Resume(ctx, j.ID, who)
		return change, name + " is resumed" + nextIn(&j, change) + ".", err
	case "run":
		change, err = k.Jobs.Run(ctx, j.ID, who)
		return change, name + " is fired now.", err
	case "remove":
		change, err = k.Jobs.Remove(ctx, j.ID, who)
		return change, name + " is removed.", err
	}
	return change, cronUsage, nil
}

func jobText(j *jobs.Job) string {
	lines := []string{jobLine(j)}
	if j.Place != "" {
		lines = append(lines, "It is "+visible.CodeSpan(j.Place)+" in `sluice.yaml`.")
	}
	var to []string
	for _, t := range j.Deliver.To {
		to = append(to, visible.CodeSpan(t.Name))
	}
	if len(to) > 0 {
		lines = append(lines, "To: "+strings.Join(to, ", "))
	}
	if j.Text != "" {
		lines = append(lines, "Text: "+visible.CodeSpan(j.Text))
	}
	if j.Prompt != "" {
		lines = append(lines, "Prompt: "+visible.CodeSpan(j.Prompt))
	}
	return strings.Join(lines, "\n")
}

// nextIn says when a job is due that a change plans.
func nextIn(j *jobs.Job, change ledger.Change) string {
	for _, t := range change.Triggers {
		if t.Status == ledger.TriggerWaiting && !t.Instant.IsZero() {
			return "; next " + shownTime(j, t.Instant)
		}
	}
	return ""
}

// jobHistory lists the results of a job's instants.
func (k cronCommand) jobHistory(ctx context.Context, c Call, j *jobs.Job) (string, error) {
	found, err := k.Jobs.History(ctx, ledger.TriggerQuery{Subject: j.ID, MaxLevel: k.Places.SinkLevel(c.In.Route), Limit: timesMax})
	if err != nil {
		return "", fmt.Errorf("read history: %w", err)
	}
	var lines []string
	for _, t := range found {
		line := "- " + shownTime(j, t.Instant) + " " + string(t.Status)
		if n := t.Usage.InputTokens + t.Usage.OutputTokens; n > 0 {
			line += fmt.Sprintf(", %d tokens", n)
		}
		for _, s := range t.Sends {
			line += ", to " + visible.CodeSpan(s.Target) + " " + string(t.StateOf(s))
			if s.Error != "" {
				line += " (" + visible.CodeSpan(s.Error) + ")"
			}
		}
		if t.Why != "" {
			line += ": " + visible.CodeSpan(t.Why)
		}
		if line, ok := c.Quotes.Show(flow.NewText(line, t.Label)); ok {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "Nothing is known of " + visible.CodeSpan(j.ID) + " yet.", nil
	}
	return "Times of " + visible.CodeSpan(j.ID) + ", newest first:\n\n" + strings.Join(lines, "\n"), nil
}

// addJob makes a job that writes to the conversation.
func (k cronCommand) addJob(ctx context.Context, c Call, verb, rest string) (ledger.Change, string, error) {
	name, rest := cutWord(rest)
	keys, text, err := k.readWhen(rest)
	if err != nil {
		return ledger.Change{}, "", err
	}
	if name == "" || text == "" {
		return ledger.Change{}, cronUsage, nil
	}
	keys["text"] = text
	if verb == "ask" {
		delete(keys, "text")
		keys["prompt"], keys["agent"] = text, c.Session.Agent
	}
	object, err := json.Marshal(keys)
	if err != nil {
		return ledger.Change{}, "", fmt.Errorf("encode job: %w", err)
	}
	change, made, err := k.Jobs.Add(ctx, strings.ToLower(name), object, k.jobMaker(c))
	if err != nil || len(change.Jobs) == 0 {
		return ledger.Change{}, "", err
	}
	return change, "Created the job " + visible.CodeSpan(made.ID) + nextIn(&made, change) + ". `/cron remove ID` removes it.", nil
}

// readWhen reads when a job is due, and gives what follows.
func (k cronCommand) readWhen(text string) (keys map[string]string, rest string, err error) {
	first, rest := cutWord(text)
	word := strings.ToLower(first)
	switch word {
	case "in", "at", "every":
		var value string
		value, rest = cutWord(rest)
		if word != "in" {
			return map[string]string{word: value}, rest, nil
		}
		after, err := time.ParseDuration(value)
		if err != nil || after <= 0 {
			return nil, "", &request.Error{Field: "in", Text: fmt.Sprintf("%q is not a time such as 20m or 1h30m", value)}
		}
		return map[string]string{"at": k.Now().Add(after).UTC().Format(time.RFC3339)}, rest, nil
	}
	return map[string]string{"schedule": first}, rest, nil
}
