package storetest

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
)

// Tampering is a store with a direct connection to its database.
type Tampering struct {
	DB      *store.DB
	Raw     *sql.DB
	Refused []string // further statements that this database refuses
	Disarm  []string // removes the triggers
}

// tamperEntries is the length of the trail in the tampering tests.
const tamperEntries = 12

// tamper is a bundle for tampering with the trail.
type tamper struct {
	*bundle
	Tampering
	seq int64 // the seq of the newest entry; all are in chain 0
}

// Tamper changes the audit trail directly in the database in many ways. The database refuses each change; without its
// triggers, verification finds and names it.
func Tamper(t *testing.T, p Tampering) {
	t.Helper()
	b := &tamper{bundle: &bundle{DB: p.DB, t: t, ctx: t.Context()}, Tampering: p, seq: tamperEntries}
	for i := range tamperEntries {
		b.commit(audited(sessions.AuditEntry{At: at(i), Actor: "a", Action: "b", Object: strconv.Itoa(i), Session: "sess_1", Label: secret, Detail: []int{i}}))
	}
	heads := b.sound(tamperEntries)
	require.Len(t, heads, 1)
	b.refused(p.Refused)
	b.sound(tamperEntries, heads...)
	for _, text := range p.Disarm {
		b.exec(text)
	}
	b.exec(`CREATE TABLE audit_kept AS SELECT * FROM audit`)
	b.exec(`CREATE TABLE heads_kept AS SELECT * FROM audit_heads`)
	for _, one := range tamperings() {
		b.found(t, one, 5, 9)
	}
	rapid.Check(t, func(rt *rapid.T) {
		one := rapid.SampledFrom(tamperings()).Draw(rt, "tampering")
		seq := rapid.Int64Range(1, tamperEntries).Draw(rt, "seq")
		other := rapid.Int64Range(1, tamperEntries).Filter(func(n int64) bool { return n != seq }).Draw(rt, "other")
		b.found(rt, one, seq, other)
	})
	b.nextEntries(heads[0])
	b.keptHeads(heads[0])
	b.sound(tamperEntries, heads...)
}

// found tampers with the trail, verifies it, and restores it.
func (b *tamper) found(t require.TestingT, one tampering, seq, other int64) {
	defer b.restore()
	want := one.do(b, seq, other)
	report, err := b.VerifyAudit(b.ctx, nil)
	require.NoError(t, err)
	require.NotEmpty(t, report.Faults, one.name)
	got := report.Faults[0]
	require.NotEmpty(t, got.Text)
	got.Text = ""
	require.Equal(t, want, got, one.name)
}

func (b *tamper) exec(text string) {
	_, err := b.Raw.ExecContext(b.ctx, text)
	require.NoError(b.t, err, text)
}

func (b *tamper) execf(format string, args ...any) { b.exec(fmt.Sprintf(format, args...)) }

func (b *tamper) restore() {
	b.exec(`DELETE FROM audit`)
	b.exec(`DELETE FROM audit_heads`)
	b.exec(`INSERT INTO audit SELECT * FROM audit_kept`)
	b.exec(`INSERT INTO audit_heads SELECT * FROM heads_kept`)
}

// refused executes statements that change or remove entries, and expects each to fail.
func (b *tamper) refused(more []string) {
	for _, text := range append([]string{
		`UPDATE audit SET actor = 'nobody' WHERE seq = 3`,
		`UPDATE audit SET hash = hash`,
		`DELETE FROM audit WHERE seq = 3`,
		`DELETE FROM audit`,
		`DELETE FROM audit_heads`,
		`UPDATE audit_heads SET seq = seq - 1 WHERE chain = 0`,
		`UPDATE audit_heads SET hash = 'x' WHERE chain = 0`,
		`UPDATE audit_heads SET chain = 99, seq = seq + 1 WHERE chain = 0`,
	}, more...) {
		_, err := b.Raw.ExecContext(b.ctx, text)
		require.ErrorContains(b.t, err, "the audit trail is only added to", text)
	}
}

// tampering changes the trail at seq, or at seq and other, and says what verification must find first.
type tampering struct {
	name string
	do   func(b *tamper, seq, other int64) ledger.AuditFault
}

func changed(seq int64, kind ledger.AuditFaultKind) ledger.AuditFault {
	return ledger.AuditFault{Seq: seq, Kind: kind}
}

func tamperings() []tampering {
	return append(columnTamperings(), []tampering{
		{"delete one", func(b *tamper, seq, _ int64) ledger.AuditFault {
			b.execf(`DELETE FROM audit WHERE seq = %d`, seq)
			return changed(seq, ledger.AuditMissing)
		}},
		{"delete the tail", func(b *tamper, seq, _ int64) ledger.AuditFault {
			b.execf(`DELETE FROM audit WHERE seq >= %d`, seq)
			return changed(seq, ledger.AuditMissing)
		}},
		{"delete one and close the gap", func(b *tamper, seq, _ int64) ledger.AuditFault {
			b.execf(`DELETE FROM audit WHERE seq = %d`, seq)
			b.execf(`UPDATE audit SET seq = seq + 1000 WHERE seq > %d`, seq)
			b.exec(`UPDATE audit SET seq = seq - 1001 WHERE seq > 1000`)
			if seq == b.seq {
				return changed(seq, ledger.AuditMissing)
			}
			return changed(seq, ledger.AuditChanged)
		}},
		{"swap two", func(b *tamper, seq, other int64) ledger.AuditFault {
			b.execf(`UPDATE audit SET seq = 1000 WHERE seq = %d`, seq)
			b.execf(`UPDATE audit SET seq = %d WHERE seq = %d`, seq, other)
			b.execf(`UPDATE audit SET seq = %d WHERE seq = 1000`, other)
			return changed(min(seq, other), ledger.AuditOrder)
		}},
		{"insert one", func(b *tamper, seq, _ int64) ledger.AuditFault {
			b.execf(`UPDATE audit SET seq = seq + 1000 WHERE seq >= %d`, seq)
			b.exec(`UPDATE audit SET seq = seq - 999 WHERE seq > 1000`)
			b.insert(seq, strings.Repeat("0", 64))
			return changed(seq, ledger.AuditOrder)
		}},
		{"insert one before the first", func(b *tamper, _, other int64) ledger.AuditFault {
			seq := -other
			b.insert(seq, strings.Repeat("0", 64))
			return changed(seq, ledger.AuditOrder)
		}},
		{"add one that fits", func(b *tamper, _, _ int64) ledger.AuditFault {
			b.insert(b.seq+1, "")
			b.seal(b.seq + 1)
			return changed(b.seq+1, ledger.AuditOrder)
		}},
		{"a head that is further on", func(b *tamper, _, _ int64) ledger.AuditFault {
			b.exec(`UPDATE audit_heads SET seq = seq + 1 WHERE chain = 0`)
			return changed(b.seq+1, ledger.AuditMissing)
		}},
		{"a head with another hash", func(b *tamper, _, _ int64) ledger.AuditFault {
			b.exec(`UPDATE audit_heads SET hash = 'x' WHERE chain = 0`)
			return changed(b.seq, ledger.AuditHeadBad)
		}},
		{"no head", func(b *tamper, _, _ int64) ledger.AuditFault {
			b.exec(`DELETE FROM audit_heads WHERE chain = 0`)
			return changed(b.seq, ledger.AuditHeadBad)
		}},
	}...)
}

// columnTamperings change each column of an entry in turn.
func columnTamperings() []tampering {
	all := []tampering{
		{"the chain", func(b *tamper, seq, _ int64) ledger.AuditFault {
			b.execf(`UPDATE audit SET chain = 70 WHERE seq = %d`, seq)
			return changed(seq, ledger.AuditMissing)
		}},
		{"the sequence number", func(b *tamper, seq, _ int64) ledger.AuditFault {
			b.execf(`UPDATE audit SET seq = 1000 WHERE seq = %d`, seq)
			return changed(seq, ledger.AuditOrder)
		}},
	}
	for _, change := range []string{
		"at = at + 1", "actor = actor || 'x'", "action = ''", "object = object || '1'", "session_id = 'sess_2'",
		"level = level - 1", "trust = 1 - trust", "detail = detail || ' '", "hash = '" + strings.Repeat("0", 64) + "'",
	} {
		all = append(all, tampering{change, func(b *tamper, seq, _ int64) ledger.AuditFault {
			b.execf(`UPDATE audit SET %s WHERE seq = %d`, change, seq)
			return changed(seq, ledger.AuditChanged)
		}})
	}
	return all
}

func (b *tamper) insert(seq int64, hash string) {
	b.execf(`INSERT INTO audit (chain, seq, at, actor, action, object, session_id, level, trust, detail, hash)
		VALUES (0, %d, 1, 'a', 'b', 'c', '', 1, 1, '', '%s')`, seq, hash)
}

// nextEntries changes the head between two transactions. The next entry is either added once, after the stored head,
// or its transaction fails. In both cases verification names the change.
func (b *tamper) nextEntries(head ledger.AuditHead) {
	for change, refused := range map[string]bool{
		`seq = seq + 5`:        false,
		`hash = 'x'`:           false,
		`seq = seq - 1`:        true,
		`seq = 0, hash = ''`:   true,
		`chain = 70, hash='x'`: false,
	} {
		b.execf(`UPDATE audit_heads SET %s WHERE chain = 0`, change)
		err := b.Commit(b.ctx, audited(sessions.AuditEntry{At: at(1), Actor: "a", Action: "b", Object: "next", Label: secret}))
		want := 1
		if refused {
			want = 0
			require.ErrorContains(b.t, err, "the audit trail can't be extended", change)
		} else {
			require.NoError(b.t, err, change)
		}
		var added int
		require.NoError(b.t, b.Raw.QueryRowContext(b.ctx, `SELECT count(*) FROM audit WHERE object = 'next'`).Scan(&added))
		require.Equal(b.t, want, added, change)
		report, err := b.VerifyAudit(b.ctx, []ledger.AuditHead{head})
		require.NoError(b.t, err)
		require.NotEmpty(b.t, report.Faults, change)
		b.restore()
	}
}

// seal recomputes the hashes from seq on, as anyone who knows the rule can. The rule is repeated here, so that a
// change of it is noticed.
func (b *tamper) seal(from int64) {
	for seq := from; ; seq++ {
		var before string
		var fields [10]string
		err := b.Raw.QueryRowContext(b.ctx, fmt.Sprintf(`SELECT hash FROM audit WHERE seq = %d`, seq-1)).Scan(&before)
		if seq > 1 {
			require.NoError(b.t, err)
		}
		err = b.Raw.QueryRowContext(b.ctx, fmt.Sprintf(`SELECT chain, seq, at, actor, action, object, session_id, level, trust, detail FROM audit WHERE seq = %d`, seq)).
			Scan(&fields[0], &fields[1], &fields[2], &fields[3], &fields[4], &fields[5], &fields[6], &fields[7], &fields[8], &fields[9])
		if errors.Is(err, sql.ErrNoRows) {
			return
		}
		require.NoError(b.t, err)
		text := fmt.Sprintf("%d:%s,", len(before), before)
		for _, field := range fields {
			text += fmt.Sprintf("%d:%s,", len(field), field)
		}
		sum := sha256.Sum256([]byte(text))
		b.execf(`UPDATE audit SET hash = '%s' WHERE seq = %d`, hex.EncodeToString(sum[:]), seq)
	}
}

// keptHeads forges entries with all hashes recomputed. Nothing in the database reveals that, but a head that was kept
// elsewhere does.
func (b *tamper) keptHeads(head ledger.AuditHead) {
	forgeries := map[string]func(){
		"an entry changed": func() {
			b.exec(`UPDATE audit SET actor = 'nobody' WHERE seq = 5`)
			b.seal(5)
		},
		"the tail gone": func() { b.exec(`DELETE FROM audit WHERE seq > 5`) },
		"all gone":      func() { b.exec(`DELETE FROM audit`) },
	}
	for name, forge := range forgeries {
		forge()
		b.exec(`UPDATE audit_heads SET seq = (SELECT coalesce(max(seq), 0) FROM audit), hash = coalesce((SELECT hash FROM audit ORDER BY seq DESC LIMIT 1), '') WHERE chain = 0`)
		report, err := b.VerifyAudit(b.ctx, nil)
		require.NoError(b.t, err)
		require.Empty(b.t, report.Faults, name)
		report, err = b.VerifyAudit(b.ctx, []ledger.AuditHead{head})
		require.NoError(b.t, err)
		require.Len(b.t, report.Faults, 1, name)
		require.Equal(b.t, ledger.AuditHeadBad, report.Faults[0].Kind)
		b.restore()
	}
	report, err := b.VerifyAudit(b.ctx, []ledger.AuditHead{{Chain: 99, Seq: 1, Hash: head.Hash}})
	require.NoError(b.t, err)
	require.Len(b.t, report.Faults, 1)
}
