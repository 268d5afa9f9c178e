package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router/job"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Store is what is read of the database.
type Store interface {
	Job(ctx context.Context, origin ledger.JobOrigin, id string) (ledger.Job, error)
	ListJobs(ctx context.Context, q ledger.JobQuery) ([]ledger.Job, error)
	CountJobs(ctx context.Context, session sessions.ID, since time.Time, upTo flow.Level) (ledger.JobCount, error)
	OpenTriggersOf(ctx context.Context, source ledger.TriggerSource, subjects []string) ([]ledger.Trigger, error)
	ListTriggers(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error)
}

// Configuration has the jobs of the configuration and reads others, see [job.Source].
type Configuration interface {
	Configured() []job.Job
	Read(row ledger.Job) (job.Job, error)
	// Removed adds to a change what follows from the removal of a job.
	Removed(ctx context.Context, id string, change *ledger.Change) error
}

// Jobs lists and changes jobs. All fields are required. It is safe for concurrent use.
type Jobs struct {
	Store         Store
	Commit        func(ctx context.Context, change ledger.Change) error
	Configuration Configuration
	Partitions    int // the same on all replicas
	Now           func() time.Time
}

// Job is a job with its state.
type Job struct {
	job.Job
	Row   ledger.Job // the zero value: a job of the configuration that is not paused
	Place string     // of a job of the configuration: its entry in sluice.yaml
	Next  time.Time  // its next instant; zero: none
	Fault string     // why it is not fired, besides being paused
}

// Local is a time in the job's zone.
func (j *Job) Local(at time.Time) time.Time {
	if j.Schedule.Zone == nil {
		return at
	}
	return at.In(j.Schedule.Zone)
}

// Upcoming are the next instants of a job that is fired: the first of those within a time from the next one.
func (j *Job) Upcoming(within time.Duration, limit int) (all []time.Time) {
	if j.State() != StateActive {
		return nil
	}
	s := j.Schedule
	s.Anchor = j.Next
	at, ok := j.Next, true
	for ok && at.Sub(j.Next) < within && len(all) < limit && (j.EndsAt.IsZero() || at.Before(j.EndsAt)) {
		all = append(all, j.Local(at))
		if at = s.Next(at); at.IsZero() {
			break
		}
		at, ok = j.Opening(at)
	}
	return all
}

// plan sets the next time of a job from its next instant. For a heartbeat, it is the first one within its active hours.
func (j *Job) plan(instant time.Time) {
	next, ok := j.Opening(instant)
	if !ok {
		j.Fault = neverOpen(&j.Job)
	}
	j.Next = next
}

// neverOpen is the fault of a heartbeat without a time at which it does something.
func neverOpen(j *job.Job) string {
	return "its times are never within its active hours (" + j.When + "): change activeHours or every"
}

// Paused reports whether the job is paused.
func (j *Job) Paused() bool { return j.Row.Paused }

// State is what a job is doing.
type State string

// The states of jobs.
const (
	StateActive State = "active"
	StatePaused State = "paused"
	StateFaulty State = "faulty" // it is not fired: see Fault
	StateEnded  State = "ended"
)

// State says whether the job will be fired.
func (j *Job) State() State {
	switch {
	case j.Paused():
		return StatePaused
	case j.Fault != "":
		return StateFaulty
	case j.Next.IsZero():
		return StateEnded
	}
	return StateActive
}

// Secrecy is the label of what the job says.
func (j *Job) Secrecy() flow.Label {
	if j.Made {
		return j.Row.Label
	}
	return flow.Bottom()
}

// Page selects jobs by their ids, in their order.
type Page struct {
	MaxLevel flow.Level
	Session  sessions.ID // only those that it has made; empty: all
	After    string      // an id
	Limit    int         // 1 to 200
}

// List lists jobs, and reports whether there are more.
func (s *Jobs) List(ctx context.Context, p Page) (found []Job, more bool, err error) {
	rows, err := s.Store.ListJobs(ctx, ledger.JobQuery{MaxLevel: p.MaxLevel, Session: p.Session, After: p.After, Limit: p.Limit})
	if err != nil {
		return nil, false, fmt.Errorf("read jobs: %w", err)
	}
	paused := map[string]ledger.Job{}
	for _, row := range rows {
		if row.Origin == ledger.JobOfFile {
			paused[row.ID] = row
		} else {
			found = append(found, s.made(row))
		}
	}
	more = len(rows) >= p.Limit
	for i, j := range s.Configuration.Configured() {
		if p.Session == "" && j.ID > p.After && (!more || j.ID <= rows[len(rows)-1].ID) {
			found = append(found, Job{Job: j, Row: paused[j.ID], Place: place(i, &j)})
		}
	}
	slices.SortFunc(found, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	if len(found) > p.Limit {
		found, more = found[:p.Limit], true
	}
	return found, more, s.addNext(ctx, found)
}

// place is the entry of a job of the configuration.
func place(i int, j *job.Job) string { return cmp.Or(j.Entry, fmt.Sprintf("cron.jobs[%d]", i)) }

// made is the job of a row.
func (s *Jobs) made(row ledger.Job) Job {
	out := Job{Row: row}
	var err error
	if out.Job, err = s.Configuration.Read(row); err != nil {
		out.Job = job.Job{ID: row.ID, Made: true, Label: row.Label}
		out.Fault = err.Error()
	}
	if other, ok := s.configured(row.ID); ok {
		out.Fault = fmt.Sprintf("%s in sluice.yaml has the same id and is used instead: rename or remove it there", other.Place)
	}
	return out
}

// configured finds a job of the configuration.
func (s *Jobs) configured(id string) (Job, bool) {
	for i, j := range s.Configuration.Configured() {
		if j.ID == id {
			return Job{Job: j, Place: place(i, &j)}, true
		}
	}
	return Job{}, false
}

// addNext adds the next instants.
func (s *Jobs) addNext(ctx context.Context, all []Job) error {
	var ids []string
	for _, j := range all {
		ids = append(ids, j.ID)
	}
	open, err := s.Store.OpenTriggersOf(ctx, ledger.TriggerCron, ids)
	if err != nil {
		return fmt.Errorf("read open triggers: %w", err)
	}
	for _, t := range open {
		if t.Status != ledger.TriggerWaiting || t.By != "" || t.Begun() {
			continue
		}
		for i := range all {
			if all[i].ID == t.Subject && all[i].Fault == "" {
				all[i].plan(t.Instant)
			}
		}
	}
	return nil
}

// Get finds a job: that of the configuration, else one made at run time.
func (s *Jobs) Get(ctx context.Context, id string) (Job, error) {
	j, err := s.find(ctx, id)
	if err != nil {
		return j, err
	}
	one := []Job{j}
	err = s.addNext(ctx, one)
	return one[0], err
}

func (s *Jobs) find(ctx context.Context, id string) (Job, error) {
	if j, ok := s.configured(id); ok {
		row, err := s.Store.Job(ctx, ledger.JobOfFile, id)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return Job{}, fmt.Errorf("read job: %w", err)
		}
		j.Row = row
		return j, nil
	}
	row, err := s.Store.Job(ctx, ledger.JobMade, id)
	if err != nil {
		return Job{}, fmt.Errorf("read job: %w", err)
	}
	return s.made(row), nil
}

// History lists the results of a job's instants, newest first, and those that are still open.
func (s *Jobs) History(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error) {
	q.Source = ledger.TriggerCron
	return s.Store.ListTriggers(ctx, q)
}

// inFile refuses to change a job of the configuration.
func inFile(j *Job) error {
	return &request.Error{Field: "id", Text: fmt.Sprintf("%s is a job of sluice.yaml: change %s there, or pause it", j.ID, j.Place)}
}
