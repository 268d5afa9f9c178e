package views

import (
	"context"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/store/engine"
)

// FailedJobs reads the ids of jobs with a time that has failed since then, at most limit, in order.
func (db Table) FailedJobs(ctx context.Context, most flow.Level, since time.Time, limit int) ([]string, error) {
	f := engine.Filter{}
	f.Add(`status IN ('failed', 'undelivered')`) // the condition of an index
	f.Add(`source = ?`, string(ledger.TriggerCron))
	f.Add(`ended > ?`, engine.Micros(since))
	f.Within(most, "triggers")
	return engine.All(ctx, db.Conn, `SELECT DISTINCT subject FROM triggers`+f.Where()+` ORDER BY subject`+engine.Limit(limit), f.Args,
		func(row engine.Row) (id string, err error) {
			err = row.Scan(&id)
			return id, err
		})
}
