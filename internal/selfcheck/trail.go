package selfcheck

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/alert"
	"sluice/internal/pause"
	"sluice/internal/trouble"
	"sluice/router/ledger"
)

const (
	// trailFirst is when the audit trail is verified after a start, and trailEach is the time between two verifications. Each
	// reads the whole trail, page by page.
	trailFirst, trailEach = 5 * time.Minute, 24 * time.Hour
)

// Trail verifies the audit trail regularly. It keeps the heads of the last verification, so that it also notices if the end
// of a chain was removed together with its head. It is safe for concurrent use; all exported fields are required.
type Trail struct {
	Verify func(ctx context.Context, kept []ledger.AuditHead) (ledger.AuditReport, error)
	Log    *slog.Logger

	mu     sync.Mutex
	heads  []ledger.AuditHead
	faults []ledger.AuditFault
}

// Run verifies until ctx ends.
func (w *Trail) Run(ctx context.Context) { pause.Rounds(ctx, trailFirst, trailEach, w.Log, w.Check) }

// Check verifies once.
func (w *Trail) Check(ctx context.Context) {
	w.mu.Lock()
	kept := w.heads
	w.mu.Unlock()
	report, err := w.Verify(ctx, kept)
	if err != nil {
		if ctx.Err() == nil {
			w.Log.Warn("the audit trail could not be verified", "err", err)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults = report.Faults; len(w.faults) == 0 {
		w.heads = report.Heads
		return
	}
	f := w.faults[0]
	w.Log.Error("the audit trail was changed", "chain", f.Chain, "entry", f.Seq, "kind", string(f.Kind), "faults", len(w.faults))
}

// Troubles returns the result of the last verification.
func (w *Trail) Troubles() []trouble.Trouble {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.faults) == 0 {
		return nil
	}
	return []trouble.Trouble{{
		Name: "audit", Severity: alert.Critical, Title: "The audit trail was changed",
		Text: "Somebody has changed or removed entries in the database. `sluice audit verify` names the first such entry of each chain.",
	}}
}
