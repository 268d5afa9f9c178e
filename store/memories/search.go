package memories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/engine"
)

// A search ranks only by what its reader may see. A database's own ranking counts how often a word occurs in
// everything stored, so hidden memories would change the order of visible ones. Therefore the databases only list
// which memories have a word: there is one index per level, of which a search reads the range of one audience or
// namespace. Memories that are expired, covered by a higher level or outside the scope are removed from these lists.
// Only then are the words weighted, by how many of the remaining memories have them.

// seqBits are the bits of a memory's seq below its audience's number, and below its namespace's number.
const (
	audienceBits  = 28
	namespaceBits = 52
)

// A word in the key or a tag counts more than one in the content.
const (
	labelsWeight = 2
	bodyWeight   = 1
)

// span is the range of seqs of a scope.
type span struct{ low, high int64 }

// hit is a memory that matches words of a question, with their score.
type hit struct {
	seq   int64
	score int
}

// SearchMemories finds memories by words, best first; of equal ones the newest first.
func (t Table) SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error) {
	asked := question(q.Text)
	if len(asked) == 0 || q.Limit <= 0 || len(levelsOf(q.MemoryScope)) == 0 {
		return nil, nil
	}
	where, err := t.spanOf(ctx, q.MemoryScope)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, nil // nothing was ever saved there
	}
	if err != nil {
		return nil, err
	}
	hidden, err := t.hidden(ctx, q.MemoryScope, where)
	if err != nil {
		return nil, err
	}
	lists := make([]occurrence, len(asked))
	for i, word := range asked {
		if lists[i], err = t.occurrences(ctx, q.MemoryScope, where, word, hidden); err != nil {
			return nil, err
		}
	}
	return t.best(ctx, q, weigh(lists))
}

// occurrence lists the memories that have one word of the question, in ascending order.
type occurrence struct{ labels, body []int64 }

// levelsOf are the levels of a scope, which each have an index of words.
func levelsOf(s sessions.MemoryScope) []flow.Level {
	return slices.DeleteFunc(upTo(s.MaxLevel), func(l flow.Level) bool { return s.Level.Valid() && l != s.Level })
}

// occurrences queries every index that the reader may see for all words at once.
func (t Table) occurrences(ctx context.Context, s sessions.MemoryScope, in span, word string, hidden map[int64]bool) (o occurrence, err error) {
	var texts []string
	var args []any
	for _, level := range levelsOf(s) {
		for _, field := range []engine.WordField{engine.WordLabels, engine.WordBody} {
			texts = append(texts, t.conn.WordQuery(level.Rank(), field))
			args = append(args, in.low, word, in.low, in.high)
		}
	}
	err = t.conn.Query(ctx, strings.Join(texts, " UNION ALL "), args, func(row engine.Row) error {
		var field, list string
		if err := row.Scan(&field, &list); err != nil {
			return err
		}
		seqs, err := offsets(list, in.low, hidden)
		if engine.WordField(field) == engine.WordLabels {
			o.labels = append(o.labels, seqs...)
		} else {
			o.body = append(o.body, seqs...)
		}
		return err
	})
	slices.Sort(o.labels)
	slices.Sort(o.body)
	return o, err
}

// offsets parses a list of seqs and skips the hidden ones.
func offsets(list string, low int64, hidden map[int64]bool) ([]int64, error) {
	var found []int64
	for offset := range strings.SplitSeq(list, ",") {
		if offset == "" {
			continue
		}
		n, err := strconv.ParseInt(offset, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read index of memories: %w", err)
		}
		if seq := low + n; !hidden[seq] {
			found = append(found, seq)
		}
	}
	return found, nil
}

// weigh adds up, for each memory, the weights of its words. The most frequent word weighs one; each halving of the
// frequency adds one.
func weigh(lists []occurrence) map[int64]int {
	most := 0
	for _, o := range lists {
		most = max(most, bits.Len(o.memories()))
	}
	scores := make(map[int64]int, 2*len(lists[0].labels)+2*len(lists[0].body))
	for _, o := range lists {
		worth := 1 + most - bits.Len(o.memories())
		for _, seq := range o.labels {
			scores[seq] += labelsWeight * worth
		}
		for _, seq := range o.body {
			scores[seq] += bodyWeight * worth
		}
	}
	return scores
}

// spanOf returns the range of a scope, or ErrNotFound.
func (t Table) spanOf(ctx context.Context, s sessions.MemoryScope) (span, error) {
	if s.Namespace == "" {
		return span{0, 1<<63 - 1}, nil
	}
	var namespace, audience int64
	if s.Audience == "" {
		err := t.conn.One(ctx, `SELECT no FROM memory_namespaces WHERE namespace = ?`, []any{s.Namespace}, &namespace)
		low := namespace << namespaceBits
		return span{low, low + 1<<namespaceBits - 1}, err
	}
	err := t.conn.One(ctx, `SELECT n.no, a.no FROM memory_namespaces n JOIN memory_audiences a ON a.namespace_no = n.no
		WHERE n.namespace = ? AND a.audience = ?`, []any{s.Namespace, string(s.Audience)}, &namespace, &audience)
	low := namespace<<namespaceBits + audience<<audienceBits
	return span{low, low + 1<<audienceBits - 1}, err
}

// hidden returns the memories of a range that its reader may not see: those covered by a higher level, and expired
// ones.
func (t Table) hidden(ctx context.Context, s sessions.MemoryScope, in span) (map[int64]bool, error) {
	hidden, now := map[int64]bool{}, engine.Micros(s.Now)
	for _, level := range upTo(s.MaxLevel) {
		covered, err := t.memorySeqs(ctx, `SELECT seq FROM memory_veils WHERE level = ? AND seq BETWEEN ? AND ? AND (expires = 0 OR expires > ?)`,
			level.Rank(), in.low, in.high, now)
		if err != nil {
			return nil, err
		}
		expired, err := t.memorySeqs(ctx, `SELECT seq FROM memories WHERE ended = 0 AND expires > 0 AND expires <= ? AND level = ? AND seq BETWEEN ? AND ?`,
			now, level.Rank(), in.low, in.high)
		if err != nil {
			return nil, err
		}
		for _, seq := range append(covered, expired...) {
			hidden[seq] = true
		}
	}
	return hidden, nil
}

func upTo(most flow.Level) []flow.Level {
	return slices.DeleteFunc(flow.Levels(), func(l flow.Level) bool { return !flow.CanFlow(l, most) })
}

// memories counts the memories that have the word.
func (o occurrence) memories() uint {
	n := uint(len(o.labels) + len(o.body))
	for i, j := 0, 0; i < len(o.labels) && j < len(o.body); {
		switch cmp.Compare(o.labels[i], o.body[j]) {
		case -1:
			i++
		case 1:
			j++
		default:
			n--
			i++
			j++
		}
	}
	return n
}

// endedMeanwhile is how many hits beyond the limit are read, because some may have ended since they were found.
const endedMeanwhile = 16

// top returns the n best hits. A common word can have very many hits, of which few are wanted.
func top(scores map[int64]int, n int) []hit {
	best := make([]hit, 0, n+1)
	for seq, score := range scores {
		h := hit{seq, score}
		if len(best) == n && order(h, best[n-1]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, h, order)
		best = slices.Insert(best, at, h)
		best = best[:min(n, len(best))]
	}
	return best
}

// order puts higher scores first, and of equal scores the newest memory: the low bits of a seq count the saves of a
// namespace.
func order(a, b hit) int {
	saved := func(h hit) int64 { return h.seq & (1<<audienceBits - 1) }
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(saved(b), saved(a)), cmp.Compare(a.seq, b.seq))
}

// fetchedAtOnce is how many hits one statement reads. It is fixed, so that the statement stays prepared.
const fetchedAtOnce = 32

// numbered is a row whose last column is a memory's seq.
type numbered struct {
	engine.Row
	seq *int64
}

// Scan implements [Row].
func (n numbered) Scan(dest ...any) error { return n.Row.Scan(append(dest, n.seq)...) }

// best reads the memories with the highest scores, without those that have ended since they were found.
func (t Table) best(ctx context.Context, q sessions.MemorySearch, scores map[int64]int) ([]sessions.Memory, error) {
	scope := q.MemoryScope
	scope.Namespace, scope.Audience = "", "" // the hits are within the scope already; repeating it would make the database scan all of it
	f := inScope(scope)
	f.Add(`m.seq IN (?` + strings.Repeat(`, ?`, fetchedAtOnce-1) + `)`)
	text := `SELECT ` + memoryColumns + `, m.seq FROM memories m` + f.Where()
	var found []sessions.Memory
	for hits := range slices.Chunk(top(scores, q.Limit+endedMeanwhile), fetchedAtOnce) {
		args := slices.Clone(f.Args)
		for i := range fetchedAtOnce {
			args = append(args, hits[min(i, len(hits)-1)].seq)
		}
		there := map[int64]sessions.Memory{}
		err := t.conn.Query(ctx, text, args, func(row engine.Row) error {
			var seq int64
			m, err := scanMemory(numbered{row, &seq})
			there[seq] = m
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			if m, ok := there[h.seq]; ok && len(found) < q.Limit {
				found = append(found, m)
			}
		}
		if len(found) == q.Limit {
			break
		}
	}
	return found, nil
}
