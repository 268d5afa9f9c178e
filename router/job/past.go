package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
)

// past is what the triggers of a job hand on to the next one.
type past struct {
	count  int    // how many have fired
	before string // the latest one that has or may get a run
	seen   map[string]int64
	wakes  []ledger.TriggerWake // that nobody was told
}

// History has the triggers of a job, see [ledger.Store].
type History interface {
	ListTriggers(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error)
}

// HistoryMax is how many triggers of a job are looked through for its past.
const HistoryMax = 50

// pastIn finds out the past of a job that has no waiting trigger, as far as its history is kept.
func (j *Job) pastIn(ctx context.Context, history History) (past, error) {
	var p past
	if j.EndsAfter == 0 && j.Prompt == "" && !j.watches() {
		return p, nil // only these have one
	}
	all, err := j.history(ctx, history)
	if err != nil {
		return p, err
	}
	p.wakes = untold(all)
	for i := range all {
		t := &all[i]
		count := t.Count
		if t.Begun() || !t.Fired.IsZero() {
			count++
		}
		if t.By == "" && count > p.count {
			p.count = count
		}
		if open := t.Status == ledger.TriggerRunning || t.Status == ledger.TriggerWaiting && t.Begun(); open && t.By == "" && (p.before == "" || t.Queued) {
			p.before = t.Key
		}
		for check, news := range t.Seen {
			if p.seen == nil {
				p.seen = map[string]int64{}
			}
			p.seen[check] = max(p.seen[check], news)
		}
	}
	return p, nil
}

// history are the latest triggers of a job, newest first. They reach back to one that was not fired by hand.
func (j *Job) history(ctx context.Context, history History) (all []ledger.Trigger, err error) {
	q := ledger.TriggerQuery{Source: ledger.TriggerCron, Subject: j.ID, MaxLevel: flow.Restricted, Limit: HistoryMax}
	for {
		some, err := history.ListTriggers(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read earlier instants: %w", err)
		}
		all = append(all, some...)
		if len(some) < HistoryMax || slices.ContainsFunc(some, func(t ledger.Trigger) bool { return t.By == "" }) {
			return all, nil
		}
		q.After = some[len(some)-1].Key
	}
}

// untold are the wakes of a job that no run was told, oldest first. A trigger that did not fire hands its wakes on to the next one,
// and keeps them.
func untold(all []ledger.Trigger) (wakes []ledger.TriggerWake) {
	known := map[string]bool{}
	for i := range all {
		if t := &all[i]; t.Begun() || !t.Fired.IsZero() {
			for _, w := range t.Wakes {
				known[w.ID] = true
			}
		}
	}
	for i := range all {
		for _, w := range all[i].Wakes {
			if !known[w.ID] {
				known[w.ID] = true
				wakes = append(wakes, w)
			}
		}
	}
	slices.SortStableFunc(wakes, func(a, b ledger.TriggerWake) int { return a.At.Compare(b.At) })
	return wakes
}

// follow returns the trigger of the next instant, after one that fired or was skipped. After the last instant it returns nothing.
func (j *Job) follow(t *ledger.Trigger, at, now time.Time, fired bool) []ledger.Trigger {
	p := past{t.Count, t.Before, t.Seen, t.Wakes}
	if fired {
		p.count, p.before, p.wakes = t.Count+1, t.Key, nil
	}
	instant, ok := j.after(t.Anchor, at)
	if !ok {
		return nil
	}
	next := j.counted(j.waiting(t.Anchor, instant, now), p)
	next.Partition = t.Partition
	return []ledger.Trigger{next}
}

// counted is the next trigger of a job with a past. After its last instant by number, a job keeps a trigger that is never due, so
// that it is not planned once more.
func (j *Job) counted(next ledger.Trigger, p past) ledger.Trigger {
	next.Count, next.Before, next.Seen = p.count, p.before, p.seen
	for _, w := range p.wakes {
		Leave(&next, w)
	}
	if j.EndsAfter > 0 && p.count >= j.EndsAfter {
		next.Key, next.Due, next.Instant = string(ledger.TriggerCron)+"/"+j.ID+"/over", never, time.Time{}
		next.Why = "the job has fired as often as it should"
	}
	return next
}

// never is the due time of a trigger that only says that its job is over.
var never = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)
