package overview

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/internal/httpapi/view"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// pointsMax bounds how many runs and deliveries the charts are made of.
	pointsMax = 5000
	step      = time.Hour
)

// series is what a day was like, hour by hour.
type series struct {
	Since    time.Time `json:"since" doc:"the charts begin here"`
	Until    time.Time `json:"until"`
	Step     int       `json:"step_seconds"`
	Complete bool      `json:"complete" doc:"false: the charts are made of the newest 5,000 runs and deliveries, and begin with the oldest of them"`
	Points   []point   `json:"points"`
}

type point struct {
	At     time.Time `json:"at"`
	Heard  int       `json:"heard"`
	Runs   int       `json:"runs"`
	Failed int       `json:"failed"`
	Sent   int       `json:"sent"`
	P50    *int64    `json:"p50_ms,omitempty" doc:"from accepting a message to the end of its run; absent without runs"`
	P95    *int64    `json:"p95_ms,omitempty"`
	Input  int       `json:"input_tokens"`
	Output int       `json:"output_tokens"`

	took []time.Duration
}

// guarded turns a panic into an error: on a goroutine that is not the request's, it would end the process.
func guarded(read func() error) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return read()
	}
}

func (r *reader) series(out *overviewRecord) error {
	var runs []ledger.RunPoint
	var deliveries []ledger.DeliveryCount
	var both errgroup.Group // nearly all of the overview's time: thousands of rows each
	both.Go(guarded(func() (err error) {
		runs, err = r.Rows.RunsSince(r.ctx, r.level, r.since, pointsMax)
		return err
	}))
	both.Go(guarded(func() (err error) {
		deliveries, err = r.Rows.DeliveriesSince(r.ctx, r.level, r.since, step, pointsMax)
		return err
	}))
	if err := both.Wait(); err != nil {
		return err
	}
	counted, oldest := 0, r.now
	for _, d := range deliveries {
		counted += d.All
		oldest = *earlier(&oldest, d.First)
	}
	s := series{Since: r.since, Until: r.now, Step: int(step.Seconds()), Complete: len(runs) < pointsMax && counted < pointsMax}
	if n := len(runs); n == pointsMax {
		s.Since = runs[n-1].Accepted
	}
	if counted == pointsMax && oldest.After(s.Since) {
		s.Since = oldest
	}
	first := r.since.Truncate(step)
	for at := first; !at.After(r.now); at = at.Add(step) {
		s.Points = append(s.Points, point{At: at})
	}
	in := func(at time.Time) *point {
		return &s.Points[min(max(0, int(at.Sub(first)/step)), len(s.Points)-1)]
	}
	for _, run := range runs {
		in(run.Accepted).add(run)
	}
	for _, d := range deliveries {
		in(d.First).Sent += d.Sent
	}
	for i := range s.Points {
		s.Points[i].finish()
	}
	out.Series = s
	return nil
}

func (p *point) add(run ledger.RunPoint) {
	p.Runs++
	if run.Kind == sessions.KindMessage {
		p.Heard++
	}
	if run.Status == sessions.RunFailed || run.Status == sessions.RunTimeout {
		p.Failed++
	}
	p.Input, p.Output = p.Input+run.InputTokens, p.Output+run.OutputTokens
	if run.Status == sessions.RunDone && !run.Finished.IsZero() {
		p.took = append(p.took, run.Finished.Sub(run.Accepted))
	}
}

func (p *point) finish() {
	if len(p.took) == 0 {
		return
	}
	slices.Sort(p.took)
	at := func(share int) *int64 {
		ms := p.took[(len(p.took)-1)*share/100].Milliseconds()
		return &ms
	}
	p.P50, p.P95 = at(50), at(95)
}

func latelyOf(d ledger.Delivery) latelyRecord {
	text := d.LastError
	if d.Decision != nil && d.Status == ledger.DeliveryBlocked {
		text = d.Decision.Reason
	}
	return latelyRecord{At: d.Created, Status: d.Status, ID: d.ID, Route: view.PublicRoute(d.Route), Text: text, Why: "/v1/why/" + string(d.ID)}
}

// sortLately puts the newest first and leaves the rest out.
func sortLately(all *[]latelyRecord) {
	slices.SortFunc(*all, func(a, b latelyRecord) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	*all = (*all)[:min(len(*all), latelyMax)]
}
