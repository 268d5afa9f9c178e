package overview

import (
	"context"
	"net/url"
	"time"

	"sluice/internal/alert"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// countMax is where counting stops: more is "at least".
	countMax = 1000
	// day is how far traffic and charts look back.
	day = 24 * time.Hour
	// latelyMax is how many of the latest troubles are shown.
	latelyMax = 10
)

// Rows counts and reads rows.
type Rows interface {
	operator.FailedRows
	CountRunsOf(ctx context.Context, q ledger.Query, limit int) (int, error)
	CountDeliveriesOf(ctx context.Context, q ledger.Query, limit int) (int, error)
	CountApprovalsOf(ctx context.Context, q ledger.Query, limit int) (int, error)
	ListApprovals(ctx context.Context, q ledger.Query) ([]ledger.Approval, error)
	ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error)
	ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error)
	ListAlerts(ctx context.Context, q alert.Query) ([]alert.Alert, error)
	RunsSince(ctx context.Context, most flow.Level, since time.Time, limit int) ([]ledger.RunPoint, error)
	DeliveriesSince(ctx context.Context, most flow.Level, since time.Time, step time.Duration, limit int) ([]ledger.DeliveryCount, error)
}

// API serves the overview.
type API struct {
	Visible *view.Visibility
	Status  *operator.StatusAPI
	Jobs    *operator.JobAPI
	Rows    Rows
	Now     func() time.Time
}

// Count is how many rows a list has.
type Count struct {
	Count int    `json:"count"`
	More  bool   `json:"more,omitempty" doc:"there are at least that many"`
	List  string `json:"list" doc:"the list with these rows"`
}

// need is something that waits for a person.
type waiting struct {
	Kind   string     `json:"kind" enum:"approvals,held,unknown,failed,pairings,alerts,jobs,accounts" doc:"jobs: whose latest time has failed within the last 24 hours"`
	Count  Count      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
	Next   *time.Time `json:"next,omitempty" doc:"when the first of these is decided automatically"`
}

type hearingAccount struct {
	operator.AccountRecord
	Hears bool `json:"hears" doc:"messages that people write there arrive; on another replica if it is standby"`
}

type traffic struct {
	Since   time.Time `json:"since"`
	Heard   Count     `json:"heard" doc:"messages of people"`
	Runs    Count     `json:"runs"`
	Failed  Count     `json:"failed" doc:"runs"`
	Sent    Count     `json:"sent"`
	Blocked Count     `json:"blocked"`
}

type openWork struct {
	Queued  Count `json:"queued"`
	Running Count `json:"running"`
}

type latelyRecord struct {
	At     time.Time             `json:"at"`
	Status ledger.DeliveryStatus `json:"status"`
	ID     ledger.DeliveryID     `json:"id"`
	Route  sessions.Route        `json:"route"`
	Text   string                `json:"text" doc:"why"`
	Why    string                `json:"why" doc:"path of the whole explanation"`
}

type overviewRecord struct {
	Now        time.Time                       `json:"now"`
	Version    string                          `json:"version"`
	Started    time.Time                       `json:"started"`
	Ready      bool                            `json:"ready"`
	Parts      []operator.Health               `json:"parts"`
	Accounts   []hearingAccount                `json:"accounts"`
	Needs      []waiting                       `json:"needs" doc:"what waits for a person; only kinds with rows"`
	Traffic    traffic                         `json:"traffic"`
	Work       openWork                        `json:"work"`
	Deliveries map[ledger.DeliveryStatus]Count `json:"deliveries" doc:"that are neither sent nor discarded; only statuses with rows"`
	Series     series                          `json:"series"`
	Lately     []latelyRecord                  `json:"lately" doc:"the latest deliveries that were not sent"`
}

// Get answers with the overview.
func (a *API) Get(ctx context.Context, _ *struct{}) (*wire.Body[overviewRecord], error) {
	now := a.Now()
	r := reader{a, ctx, auth.CallerOf(ctx).Level, now, now.Add(-day).Truncate(time.Second)}
	out := overviewRecord{Now: now, Lately: []latelyRecord{}, Needs: []waiting{}, Deliveries: map[ledger.DeliveryStatus]Count{}}
	status := a.Status.Show(ctx)
	out.Version, out.Started, out.Ready, out.Parts = status.Version, status.Started, status.Ready, status.Parts
	for _, s := range status.Accounts {
		out.Accounts = append(out.Accounts, hearingAccount{s, s.Hears()})
	}
	out.Accounts = view.NotNil(out.Accounts)
	for _, fill := range []func(*overviewRecord) error{r.traffic, r.work, r.deliveries, r.people, r.alerts, r.jobs, r.series, r.lately} {
		if err := fill(&out); err != nil {
			return nil, err
		}
	}
	deaf := 0
	for _, s := range out.Accounts {
		if !s.Hears {
			deaf++
		}
	}
	if deaf > 0 {
		out.Needs = append(out.Needs, waiting{Kind: "accounts", Count: Count{Count: deaf, List: "/v1/status"}})
	}
	return wire.NewBody(out), nil
}

// reader reads the overview for one caller.
type reader struct {
	*API
	ctx   context.Context //nolint:containedctx // of one request
	level flow.Level
	now   time.Time
	since time.Time
}

func capped(n int, path string, query url.Values) Count {
	c := Count{Count: min(n, countMax), More: n > countMax, List: path}
	if len(query) > 0 {
		c.List += "?" + query.Encode()
	}
	return c
}

// runs counts runs with a filter; names and values are the filter of the list.
func (r *reader) runs(into *Count, q ledger.Query, query url.Values) error {
	q.MaxLevel = r.level
	n, err := r.Rows.CountRunsOf(r.ctx, q, countMax+1)
	*into = capped(n, "/v1/runs", query)
	return err
}

func (r *reader) sent(into *Count, q ledger.Query, query url.Values) error {
	q.MaxLevel = r.level
	n, err := r.Rows.CountDeliveriesOf(r.ctx, q, countMax+1)
	*into = capped(n, "/v1/deliveries", query)
	return err
}

// values are query parameters from names and values.
func (r *reader) values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

func (r *reader) traffic(out *overviewRecord) error {
	t, since := &out.Traffic, r.since.Format(time.RFC3339)
	t.Since = r.since
	for _, count := range []struct {
		into         *Count
		kind, status string
	}{{&t.Heard, string(sessions.KindMessage), ""}, {&t.Runs, "", ""}, {&t.Failed, "", string(sessions.RunFailed)}} {
		query := r.values("since", since)
		if count.kind != "" {
			query.Set("kind", count.kind)
		}
		if count.status != "" {
			query.Set("status", count.status)
		}
		if err := r.runs(count.into, ledger.Query{Since: r.since, Status: count.status, QueryFilter: ledger.QueryFilter{Kind: count.kind}}, query); err != nil {
			return err
		}
	}
	for status, into := range map[ledger.DeliveryStatus]*Count{ledger.DeliverySent: &t.Sent, ledger.DeliveryBlocked: &t.Blocked} {
		if err := r.sent(into, ledger.Query{Since: r.since, Status: string(status)}, r.values("since", since, "status", string(status))); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) work(out *overviewRecord) error {
	for status, into := range map[sessions.RunStatus]*Count{sessions.RunQueued: &out.Work.Queued, sessions.RunRunning: &out.Work.Running} {
		if err := r.runs(into, ledger.Query{Status: string(status)}, r.values("status", string(status))); err != nil {
			return err
		}
	}
	return nil
}

// deliveries counts those that are not settled, and names those that only a person can settle.
func (r *reader) deliveries(out *overviewRecord) error {
	for _, status := range []ledger.DeliveryStatus{
		ledger.DeliveryHeld, ledger.DeliveryUnknown, ledger.DeliveryFailed, ledger.DeliveryBlocked, ledger.DeliveryPreview, ledger.DeliveryQueued, ledger.DeliverySending, ledger.DeliveryExpired,
	} {
		var c Count
		if err := r.sent(&c, ledger.Query{Status: string(status)}, r.values("status", string(status))); err != nil {
			return err
		}
		if c.Count == 0 {
			continue
		}
		out.Deliveries[status] = c
		switch status {
		case ledger.DeliveryHeld, ledger.DeliveryUnknown, ledger.DeliveryFailed:
			out.Needs = append(out.Needs, waiting{Kind: string(status), Count: c})
		}
	}
	return nil
}

// people counts approvals and people that wait.
func (r *reader) people(out *overviewRecord) error {
	pending := ledger.Query{MaxLevel: r.level, Status: string(ledger.ApprovalPending), Unexpired: r.now}
	n, err := r.Rows.CountApprovalsOf(r.ctx, pending, countMax+1)
	if err != nil {
		return err
	}
	if n > 0 {
		waits := waiting{Kind: "approvals", Count: capped(n, "/v1/approvals", nil)}
		pending.Limit = ledger.MaxPage
		rows, err := r.Rows.ListApprovals(r.ctx, pending)
		if err != nil {
			return err
		}
		for _, p := range rows {
			waits.Oldest, waits.Next = earlier(waits.Oldest, p.Created), earlier(waits.Next, p.Expires)
		}
		out.Needs = append(out.Needs, waits)
	}
	if sees := view.NeedOperator(r.ctx) == nil; !sees { // viewers see no pairings, so they do not count them either
		return nil
	}
	rows, err := r.Rows.ListPairings(r.ctx, "", "", ledger.PairingPending)
	if err != nil {
		return err
	}
	asks := waiting{Kind: "pairings"}
	for _, p := range rows {
		if p.Expires.After(r.now) && r.Visible.ChannelSeen(r.ctx, p.Channel, p.Account) {
			asks.Count.Count++
			asks.Oldest, asks.Next = earlier(asks.Oldest, p.Created), earlier(asks.Next, p.Expires)
		}
	}
	if asks.Count.Count > 0 {
		asks.Count = capped(asks.Count.Count, "/v1/pairings", r.values("status", "pending"))
		out.Needs = append(out.Needs, asks)
	}
	return nil
}

func earlier(known *time.Time, at time.Time) *time.Time {
	if at.IsZero() || known != nil && !at.Before(*known) {
		return known
	}
	return &at
}

func (r *reader) alerts(out *overviewRecord) error {
	open, err := r.Rows.ListAlerts(r.ctx, alert.Query{Open: true, MaxLevel: r.level, Limit: countMax + 1})
	if err != nil || len(open) == 0 {
		return err
	}
	n := waiting{Kind: "alerts", Count: capped(len(open), "/v1/alerts", r.values("open", "true"))}
	for _, x := range open {
		n.Oldest = earlier(n.Oldest, x.Started)
	}
	out.Needs = append(out.Needs, n)
	return nil
}

// jobs counts those that fail.
func (r *reader) jobs(out *overviewRecord) error {
	failing, more, err := r.Jobs.Failing(r.ctx)
	if len(failing) > 0 {
		out.Needs = append(out.Needs, waiting{Kind: "jobs", Count: Count{Count: len(failing), More: more, List: "/v1/cron?failed=true"}})
	}
	return err
}

// lately lists what did not go out.
func (r *reader) lately(out *overviewRecord) error {
	for _, status := range []ledger.DeliveryStatus{ledger.DeliveryBlocked, ledger.DeliveryFailed, ledger.DeliveryUnknown} {
		if out.Deliveries[status].Count == 0 {
			continue
		}
		rows, err := r.Rows.ListDeliveries(r.ctx, ledger.Query{MaxLevel: r.level, Status: string(status), Limit: latelyMax})
		if err != nil {
			return err
		}
		for _, d := range rows {
			out.Lately = append(out.Lately, latelyOf(d))
		}
	}
	sortLately(&out.Lately)
	return nil
}
