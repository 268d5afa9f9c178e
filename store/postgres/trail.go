package postgres

import (
	"fmt"
	"strings"

	"sluice/store/engine"
)

// freeHead and anyHead choose the chain that gets the entries of a transaction, and lock its head until the commit: one that no
// other transaction has locked, or one of all, which is waited for.
const (
	freeHead = `SELECT chain, seq, hash FROM audit_heads ORDER BY chain LIMIT 1 FOR UPDATE SKIP LOCKED`
	anyHead  = `SELECT chain, seq, hash FROM audit_heads ORDER BY random() LIMIT 1 FOR UPDATE`
)

// The statements that add entries to the audit trail. They fail if there is no head.
var (
	addToFree = addEntries(freeHead)
	addToAny  = addEntries(anyHead)
)

// addEntries is one statement that does what [engine.Trail.Link] describes: the database computes the hashes, because it is
// the first to know the head.
func addEntries(head string) string {
	var sealed []string
	for _, field := range []string{
		`l.hash`, `l.chain::text`, `(l.seq + 1)::text`, `e.at::text`, `e.actor`, `e.action`, `e.object`, `e.session_id`, `e.level::text`, `e.trust::text`, `e.detail`,
	} {
		sealed = append(sealed, `octet_length(convert_to(`+field+`, 'UTF8')) || ':' || `+field+` || ','`)
	}
	var entry []string
	for i, column := range []string{`at`, `actor`, `action`, `object`, `session_id`, `level`, `trust`, `detail`} {
		kind := `text`
		if column == `at` || column == `level` || column == `trust` {
			kind = `bigint`
		}
		entry = append(entry, fmt.Sprintf(`($%d::%s[])[(l.n + 1)::int] AS %s`, i+1, kind, column))
	}
	return `WITH RECURSIVE head AS MATERIALIZED (` + head + `),
		entries AS MATERIALIZED (
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[])
			WITH ORDINALITY AS e (at, actor, action, object, session_id, level, trust, detail, n)),
		links AS (
			SELECT chain, seq, hash, 0::bigint AS n FROM head
			UNION ALL
			SELECT l.chain, l.seq + 1, encode(sha256(convert_to(` + strings.Join(sealed, ` || `) + `, 'UTF8')), 'hex') COLLATE "C", l.n + 1
			FROM links l CROSS JOIN LATERAL (
				SELECT ` + strings.Join(entry, `, `) + ` OFFSET 0) e /* a join would read all entries for each of them */
			WHERE l.n < cardinality($1::bigint[])),
		added AS (
			INSERT INTO audit (` + engine.AuditColumns + `)
			SELECT l.chain, l.seq, e.at, e.actor, e.action, e.object, e.session_id, e.level, e.trust, e.detail, l.hash
			FROM links l JOIN entries e ON e.n = l.n ORDER BY l.n),
		changed AS (
			UPDATE audit_heads h SET seq = l.seq, hash = l.hash FROM (SELECT chain, seq, hash FROM links ORDER BY n DESC LIMIT 1) l
			WHERE h.chain = l.chain RETURNING 1)
		` + enough("1")
}

// columns are the arguments of the statements above.
func columns(trail engine.Trail) []any {
	at, level, trust := make([]int64, len(trail)), make([]int64, len(trail)), make([]int64, len(trail))
	texts := make([]string, 5*len(trail))
	actor, action, object, session, detail := cut(&texts, len(trail)), cut(&texts, len(trail)), cut(&texts, len(trail)), cut(&texts, len(trail)), cut(&texts, len(trail))
	for i := range trail {
		e := &trail[i]
		at[i], level[i], trust[i] = e.At, int64(e.Level), int64(e.Trust)
		actor[i], action[i], object[i], session[i], detail[i] = e.Actor, e.Action, e.Object, e.Session, e.Detail
	}
	return []any{at, actor, action, object, session, level, trust, detail}
}

// cut takes the first n of some texts.
func cut(texts *[]string, n int) []string {
	first := (*texts)[:n:n]
	*texts = (*texts)[n:]
	return first
}
