package automation

import (
	"cmp"
	"fmt"
	"time"

	"sluice/internal/config/scalar"
	"sluice/internal/cron"
	"sluice/router/job"
	"sluice/router/ledger"
)

// Heartbeat says how often an agent looks by itself whether there is something that its owner must know.
type Heartbeat struct {
	Every       scalar.Duration `yaml:"every" doc:"Time between two heartbeats, at least 1s, for example 30m. Default: no heartbeat."`
	ActiveHours string          `yaml:"activeHours" doc:"Times of day at which heartbeats run, for example 08:00-22:00. They may go over midnight. Default: always."`
	Timezone    string          `yaml:"timezone" doc:"IANA name of the time zone of activeHours. Default: cron.timezone."`
	Target      string          `yaml:"target" doc:"Where the agent's reply is sent: owner, a name from targets, <channel>:<conversation>[:<thread>], or none. Default: the first owner's direct chat."`
	Checks      []string        `yaml:"checks" doc:"Names from checks. The agent is asked only when one of them has news. Without any, it is asked each time if HEARTBEAT.md in its workspace has instructions."`
	Session     string          `yaml:"session" enum:"main,isolated" doc:"Session in which it works. isolated: an empty one each time. main: the agent's main session, which then learns what the checks found, and whose whole transcript the model reads each time. Default: isolated."`
	Model       string          `yaml:"model" chain:"true" doc:"<provider>/<model>, or a list of them, if session is isolated: often a small one is enough. Default: the agent's."`
}

// AgentHeartbeat is the heartbeat of an agent of the configuration.
type AgentHeartbeat struct {
	Agent string
	Heartbeat
}

// heartbeats are the jobs of the heartbeats.
func (r Reader) heartbeats(zone *time.Location) (all []job.Job) {
	for i, h := range r.Heartbeats {
		path := fmt.Sprintf("agents.list[%d].heartbeat", i)
		if h.Every == 0 {
			unset := h.ActiveHours == "" && h.Timezone == "" && h.Target == "" && len(h.Checks) == 0 && h.Session == "" && h.Model == ""
			r.must(unset, path+".every", "is missing: say how often, for example 30m")
			continue
		}
		all = append(all, r.heartbeat(path, h, zone))
	}
	return all
}

func (r Reader) heartbeat(path string, h AgentHeartbeat, zone *time.Location) job.Job {
	r.must(h.Every.Std() >= cron.MinEvery, path+".every", "%s: want at least %s", h.Every, cron.MinEvery)
	if h.Timezone != "" {
		zone = r.zone(path+".timezone", h.Timezone)
	}
	hours, err := job.ParseHours(h.ActiveHours, zone)
	if err != nil {
		r.Report(path+".activeHours", err.Error())
	}
	for i, name := range h.Checks {
		if err := r.Check(name); err != nil {
			r.Report(fmt.Sprintf("%s.checks[%d]", path, i), err.Error())
		}
	}
	beat := job.Heartbeat(h.Agent, h.Every.Std(), hours)
	r.model(path+".model", h.Model, h.Session)
	beat.Model = h.Model
	beat.Entry, beat.Checks, beat.When = path, h.Checks, "every "+h.Every.String()
	if h.ActiveHours != "" {
		beat.When += ", " + h.ActiveHours + " " + zone.String()
	}
	beat.Deliver = ledger.TriggerDelivery{Within: withinDefault, Changed: true, ChangedFor: job.SameFor}
	if h.Target != none {
		beat.Deliver.To = []ledger.TriggerTarget{r.place(path+".target", cmp.Or(h.Target, owner))}
	}
	if h.Session == job.Main {
		beat.Session = job.Main
	}
	return beat
}
