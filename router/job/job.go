package job

import (
	"hash/fnv"
	"strings"
	"time"

	"sluice/internal/cron"
	"sluice/policy/flow"
	"sluice/router/ledger"
)

// Job is a job: a text that is sent, or a prompt that an agent works on, when the schedule says so.
type Job struct {
	ID        string
	Schedule  cron.Schedule // the anchor of equal distances is stored with the triggers
	Plan      string        // the schedule as it was written; a job with another plan is planned again
	Text      string        // that is sent; empty if an agent is asked, or if the news of its checks are sent
	Checks    []string      // the job does something only when one of them has news; empty: always
	Prompt    string        // for the agent
	Agent     string        // empty: the default agent
	Session   string        // of the prompt: [Isolated], [Main] or a session key; empty: isolated
	Model     string        // that answers the prompt in an isolated session, or a chain; empty: the agent's
	Timeout   time.Duration // of the agent's work; 0: as configured for all
	Overlap   Overlap       // empty: skip
	Retry     Retry
	EndsAfter int       // the job ends after this number of instants; 0: never
	EndsAt    time.Time // no instant from this time on is fired; zero: never
	OnFailure OnFailure
	Deliver   ledger.TriggerDelivery
	CatchUp   time.Duration // how old the latest missed instant may be to be fired
	Jitter    time.Duration // below which a part that depends on the id delays each instant
	When      string        // the schedule as people read it
	Heartbeat bool          // it asks only if there is something to ask about
	Hours     Hours         // outside which a heartbeat does nothing
	Entry     string        // in sluice.yaml, if it is not one of cron.jobs

	Made      bool       // at run time; else it is in the configuration
	Label     flow.Label // of a job made at run time; what the configuration says is PUBLIC and trusted
	Owner     bool       // its run has the rights of an owner
	Clearance flow.Level // bounds that of its session; invalid: that of an owner's session
}

// label is that of what the job says.
func (j *Job) label() flow.Label {
	if j.Made {
		return j.Label
	}
	return flow.Bottom()
}

// The sessions of prompts that are no keys.
const (
	Isolated = "isolated" // cron:<id>, and empty at each instant
	Main     = "main"     // the agent's main session
)

// onTime is the delay that a gateway under load may have; an instant that is not older is never missed.
const onTime = time.Minute

// Partition is the partition of a job's triggers.
func Partition(id string, partitions int) int {
	j := Job{ID: id}
	return ledger.TriggerPartition(j.key(time.Time{}), partitions)
}

// ByHand is the trigger that fires a job once now, beside its instants. The name tells it from others.
func (j *Job) ByHand(by, name string, now time.Time, partition int) ledger.Trigger {
	t := j.waiting(now, now, now)
	t.Key = strings.Join([]string{string(ledger.TriggerCron), j.ID, "run", name}, "/")
	t.By, t.Due, t.Partition = by, now, partition
	return t
}

// key is the key of an instant's trigger.
func (j *Job) key(instant time.Time) string {
	return strings.Join([]string{string(ledger.TriggerCron), j.ID, instant.UTC().Format(time.RFC3339)}, "/")
}

// delay spreads jobs: it is the same for all instants of a job.
func (j *Job) delay() time.Duration {
	if j.Jitter < time.Millisecond {
		return 0
	}
	sum := fnv.New64a()
	sum.Write([]byte(j.ID))
	return time.Duration(sum.Sum64()%uint64(j.Jitter/time.Millisecond)) * time.Millisecond
}

// after returns the job's first instant after a time, or false if the schedule has ended.
func (j *Job) after(anchor, at time.Time) (time.Time, bool) {
	s := j.Schedule
	s.Anchor = anchor
	next := s.Next(at)
	over := next.IsZero() || !j.EndsAt.IsZero() && !next.Before(j.EndsAt)
	return next.UTC(), !over
}

// waiting is the trigger of an instant.
func (j *Job) waiting(anchor, instant, now time.Time) ledger.Trigger {
	t := ledger.Trigger{
		Key: j.key(instant), Revision: 1, Source: ledger.TriggerCron, Subject: j.ID, Status: ledger.TriggerWaiting, Due: instant.Add(j.delay()),
		Label: j.label(), Created: now,
		TriggerDetail: ledger.TriggerDetail{Instant: instant.UTC(), Plan: j.Plan, Anchor: anchor, Deliver: j.Deliver},
	}
	if j.Made {
		t.Names = j.label()
	}
	return t
}

// passed are the instants of a job from a waiting trigger's on that are due.
type passed struct {
	latest time.Time
	before int  // how many came before the latest; at least, if many is set
	late   bool // the latest is too old to be fired
}

// passedMax bounds how many missed instants are counted one by one.
const passedMax = 10_000

// since finds the instants that have become due since a trigger's.
func (j *Job) since(t *ledger.Trigger, now time.Time) passed {
	p := passed{latest: t.Instant}
	limit := now.Add(-j.delay())
	for {
		next, ok := j.after(t.Anchor, p.latest)
		if !ok || next.After(limit) {
			break
		}
		if p.before++; p.before == passedMax { // go on where one can still be fired
			if begin := limit.Add(-max(j.CatchUp, onTime)); next.Before(begin) {
				if next, ok = j.after(t.Anchor, begin); !ok || next.After(limit) {
					break
				}
			}
		}
		p.latest = next
	}
	p.late = limit.Sub(p.latest) > max(j.CatchUp, onTime)
	return p
}
