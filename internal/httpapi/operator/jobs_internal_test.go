package operator

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// removed is a job that was removed: only its history is left.
type removed struct {
	Jobs
	rows []ledger.Trigger
}

func (removed) Get(context.Context, string) (jobs.Job, error) {
	return jobs.Job{}, sessions.ErrNotFound
}

func (r removed) History(context.Context, ledger.TriggerQuery) ([]ledger.Trigger, error) {
	return r.rows, nil
}

// Each row of a history is seen by who may know its own targets, also after the job was removed.
func TestHistoryOfARemovedJob(t *testing.T) {
	t.Parallel()
	row := func(key, channel string) ledger.Trigger {
		return ledger.Trigger{Key: key, Status: ledger.TriggerOK, Label: flow.Bottom(), TriggerDetail: ledger.TriggerDetail{
			Deliver: ledger.TriggerDelivery{To: []ledger.TriggerTarget{{Name: key, Channel: channel, To: "1"}}}, Usage: sessions.Usage{InputTokens: 7, OutputTokens: 2},
		}}
	}
	levels := map[string]flow.Level{"open": flow.Public, "vault": flow.Confidential}
	trail := denials.New(denials.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	seen := func(who auth.Caller, rows ...ledger.Trigger) ([]instantRecord, error) {
		a := &JobAPI{Jobs: removed{rows: rows}, Visible: &view.Visibility{Denials: trail, SinkLevel: func(r sessions.Route) flow.Level { return levels[r.Channel] }}}
		ctx := auth.Admit(httptest.NewRequest(http.MethodGet, "/v1/cron/a/history", http.NoBody), who).Context()
		page, err := a.History(ctx, &struct {
			JobPath
			Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
			After string `query:"after" doc:"key of the last row of the previous page"`
		}{JobPath: JobPath{ID: "a"}})
		if err != nil {
			return nil, err
		}
		return page.Body.Instants, nil
	}
	got, err := seen(own, row("x", "open"), row("y", "vault"))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, 7, got[0].Input)
	require.Equal(t, 2, got[0].Output)
	got, err = seen(reader, row("x", "open"), row("y", "vault"))
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "x", got[0].Key)
	_, err = seen(reader, row("y", "vault"))
	require.ErrorIs(t, err, wire.ErrNotFound)
	_, err = seen(own)
	require.ErrorIs(t, err, wire.ErrNotFound)
}
