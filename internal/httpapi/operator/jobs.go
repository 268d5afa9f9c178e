package operator

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Jobs lists and changes jobs, see [jobs.Jobs].
type Jobs interface {
	List(ctx context.Context, p jobs.Page) (found []jobs.Job, more bool, err error)
	Get(ctx context.Context, id string) (jobs.Job, error)
	Add(ctx context.Context, id string, object json.RawMessage, who jobs.Maker) (jobs.Job, error)
	Update(ctx context.Context, id string, keys map[string]json.RawMessage, who jobs.Maker) (jobs.Job, error)
	Pause(ctx context.Context, id string, who jobs.Maker) (jobs.Job, error)
	Resume(ctx context.Context, id string, who jobs.Maker) (jobs.Job, error)
	Run(ctx context.Context, id string, who jobs.Maker) (ledger.Trigger, error)
	Remove(ctx context.Context, id string, who jobs.Maker) error
	History(ctx context.Context, q ledger.TriggerQuery) ([]ledger.Trigger, error)
}

// JobAPI serves the jobs.
type JobAPI struct {
	Visible *view.Visibility
	Jobs    Jobs
	Rows    FailedRows
	Now     func() time.Time
}

// jobRecord is a job as programs see it.
type jobRecord struct {
	ID       string         `json:"id"`
	State    jobs.State     `json:"state" enum:"active,paused,faulty,ended"`
	Origin   string         `json:"origin" enum:"file,made" doc:"file: in sluice.yaml; made: at run time"`
	Place    string         `json:"place,omitempty" doc:"of a job of the file: its entry"`
	When     string         `json:"when"`
	Next     *time.Time     `json:"next,omitempty"`
	Upcoming []time.Time    `json:"upcoming,omitempty" doc:"the times within seven days from the next one, at most 50; in a list only with upcoming=true"`
	Last     *instantRecord `json:"last,omitempty" doc:"the latest time, other than one that waits; only in a list with last=true"`
	Text     string         `json:"text,omitempty"`
	Prompt   string         `json:"prompt,omitempty" doc:"for an agent"`
	Checks   []string       `json:"checks,omitempty" doc:"it does something only when one of them has news"`
	To       []string       `json:"to"`
	Fallback []string       `json:"fallback,omitempty"`
	Label    string         `json:"label"`
	Job      map[string]any `json:"job,omitempty" doc:"of a job made at run time: its keys as in sluice.yaml"`
	Maker    string         `json:"maker,omitempty"`
	Session  sessions.ID    `json:"session,omitempty" doc:"that made it"`
	Fault    string         `json:"fault,omitempty" doc:"why it is not fired"`
	Created  *time.Time     `json:"created,omitempty"`
	Changed  *time.Time     `json:"changed,omitempty"`
	By       string         `json:"changed_by,omitempty"`
}

// The next times of a job that are listed.
const (
	upcomingWithin = 7 * 24 * time.Hour
	upcomingMax    = 50
)

func jobOf(j jobs.Job) (jobRecord, error) {
	out := jobRecord{
		ID: j.ID, State: j.State(), Origin: string(ledger.JobOfFile), Place: j.Place, When: j.When, Next: view.Optional(j.Local(j.Next)), Text: j.Text, Prompt: j.Prompt, Checks: j.Checks, To: names(j.Deliver.To), Fallback: names(j.Deliver.Fallback),
		Label: j.Secrecy().String(), Maker: j.Row.Maker, Session: j.Row.Session, Fault: j.Fault, Created: view.Optional(j.Row.Created), Changed: view.Optional(j.Row.Changed), By: j.Row.By,
	}
	if !j.Made {
		return out, nil
	}
	out.Origin = string(ledger.JobMade)
	return out, json.Unmarshal(j.Row.Object, &out.Job)
}

func names(targets []ledger.TriggerTarget) []string {
	out := []string{}
	for _, t := range targets {
		out = append(out, t.Name)
	}
	return out
}

type jobList struct {
	Jobs []jobRecord `json:"jobs"`
}

// How many jobs one request looks through for those in a state. Then the page ends, and its link leads on.
const (
	jobsRead    = 200
	jobsReadMax = 10_000
)

// List lists the jobs by their ids.
func (a *JobAPI) List(ctx context.Context, in *struct {
	view.PageQuery
	State    jobs.State `query:"state" enum:"active,paused,faulty,ended" doc:"only jobs in this state"`
	Failed   bool       `query:"failed" doc:"only jobs whose latest time has failed within the last 24 hours; at most 100"`
	Upcoming bool       `query:"upcoming" doc:"add the next times of each job, for a calendar"`
	Last     bool       `query:"last" doc:"add the latest time of each job, with how it ended"`
},
) (*view.Page[jobList], error) {
	p, pages := jobs.Page{MaxLevel: auth.CallerOf(ctx).Level, After: in.After, Limit: in.Limit}, 1
	if in.State != "" {
		p.Limit, pages = jobsRead, jobsReadMax/jobsRead
	}
	list := a.Jobs.List
	if in.Failed {
		list = a.failingPage
	}
	out, more := jobList{Jobs: []jobRecord{}}, true
	for ; pages > 0 && more && len(out.Jobs) < in.Limit; pages-- {
		found, rest, err := list(ctx, p)
		if err != nil {
			return nil, err
		}
		more = rest
		for i := range found {
			p.After = found[i].ID
			if in.State != "" && found[i].State() != in.State || !a.seen(ctx, &found[i]) {
				continue
			}
			record, err := jobOf(found[i])
			if err == nil && in.Last {
				record.Last, err = a.last(ctx, found[i].ID)
			}
			if err != nil {
				return nil, err
			}
			if in.Upcoming {
				record.Upcoming = found[i].Upcoming(upcomingWithin, upcomingMax)
			}
			if out.Jobs = append(out.Jobs, record); len(out.Jobs) == in.Limit {
				more = rest || i+1 < len(found)
				break
			}
		}
	}
	return view.NewPage(view.NextLink(ctx, &ledger.Bound{More: more}, p.After), out), nil
}

// seen reports whether the caller may know of all channels that a job delivers to.
func (a *JobAPI) seen(ctx context.Context, j *jobs.Job) bool {
	return a.ChannelsSeen(ctx, &j.Deliver)
}

// ChannelsSeen reports whether the caller may know of all channels that a text goes to.
func (a *JobAPI) ChannelsSeen(ctx context.Context, d *ledger.TriggerDelivery) bool {
	t, hidden := a.hiddenTarget(ctx, d)
	if hidden {
		a.Visible.NoteChannel(ctx, "job", t.Channel, t.Account, "")
	}
	return !hidden
}

// hiddenTarget is the first target of a text on a channel of which the caller may not know.
func (a *JobAPI) hiddenTarget(ctx context.Context, d *ledger.TriggerDelivery) (ledger.TriggerTarget, bool) {
	for _, t := range slices.Concat(d.To, d.Fallback) {
		if t.Channel != "" && !a.Visible.ChannelSeen(ctx, t.Channel, t.Account) {
			return t, true
		}
	}
	return ledger.TriggerTarget{}, false
}

// JobPath names a job.
type JobPath struct {
	ID string `path:"job" maxLength:"80"`
}

// Find is a job that the caller may know of.
func (a *JobAPI) Find(ctx context.Context, id string) (jobs.Job, error) {
	j, err := a.Jobs.Get(ctx, id)
	if err := a.Visible.Check(ctx, err, denials.Object{Kind: "job", ID: id, Session: j.Row.Session, Label: j.Secrecy()}); err != nil {
		return j, err
	}
	if !a.seen(ctx, &j) {
		return j, wire.ErrNotFound
	}
	return j, nil
}

func shown(j jobs.Job, err error) (*wire.Body[jobRecord], error) {
	if err != nil {
		return nil, err
	}
	record, err := jobOf(j)
	record.Upcoming = j.Upcoming(upcomingWithin, upcomingMax)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(record), nil
}

// Get answers with a job.
func (a *JobAPI) Get(ctx context.Context, in *JobPath) (*wire.Body[jobRecord], error) {
	return shown(a.Find(ctx, in.ID))
}

// maker is the caller as one who makes jobs. Only the gateway's own token has an owner's authority.
func (a *JobAPI) maker(ctx context.Context, label string) (jobs.Maker, error) {
	who := auth.CallerOf(ctx)
	of, err := who.InputLabel(label)
	return jobs.Maker{
		Actor: who.Actor(), Level: who.Level, Label: of, Owner: true, Bounded: !who.Owner(),
		MaySend: func(channel, account string) error { return a.Visible.NeedChannel(ctx, channel, account) },
	}, err
}

type jobObject map[string]any

// Add makes a job.
func (a *JobAPI) Add(ctx context.Context, in *struct {
	Label string    `query:"label" doc:"level of the job, or LEVEL/trust; default PUBLIC"`
	Body  jobObject `doc:"the keys of a job in sluice.yaml"`
},
) (*wire.Body[jobRecord], error) {
	who, err := a.maker(ctx, in.Label)
	if err != nil {
		return nil, err
	}
	id, _ := in.Body["id"].(string)
	delete(in.Body, "id")
	object, err := json.Marshal(in.Body)
	if err != nil {
		return nil, err
	}
	return shown(a.Jobs.Add(ctx, id, object, who))
}

// Update replaces keys of a job.
func (a *JobAPI) Update(ctx context.Context, in *struct {
	JobPath
	Label string    `query:"label" doc:"level of what is new, or LEVEL/trust; default PUBLIC"`
	Body  jobObject `doc:"keys of a job in sluice.yaml; null removes one"`
},
) (*wire.Body[jobRecord], error) {
	if _, err := a.Find(ctx, in.ID); err != nil {
		return nil, err
	}
	who, err := a.maker(ctx, in.Label)
	if err != nil {
		return nil, err
	}
	keys := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(in.Body)) {
		if keys[key], err = json.Marshal(in.Body[key]); err != nil {
			return nil, err
		}
	}
	return shown(a.Jobs.Update(ctx, in.ID, keys, who))
}

// Remove removes a job.
func (a *JobAPI) Remove(ctx context.Context, in *JobPath) (*struct{}, error) {
	if _, err := a.Find(ctx, in.ID); err != nil {
		return nil, err
	}
	who, err := a.maker(ctx, "")
	if err != nil {
		return nil, err
	}
	return nil, a.Jobs.Remove(ctx, in.ID, who)
}

// Pause pauses a job.
func (a *JobAPI) Pause(ctx context.Context, in *JobPath) (*wire.Body[jobRecord], error) {
	return a.act(ctx, in.ID, a.Jobs.Pause)
}

// Resume ends a pause.
func (a *JobAPI) Resume(ctx context.Context, in *JobPath) (*wire.Body[jobRecord], error) {
	return a.act(ctx, in.ID, a.Jobs.Resume)
}

func (a *JobAPI) act(ctx context.Context, id string, do func(ctx context.Context, id string, who jobs.Maker) (jobs.Job, error)) (*wire.Body[jobRecord], error) {
	if _, err := a.Find(ctx, id); err != nil {
		return nil, err
	}
	who, err := a.maker(ctx, "")
	if err != nil {
		return nil, err
	}
	return shown(do(ctx, id, who))
}

// instantRecord is the result of an instant of a job.
type instantRecord struct {
	Key       string               `json:"key"`
	Instant   time.Time            `json:"instant"`
	Status    ledger.TriggerStatus `json:"status"`
	Fired     *time.Time           `json:"fired,omitempty"`
	Ended     *time.Time           `json:"ended,omitempty"`
	By        string               `json:"by,omitempty" doc:"who fired it by hand"`
	Missed    int                  `json:"missed,omitempty" doc:"instants that this row stands for"`
	Run       sessions.RunID       `json:"run,omitempty" doc:"the latest run that it caused"`
	Attempts  int                  `json:"attempts,omitempty" doc:"how many runs it caused"`
	Input     int                  `json:"input_tokens,omitempty" doc:"of all its runs that have ended"`
	Output    int                  `json:"output_tokens,omitempty"`
	Label     string               `json:"label"`
	Delivered []deliveredRecord    `json:"deliveries,omitempty"`
	Why       string               `json:"why,omitempty"`
}

type deliveredRecord struct {
	Target   string            `json:"target"`
	Delivery ledger.DeliveryID `json:"delivery,omitempty"`
	State    ledger.SendState  `json:"state" enum:"waiting,sent,replaced,failed" doc:"sent: there is a receipt; waiting: there is no receipt yet; replaced: a fallback was sent instead"`
	Replaced bool              `json:"replaced,omitempty" doc:"a fallback was sent instead"`
	Error    string            `json:"error,omitempty" doc:"why there is no receipt"`
}

func instantOf(t ledger.Trigger) instantRecord {
	out := instantRecord{
		Key: t.Key, Instant: t.Instant, Status: t.Status, Fired: view.Optional(t.Fired), Ended: view.Optional(t.Ended), By: t.By, Missed: t.Missed, Run: t.Run, Attempts: t.Attempts, Input: t.Usage.InputTokens, Output: t.Usage.OutputTokens, Label: t.Label.String(), Why: t.Why,
	}
	for _, s := range t.Sends {
		out.Delivered = append(out.Delivered, deliveredRecord{s.Target, s.Delivery, t.StateOf(s), s.Replaced, s.Error})
	}
	return out
}

// Run fires a job once now.
func (a *JobAPI) Run(ctx context.Context, in *JobPath) (*wire.Body[instantRecord], error) {
	if _, err := a.Find(ctx, in.ID); err != nil {
		return nil, err
	}
	who, err := a.maker(ctx, "")
	if err != nil {
		return nil, err
	}
	t, err := a.Jobs.Run(ctx, in.ID, who)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(instantOf(t)), nil
}

// Latest returns the latest past time of a job that the caller may know of, or the zero value.
func (a *JobAPI) Latest(ctx context.Context, id string) (ledger.Trigger, error) {
	found, err := a.Jobs.History(ctx, ledger.TriggerQuery{Subject: id, MaxLevel: auth.CallerOf(ctx).Level, Limit: latestMax, Bound: view.NewBound()})
	for _, t := range found {
		if t.Status != ledger.TriggerWaiting && a.ChannelsSeen(ctx, &t.Deliver) {
			return t, err
		}
	}
	return ledger.Trigger{}, err
}

// latestMax is how many instants are looked at for the latest one.
const latestMax = 20

// last is the latest time of a job as the caller may see it; nil without one.
func (a *JobAPI) last(ctx context.Context, id string) (*instantRecord, error) {
	t, err := a.Latest(ctx, id)
	if err != nil || t.Key == "" {
		return nil, err
	}
	record := instantOf(t)
	return &record, nil
}

type jobHistory struct {
	Instants []instantRecord `json:"instants"`
}

// History lists the results of a job's instants, also after the job was removed. Each has its own label and its own targets.
func (a *JobAPI) History(ctx context.Context, in *struct {
	JobPath
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After string `query:"after" doc:"key of the last row of the previous page"`
},
) (*view.Page[jobHistory], error) {
	bound := view.NewBound()
	found, err := a.Jobs.History(ctx, ledger.TriggerQuery{Subject: in.ID, MaxLevel: auth.CallerOf(ctx).Level, Limit: in.Limit, After: in.After, Bound: bound})
	if err != nil {
		return nil, err
	}
	j, unknown := a.Find(ctx, in.ID)
	if unknown != nil && !errors.Is(unknown, wire.ErrNotFound) {
		return nil, unknown
	}
	out := jobHistory{Instants: []instantRecord{}}
	for _, t := range found {
		if a.ChannelsSeen(ctx, &t.Deliver) && (!t.Status.Open() || a.seen(ctx, &j)) {
			out.Instants = append(out.Instants, instantOf(t))
		}
	}
	if len(out.Instants) == 0 && unknown != nil { // the history of a job that was removed stays
		return nil, unknown
	}
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(found, func(t ledger.Trigger) string { return t.Key })), out), nil
}
