package ledger

import (
	"strings"

	"sluice/internal/spending"
	"sluice/sessions"
)

// OriginOf says for what the models of a run of an agent are called.
func OriginOf(run *sessions.Run, agent string) spending.Origin {
	o := spending.Origin{
		Run: run.ID, Session: run.Session, Agent: agent, Person: run.Speaker(), Partition: run.Partition, Epoch: run.Epoch,
		Unattended: run.Kind == sessions.KindTrigger || run.Kind == sessions.KindTask || run.Kind == sessions.KindReport,
	}
	if run.Kind == sessions.KindTrigger {
		o.Job = jobOf(run.EventKey)
	}
	return o
}

// jobOf is the job that a trigger belongs to, given its key: the job's id, or "hook:" and the name of a hook.
func jobOf(key string) string {
	source, rest, _ := strings.Cut(key, "/")
	subject, _, _ := strings.Cut(rest, "/")
	if source != string(TriggerCron) && subject != "" {
		return source + ":" + subject
	}
	return subject
}
