package job

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/internal/cron"
	"sluice/router/ledger"
)

// heartbeats begins the ids of the jobs of heartbeats. No other id has its last character.
const heartbeats = "heartbeat:"

// SameFor is how long a heartbeat does not repeat a text.
const SameFor = 24 * time.Hour

// anyAge is older than what a heartbeat could miss: after downtime it looks once.
const anyAge = 100 * 365 * 24 * time.Hour

// beatPrompt is what a heartbeat asks.
const beatPrompt = `This is your heartbeat: nobody has written to you. Find out whether there is something that your owner has to know or decide now. If there is, say it in a few lines: your reply is sent. If there is not, answer exactly HEARTBEAT_OK, and nothing is sent. Do not repeat what you have said before.`

// Heartbeat is the job by which an agent looks by itself whether there is something to say.
func Heartbeat(agent string, every time.Duration, hours Hours) Job {
	return Job{
		ID: HeartbeatOf(agent), Schedule: cron.Schedule{Every: every, Zone: time.UTC}, Plan: "heartbeat|" + every.String(), Prompt: beatPrompt, Agent: agent, Session: Isolated,
		Owner: true, CatchUp: anyAge, Heartbeat: true, Hours: hours,
	}
}

// watches reports whether the job does something only when there is a reason.
func (j *Job) watches() bool { return j.Heartbeat || len(j.Checks) > 0 }

// HeartbeatOf is the id of the job of an agent's heartbeat.
func HeartbeatOf(agent string) string { return heartbeats + agent }

// Leave adds a wake to the waiting trigger of a heartbeat.
func Leave(t *ledger.Trigger, w ledger.TriggerWake) {
	t.Wakes = append(slices.Clip(t.Wakes), w)
	t.Label = t.Label.Join(w.Label)
}

// asking is a heartbeat with the instructions of its agent. False: there is nothing to ask.
func (s *Source) asking(job *Job, t *ledger.Trigger) (*Job, bool) {
	if !job.Heartbeat || s.Instructions == nil {
		return job, true
	}
	text, err := s.Instructions(job.Agent)
	if err != nil {
		s.Report(job.ID, fmt.Errorf("read what the heartbeat is to do: %w", err))
		text = ""
	}
	if text = Instructions(text); text == "" {
		return job, len(t.Found)+len(t.Wakes) > 0
	}
	with := *job
	with.Prompt += "\n\nInstructions of HEARTBEAT.md:\n\n" + text
	return &with, true
}

var (
	comments = regexp.MustCompile(`(?s)<!--.*?-->`)
	idleLine = regexp.MustCompile(`^\s*(#.*|[-*+]\s*(\[[ xX]?\])?\s*)?$`)
)

// Instructions are what a text of HEARTBEAT.md asks for; empty if it has only headings, comments and empty list entries.
func Instructions(text string) string {
	text = strings.TrimSpace(comments.ReplaceAllString(text, ""))
	for line := range strings.Lines(text) {
		if !idleLine.MatchString(strings.TrimRight(line, "\r\n")) {
			return text
		}
	}
	return ""
}

// Hours are times of day; the zero value is all of them.
type Hours struct {
	from, to int // minutes since midnight
	zone     *time.Location
}

// ParseHours reads times of day such as 08:00-22:00. An empty text is the whole day.
func ParseHours(text string, zone *time.Location) (Hours, error) {
	if text == "" {
		return Hours{}, nil
	}
	h := Hours{zone: zone}
	from, to, ok := strings.Cut(text, "-")
	var okFrom, okTo bool
	h.from, okFrom = minutes(from)
	h.to, okTo = minutes(to)
	if !ok || !okFrom || !okTo || h.from == h.to || h.from == dayMinutes {
		return Hours{}, fmt.Errorf("%q: want two different times of day, such as 08:00-22:00", text)
	}
	return h, nil
}

const dayMinutes = 24 * 60

// minutes reads a time of day, also 24:00.
func minutes(text string) (int, bool) {
	text = strings.TrimSpace(text)
	if text == "24:00" {
		return dayMinutes, true
	}
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil
}

const (
	// openingDays is how far Opening looks: in a year, each day's change of the clock has come.
	openingDays = 400
	// openingEarly is how long before the hours begin by the clock Opening looks at each instant: a change of the clock moves them.
	openingEarly = 2 * time.Hour
)

// Opening returns the first of the job's instants, from the given one on, whose time is within the job's hours. It returns
// false if it finds no such instant.
func (j *Job) Opening(instant time.Time) (time.Time, bool) {
	end := instant.AddDate(0, 0, openingDays)
	for instant.Before(end) {
		at := instant.Add(j.delay())
		if j.Hours.Contain(at) {
			return instant, true
		}
		from := instant
		if early := j.Hours.next(at).Add(-j.delay() - openingEarly); early.After(from) {
			from = early
		}
		next, ok := j.after(instant, from)
		if !ok {
			break
		}
		instant = next
	}
	return time.Time{}, false
}

// next is when the hours begin the next time, by the clock.
func (h Hours) next(at time.Time) time.Time {
	at = at.In(h.zone)
	year, month, day := at.Date()
	next := time.Date(year, month, day, 0, h.from, 0, 0, h.zone)
	if !next.After(at) {
		next = time.Date(year, month, day+1, 0, h.from, 0, 0, h.zone)
	}
	return next
}

// Contain reports whether a moment is within the hours.
func (h Hours) Contain(at time.Time) bool {
	if h.zone == nil {
		return true
	}
	at = at.In(h.zone)
	m := at.Hour()*60 + at.Minute()
	if h.from < h.to {
		return h.from <= m && m < h.to
	}
	return m >= h.from || m < h.to
}
