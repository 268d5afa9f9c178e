package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Add makes a job. The object has the keys of a job in sluice.yaml. Who sees everything chooses its id; the ids of others get a
// random end, because an id that is taken would tell of a job that they may not know.
func (s *Jobs) Add(ctx context.Context, id string, object json.RawMessage, who Maker) (Job, error) {
	switch {
	case who.Once != "":
		id = strings.Trim(id+"-"+ending(who.Once), "-")
		if row, err := s.Store.Job(ctx, ledger.JobMade, id); err == nil && row.Session == who.Session {
			return s.Get(ctx, id)
		}
	case !flow.CanFlow(flow.Restricted, who.Level) || id == "":
		id = strings.Trim(id+"-"+strings.ToLower(rand.Text()[:8]), "-")
	}
	now := s.Now()
	row := ledger.Job{
		Origin: ledger.JobMade, ID: id, Revision: 1, Partition: job.Partition(id, s.Partitions), Label: who.Label, Session: who.Session, Created: now, Changed: now,
		JobDetail: ledger.JobDetail{
			Object: object, Maker: who.Actor, By: who.Actor, Home: who.Home, Limits: !who.Owner, Agent: who.Agent, Clearance: who.Clearance,
		},
	}
	j, err := s.checked(row, who)
	if err != nil {
		return Job{}, err
	}
	if other, ok := s.configured(id); ok {
		return Job{}, &request.Error{Field: "job.id", Text: fmt.Sprintf("%q is %s in sluice.yaml: choose another id", id, other.Place)}
	}
	if err := s.room(ctx, who); err != nil {
		return Job{}, err
	}
	err = s.plan(ctx, &j.Job, s.audited(ledger.Change{Jobs: []ledger.Job{row}}, &j, who, "cron.add"))
	if errors.Is(err, sessions.ErrConflict) {
		return Job{}, &request.Error{Field: "job.id", Text: fmt.Sprintf("%q is taken: choose another id, or change that job with sluice cron update", id)}
	}
	if err != nil {
		return Job{}, err
	}
	return s.Get(ctx, id)
}

// ending is the end of a name that stands for another one.
func ending(once string) string {
	sum := sha256.Sum256([]byte(once))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// Update replaces keys of the object of a job that was made at run time; null removes one.
func (s *Jobs) Update(ctx context.Context, id string, keys map[string]json.RawMessage, who Maker) (Job, error) {
	return s.change(ctx, id, who, func(ctx context.Context, j *Job) error {
		if !j.Made {
			return inFile(j)
		}
		row := s.next(j, who)
		row.Label = row.Label.Join(who.Label)
		row.Limits = row.Limits || !who.Owner
		if who.Agent != "" { // from now on it says what an agent has written
			row.Agent, row.Clearance = cmp.Or(row.Agent, who.Agent), narrower(row.Clearance, who.Clearance)
		}
		var err error
		if row.Object, err = merged(row.Object, keys); err != nil {
			return err
		}
		changed, err := s.checked(row, who)
		if err != nil {
			return err
		}
		change := s.audited(ledger.Change{Jobs: []ledger.Job{row}}, &changed, who, "cron.update")
		if row.Paused || changed.Plan == j.Plan && j.Fault == "" {
			return s.Commit(ctx, change)
		}
		if change.Triggers, err = s.withdrawn(ctx, id, "the job was changed"); err != nil {
			return err
		}
		return s.plan(ctx, &changed.Job, change)
	})
}

// narrower is the lower of two bounds. An invalid one bounds nothing.
func narrower(a, b flow.Level) flow.Level {
	switch {
	case !a.Valid():
		return b
	case !b.Valid():
		return a
	}
	return flow.Min(a, b)
}

func merged(object json.RawMessage, keys map[string]json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	for key, value := range keys {
		if string(value) == "null" {
			delete(all, key)
		} else {
			all[key] = value
		}
	}
	return json.Marshal(all)
}

// checked reads the job of a row, and refuses what its maker may not have it do.
func (s *Jobs) checked(row ledger.Job, who Maker) (Job, error) {
	read, err := s.Configuration.Read(row)
	if err != nil {
		return Job{}, err
	}
	j := Job{Job: read, Row: row}
	if err := s.sound(&j); err != nil {
		return Job{}, err
	}
	for _, target := range append(read.Deliver.To[:len(read.Deliver.To):len(read.Deliver.To)], read.Deliver.Fallback...) {
		if err := may(row, who, target); err != nil {
			return Job{}, err
		}
	}
	if who.Bounded && read.Prompt != "" && who.Agent == "" {
		return Job{}, &request.Error{Field: "job.prompt", Text: "only an owner or an agent may make a job that asks an agent: use text"}
	}
	if who.Bounded && len(read.Checks) > 0 {
		return Job{}, &request.Error{Field: "job.check", Text: "only an owner may make a job with a check"}
	}
	if who.Bounded {
		return j, s.apart(&read)
	}
	return j, nil
}

// may refuses a target that a job's makers may not reach.
func may(row ledger.Job, who Maker, target ledger.TriggerTarget) error {
	home := row.Home
	here := home.Channel != "" && target.Channel == home.Channel && target.To == string(home.Conversation) && (target.Account == "" || target.Account == home.Account)
	toOwner := target.Channel == "" && target.To == "owner"
	if row.Limits && !here && !toOwner {
		return &request.Error{Field: "job.deliver", Text: fmt.Sprintf("%q: only an owner may have a job deliver to another conversation; leave deliver out, or use owner", target.Name)}
	}
	if who.MaySend != nil && target.Channel != "" {
		return who.MaySend(target.Channel, target.Account)
	}
	return nil
}

// apart refuses instants that are too close together.
func (s *Jobs) apart(j *job.Job) error {
	schedule := j.Schedule
	schedule.Anchor = s.Now()
	last := schedule.Next(s.Now())
	for range 4 { // seconds that repeat within a minute show at once
		next := schedule.Next(last)
		if next.IsZero() || last.IsZero() {
			return nil
		}
		if next.Sub(last) < MinDistance {
			return &request.Error{Field: "job", Text: fmt.Sprintf("is due every %s; the smallest distance is %s", next.Sub(last), MinDistance)}
		}
		last = next
	}
	return nil
}

// room refuses another job above the bounds.
func (s *Jobs) room(ctx context.Context, who Maker) error {
	now := s.Now()
	n, err := s.Store.CountJobs(ctx, who.Session, now.Add(-recentSpan), who.Level)
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	most := allMax
	if who.Bounded {
		most = GatewayMax
	}
	switch {
	case n.All >= most:
		return &request.Error{Field: "job", Text: fmt.Sprintf("there are %d jobs, the maximum is %d: remove some", n.All, most)}
	case who.Session != "" && n.Session >= SessionMax:
		return &request.Error{Field: "job", Text: fmt.Sprintf("this session has %d jobs, the maximum is %d: remove some", n.Session, SessionMax)}
	case who.Session != "" && n.Recent >= RecentMax:
		return &request.Error{Field: "job", Text: fmt.Sprintf("this session made %d jobs in %s: wait", n.Recent, recentSpan)}
	}
	return nil
}
