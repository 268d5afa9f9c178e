package automation

import (
	"encoding/json"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/router/job"
	"sluice/router/ledger"
)

// MadePath is the path of a job that is made at run time, in the places of its faults.
const MadePath = "job"

// madeBytes is the maximum size of such a job.
const madeBytes = 64 << 10

// Made reads a job that was made at run time. Its object has the keys of a job in sluice.yaml; decode reads them.
func (r Reader) Made(row ledger.Job, decode func(n *yaml.Node, into *Job)) job.Job {
	var document yaml.Node
	switch {
	case len(row.Object) > madeBytes:
		r.Report(MadePath, fmt.Sprintf("has %d bytes, the maximum is %d: shorten its text", len(row.Object), madeBytes))
		return job.Job{}
	case !json.Valid(row.Object) || yaml.Unmarshal(row.Object, &document) != nil || len(document.Content) == 0:
		r.Report(MadePath, "is not a JSON object")
		return job.Job{}
	}
	var read Job
	decode(document.Content[0], &read)
	read.ID = row.ID
	zone := time.Local
	if r.Cron.Timezone != "" {
		zone = r.zone("cron.timezone", r.Cron.Timezone)
	}
	made := r.job(MadePath+".", read, zone)
	r.must(read.Model == "", MadePath+".model", "is for jobs in the configuration")
	made.Made, made.Label, made.Owner = true, row.Label, !row.Limits && row.Agent == ""
	if row.Limits || row.Agent != "" { // never more than its maker
		made.Clearance = row.Label.Level()
		r.must(read.Check == "", MadePath+".check", "only a job that an owner has made without an agent may have one")
		if row.Clearance.Valid() {
			made.Clearance = row.Clearance
		}
		r.must(made.Agent == "" && (made.Session == "" || made.Session == job.Isolated), MadePath+".session", "only a job that an owner has made without an agent may choose its agent and its session")
		made.Agent = row.Agent
	}
	if made.Prompt != "" && row.Agent != "" {
		if err := r.Agent(row.Agent); err != nil {
			r.Report(MadePath, err.Error())
		}
	}
	if home := row.Home; home.Channel != "" && len(read.Deliver.To) == 0 && read.Deliver.When != "never" {
		made.Deliver.To = []ledger.TriggerTarget{{Name: "here", Channel: home.Channel, Account: home.Account, To: string(home.Conversation), Thread: string(home.Thread)}}
	}
	return made
}
