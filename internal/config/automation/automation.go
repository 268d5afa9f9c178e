// Package automation has the part of the configuration that makes the gateway act on its own: jobs and their targets.
package automation

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sluice/internal/config/scalar"
	"sluice/internal/cron"
	"sluice/internal/pattern"
	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Cron are the jobs.
type Cron struct {
	Timezone string `yaml:"timezone" doc:"IANA name of the time zone of jobs without their own, for example Europe/Berlin. Default: the gateway's."`
	Jobs     []Job  `yaml:"jobs" doc:"What happens when: docs/automation.md."`
}

// Job sends a text, or asks an agent and sends its reply, when its schedule says so.
type Job struct {
	ID        string          `yaml:"id" doc:"Required. Name of the job: a-z 0-9 _ -."`
	Schedule  string          `yaml:"schedule" doc:"Cron expression: minute hour day month weekday, with seconds in front if there are six fields. Shown by sluice cron next. Each job has one of schedule, every and at."`
	Every     scalar.Duration `yaml:"every" doc:"Elapsed time between two instants, at least 1s. Clock changes do not matter."`
	At        string          `yaml:"at" doc:"A single time, for example 2026-12-24T18:00 in the job's time zone, or 2026-12-24T18:00:00+01:00."`
	Timezone  string          `yaml:"timezone" doc:"IANA name of the job's time zone. Default: cron.timezone."`
	Text      string          `yaml:"text" doc:"The text to send, as Markdown. Each job has either text or prompt, or only check."`
	Prompt    string          `yaml:"prompt" doc:"What an agent is asked. Its reply is sent."`
	Check     string          `yaml:"check" doc:"A name from checks. At each of its times, the job runs the check, and does something only if the check has news that the job has not seen. Without text and prompt, it sends what the check found."`
	Agent     string          `yaml:"agent" doc:"Agent of the prompt. Default: the default agent."`
	Session   string          `yaml:"session" doc:"Session of the prompt: isolated (cron:<id>, empty at each time), main (the agent's main session), or a session key. Default: isolated."`
	Model     string          `yaml:"model" chain:"true" doc:"<provider>/<model>, or a list of them, for the prompt of a job in cron.jobs, if session is isolated. Default: the agent's."`
	Timeout   scalar.Duration `yaml:"timeout" doc:"Longest time that the agent may work on the prompt. Default: agents.defaults.timeout."`
	Deliver   Deliver         `yaml:"deliver" doc:"Where the text or the reply is sent. Default: the first owner's direct chat."`
	CatchUp   CatchUp         `yaml:"catchUp" doc:"What happens to instants that passed while the gateway was not running."`
	Jitter    scalar.Wait     `yaml:"jitter" doc:"Delays each instant by a part of this time that depends on the id. It spreads many jobs. 0s: no delay, also at full hours. Default: 1m for a schedule whose times are all at full hours, else 0s."`
	Exact     bool            `yaml:"exact" doc:"No delay, also at full hours."`
	Overlap   string          `yaml:"overlap" enum:"skip,queue,cancel" doc:"What happens when the prompt is due and the agent still works on the previous one. skip: nothing. queue: it waits, and further ones are skipped. cancel: the work on the previous one ends. Default: skip."`
	Retry     Retry           `yaml:"retry" doc:"Whether a failed run of a prompt is repeated."`
	Ends      Ends            `yaml:"ends" doc:"When the job is over. Default: never."`
	OnFailure OnFailure       `yaml:"onFailure" doc:"Who hears of failures. Default: the owner hears of the first one in a row."`
}

// Retry says how often a failed run is repeated.
type Retry struct {
	Max     int             `yaml:"max" doc:"Repetitions at most, up to 10. Default: 0."`
	Backoff scalar.Duration `yaml:"backoff" doc:"Time before the first repetition, at least 1s. It doubles each time, up to 1h. Default: 30s."`
}

// Ends says when a job is over.
type Ends struct {
	After int    `yaml:"after" doc:"After this number of times. Skipped and missed ones do not count."`
	At    string `yaml:"at" doc:"From this time on, for example 2027-01-01 in the job's time zone."`
}

// OnFailure says who hears of failures.
type OnFailure struct {
	Alert string `yaml:"alert" enum:"critical,error,warning,info" doc:"Severity of an alert with the key cron/<id>: its receiver is notified in place of the owner. While alerts are off, the owner is notified."`
	After int    `yaml:"after" doc:"Number of failures in a row after which somebody is notified, once until the job works again; up to 100. Default: 1."`
}

// Deliver says where a job's text is sent.
type Deliver struct {
	To       []string        `yaml:"to" doc:"Each gets the text: owner, a name from targets, or <channel>:<conversation>[:<thread>]. The single word none: nobody gets it."`
	Fallback []string        `yaml:"fallback" doc:"Tried in this order for targets that have no receipt."`
	Within   scalar.Duration `yaml:"within" doc:"Time in which a target must have a receipt. Default: 10m."`
	When     string          `yaml:"when" enum:"always,changed,never" doc:"changed: only a text that differs from the last one that arrived is sent. Default: always."`
}

// CatchUp says what happens to missed instants.
type CatchUp struct {
	Window scalar.Wait `yaml:"window" doc:"The latest missed instant still counts if it is not older. Earlier ones are recorded as missed. A delay of up to a minute is never a miss, also with 0s. Default: 1h."`
}

// Targets are places for proactive messages, by their names.
type Targets map[string]Target

// Target is a named place.
type Target struct {
	Channel string `yaml:"channel" doc:"Required. Platform, for example slack."`
	Account string `yaml:"account" doc:"Account on the platform. Default: default."`
	To      string `yaml:"to" doc:"Required. Id of the conversation, or owner."`
	Thread  string `yaml:"thread" doc:"Id of the thread or topic."`

	Classification flow.Level `yaml:"classification,omitempty" doc:"Highest level that may be said in the conversation, if lower than the channel's. Default: the channel's."`
}

const (
	withinDefault = 10 * time.Minute
	windowDefault = time.Hour
	owner         = "owner"
)

var name = pattern.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Reader turns the settings into job. Report gets each fault with the key where it is.
type Reader struct {
	Cron    Cron
	Targets Targets
	Channel func(name string) error // nil error: the platform exists
	Agent   func(name string) error // nil error: the agent exists
	Check   func(name string) error // nil error: the check exists
	Model   func(path, ref string)  // reports a model that does not exist; nil: models are not checked
	// Heartbeats are those of all agents, in their order.
	Heartbeats []AgentHeartbeat
	Report     func(path, text string)
}

// Jobs reads all job. Faulty ones are reported and left out.
func (r Reader) Jobs() []job.Job {
	zone := time.Local
	if r.Cron.Timezone != "" {
		zone = r.zone("cron.timezone", r.Cron.Timezone)
	}
	r.targets()
	seen := map[string]bool{}
	var all []job.Job
	for i, j := range r.Cron.Jobs {
		path := fmt.Sprintf("cron.jobs[%d]", i)
		r.must(!seen[j.ID], path+".id", "%q is used twice: give each job its own id", j.ID)
		seen[j.ID] = true
		all = append(all, r.job(path+".", j, zone))
	}
	return append(all, r.heartbeats(zone)...)
}

// action checks what a job does.
func (r Reader) action(path string, j Job) {
	if j.Check != "" {
		if err := r.Check(j.Check); err != nil {
			r.Report(path+"check", err.Error())
		}
	}
	says, asks := strings.TrimSpace(j.Text) != "", strings.TrimSpace(j.Prompt) != ""
	switch {
	case says && asks:
		r.Report(strings.TrimSuffix(path, "."), "has both text and prompt: want one")
	case !says && !asks && j.Check == "":
		r.Report(strings.TrimSuffix(path, "."), "has neither text nor prompt: write what the job sends, or what it asks an agent")
	case !asks:
		r.must(j.Agent == "", path+"agent", "is for jobs with a prompt")
		r.must(j.Session == "", path+"session", "is for jobs with a prompt")
		r.must(j.Model == "", path+"model", "is for jobs with a prompt")
		r.must(j.Timeout == 0, path+"timeout", "is for jobs with a prompt")
		r.must(j.Overlap == "", path+"overlap", "is for jobs with a prompt")
		r.must(j.Retry == Retry{}, path+"retry", "is for jobs with a prompt: a delivery is repeated anyway")
		return
	}
	if j.Agent != "" {
		if err := r.Agent(j.Agent); err != nil {
			r.Report(path+"agent", err.Error())
		}
	}
	r.model(path+"model", j.Model, j.Session)
	switch j.Session {
	case "", job.Isolated, job.Main:
	default:
		key, err := sessions.ParseKey(j.Session)
		if err != nil {
			r.Report(path+"session", fmt.Sprintf("want isolated, main or a session key: %s", err))
		}
		other := key.Agent()
		r.must(other == "" || j.Agent == "" || other == j.Agent, path+"session", "belongs to agent %q, and the job asks %q", other, j.Agent)
	}
}

// model checks the model of a prompt in a session.
func (r Reader) model(path, model, session string) {
	if model == "" {
		return
	}
	r.must(session == "" || session == job.Isolated, path, "is for prompts in an isolated session: other sessions have their own model")
	if r.Model != nil {
		r.Model(path, model)
	}
}

// none stands for no target.
const none = "none"

// Delivery reads where a text goes.
func (r Reader) Delivery(path string, d Deliver) ledger.TriggerDelivery {
	read := ledger.TriggerDelivery{Within: cmp.Or(d.Within.Std(), withinDefault), Changed: d.When == "changed"}
	if nowhere := len(d.To) == 1 && d.To[0] == none; nowhere || d.When == "never" {
		r.must(len(d.Fallback) == 0, path+".fallback", "has no effect: nothing is sent")
		return read
	}
	read.To, read.Fallback = r.places(path+".to", orOwner(d.To)), r.places(path+".fallback", d.Fallback)
	return read
}

// job reads a job. The path is a prefix.
func (r Reader) job(path string, j Job, zone *time.Location) job.Job {
	r.must(name.MatchString(j.ID), path+"id", "%q: want a name of a-z 0-9 _ -", j.ID)
	r.action(path, j)
	if j.Timezone != "" {
		zone = r.zone(path+"timezone", j.Timezone)
	}
	read := job.Job{
		ID: j.ID, Schedule: r.schedule(path, j, zone), Plan: strings.Join([]string{j.Schedule, j.Every.String(), j.At, zone.String(), j.Jitter.String()}, "|"), Text: j.Text,
		Prompt: j.Prompt, Agent: j.Agent, Session: j.Session, Model: j.Model, Timeout: j.Timeout.Std(), Owner: true, When: when(j, zone),
		Deliver: r.Delivery(path+"deliver", j.Deliver), CatchUp: j.CatchUp.Window.Or(windowDefault), Jitter: j.Jitter.Or(0),
		Overlap: job.Overlap(j.Overlap), Retry: r.retry(path, j), OnFailure: job.OnFailure{Alert: j.OnFailure.Alert, After: j.OnFailure.After},
	}
	if j.Check != "" {
		read.Checks = []string{j.Check}
	}
	r.must(j.OnFailure.After >= 0 && j.OnFailure.After <= failuresMax, path+"onFailure.after", "%d: want 1 to %d", j.OnFailure.After, failuresMax)
	r.must(!j.Exact || j.Jitter.Or(0) == 0, path+"exact", "contradicts jitter: want one of them")
	r.ends(path, j, &read, zone)
	if j.Jitter == 0 && !j.Exact && fullHours(read.Schedule) {
		read.Jitter = fullHourJitter
	}
	if read.Jitter != j.Jitter.Or(0) {
		read.Plan += "|" + read.Jitter.String()
	}
	return read
}

// when is a schedule as people read it.
func when(j Job, zone *time.Location) string {
	switch {
	case j.Schedule != "":
		return j.Schedule + " " + zoneName(zone)
	case j.Every != 0:
		return "every " + j.Every.String()
	}
	if _, err := time.Parse(time.RFC3339, j.At); err == nil { // it has an offset
		return "at " + j.At
	}
	return "at " + j.At + " " + zoneName(zone)
}

// zoneName names a zone for people. Go has no name for that of the host.
func zoneName(zone *time.Location) string {
	if zone == time.Local {
		return "(time zone of the host)"
	}
	return zone.String()
}

func orOwner(to []string) []string {
	if len(to) == 0 {
		return []string{owner}
	}
	return to
}

func (r Reader) must(ok bool, path, format string, args ...any) {
	if !ok {
		r.Report(path, fmt.Sprintf(format, args...))
	}
}

func (r Reader) zone(path, text string) *time.Location {
	zone, err := cron.LoadZone(text)
	if err != nil {
		r.Report(path, err.Error())
		return time.UTC
	}
	return zone
}

// schedule reads the one of schedule, every and at that is set.
func (r Reader) schedule(path string, j Job, zone *time.Location) cron.Schedule {
	s := cron.Schedule{Zone: zone, Every: j.Every.Std()}
	set := 0
	for _, is := range []bool{j.Schedule != "", j.Every != 0, j.At != ""} {
		if is {
			set++
		}
	}
	r.must(set == 1, strings.TrimSuffix(path, "."), "has %d of schedule, every and at: want one", set)
	r.must(s.Every == 0 || s.Every >= cron.MinEvery, path+"every", "%s: want at least %s", j.Every, cron.MinEvery)
	var err error
	if j.Schedule != "" {
		if s.Cron, err = cron.Parse(j.Schedule); err != nil {
			r.Report(path+"schedule", err.Error())
		}
	}
	if j.At != "" {
		if s.At, err = cron.ParseTime(j.At, zone); err != nil {
			r.Report(path+"at", err.Error())
		}
	}
	return s
}

func (r Reader) targets() {
	for called, t := range r.Targets {
		path := "targets." + called
		r.must(name.MatchString(called) && called != owner && called != none, path, "want a name of a-z 0-9 _ -, and not owner or none")
		r.must(t.Channel != "", path+".channel", "is missing")
		r.must(t.To != "", path+".to", "is missing: want a conversation's id, or owner")
		r.channel(path+".channel", t.Channel)
		named := t.To == owner || strings.HasPrefix(t.To, "#") || strings.HasPrefix(t.To, "@")
		r.must(!t.Classification.Valid() || !named, path+".classification", "needs the conversation's id in to, not %q: names may change", t.To)
		r.must(!t.Classification.Valid() || t.Channel != webchat && t.Channel != node, path+".classification", "is for conversations on a platform: %s has its level elsewhere", t.Channel)
	}
}

// Channels whose conversations have levels of their own.
const (
	webchat = "webchat"
	node    = "node"
)

func (r Reader) channel(path, channel string) {
	if channel == "" {
		return
	}
	if err := r.Channel(channel); err != nil {
		r.Report(path, err.Error())
	}
}

// Places finds the targets of a list.
func (r Reader) Places(path string, list []string) []ledger.TriggerTarget {
	return r.places(path, list)
}

// places finds the targets of a list.
func (r Reader) places(path string, list []string) []ledger.TriggerTarget {
	var all []ledger.TriggerTarget
	for i, text := range list {
		all = append(all, r.place(fmt.Sprintf("%s[%d]", path, i), text))
	}
	return all
}

// place finds a target.
func (r Reader) place(path, text string) ledger.TriggerTarget {
	target := ledger.TriggerTarget{Name: text, To: owner}
	channel, to, direct := strings.Cut(text, ":")
	known, named := r.Targets[text]
	switch {
	case text == owner:
	case named:
		target.Channel, target.Account, target.To, target.Thread = known.Channel, known.Account, known.To, known.Thread
	case direct && channel != "" && to != "":
		r.channel(path, channel)
		target.Channel = channel
		target.To, target.Thread, _ = strings.Cut(to, ":")
	default:
		r.must(false, path, "%q: want owner, a name from targets, or <channel>:<conversation>", text)
	}
	return target
}
