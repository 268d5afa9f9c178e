package trail

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sluice/router/ledger"
	"sluice/store/engine"
)

// verifyPage is how many entries are in memory at once.
const verifyPage = 1000

// VerifyAudit implements [ledger.Browser].
func (t Table) VerifyAudit(ctx context.Context, kept []ledger.AuditHead) (ledger.AuditReport, error) {
	report := ledger.AuditReport{Heads: []ledger.AuditHead{}, Faults: []ledger.AuditFault{}}
	heads, err := t.auditHeads(ctx)
	if err != nil {
		return report, fmt.Errorf("read heads of audit trail: %w", err)
	}
	for _, head := range heads {
		c := newChainCheck(head, kept)
		if err := t.verifyChain(ctx, c); err != nil {
			return report, fmt.Errorf("verify audit trail: %w", err)
		}
		report.Entries += c.entries
		report.Faults = append(report.Faults, c.faults...)
		if len(c.faults) == 0 && c.last.Seq > 0 {
			report.Heads = append(report.Heads, ledger.AuditHead(c.last))
		}
	}
	for _, k := range kept {
		if !slices.ContainsFunc(heads, func(h engine.Head) bool { return h.Chain == k.Chain }) {
			report.Faults = append(report.Faults, ledger.AuditFault{Chain: k.Chain, Seq: k.Seq, Kind: ledger.AuditHeadBad, Text: "there is no such chain"})
		}
	}
	return report, nil
}

// auditHeads are the heads of all chains that have one or have entries.
func (t Table) auditHeads(ctx context.Context) ([]engine.Head, error) {
	return engine.All(ctx, t.Conn, `SELECT chain, seq, hash FROM audit_heads
		UNION ALL SELECT DISTINCT chain, CAST(? AS BIGINT), '' FROM audit WHERE chain NOT IN (SELECT chain FROM audit_heads) ORDER BY chain`, []any{noHead},
		func(row engine.Row) (engine.Head, error) {
			var h engine.Head
			err := h.Scan(row)
			return h, err
		})
}

// verifyChain reads a chain page by page. Entries can be added in the meantime, so it reads the head twice: before,
// for the entries that must exist, and after, for those that can exist.
func (t Table) verifyChain(ctx context.Context, c *chainCheck) error {
	for from, n := int64(math.MinInt64), verifyPage; n == verifyPage; {
		links, err := engine.All(ctx, t.Conn, `SELECT `+engine.AuditColumns+` FROM audit WHERE chain = ? AND seq > ? ORDER BY seq`+engine.Limit(verifyPage), []any{c.head.Chain, from}, scanLink)
		if err != nil {
			return err
		}
		for _, l := range links {
			c.next(l)
			from = l.Seq
		}
		n = len(links)
	}
	latest := c.head.Seq
	if latest != noHead {
		if err := t.One(ctx, `SELECT seq FROM audit_heads WHERE chain = ?`, []any{c.head.Chain}, &latest); err != nil {
			return err
		}
	}
	c.end(latest)
	return nil
}
