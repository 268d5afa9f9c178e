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

// A search is ranked by what its reader may see and by nothing else. A database's own ranking counts how often a
// word occurs in all that it holds, so that what is hidden would move what is seen. Therefore the
// databases only say which memories have a word: one index for each level, and of it the range of one audience or
// namespace. From these lists is taken what is expired, covered by a higher level, or no memory of the scope; and only then
// are the words weighed, by how many of the memories that are left have them.

// seqBits are those of a memory's seq below its audience's number, and below its namespace's.
const (
	audienceBits  = 28
	namespaceBits = 52
)

// A word in the key or a tag says more than one in the content.
const (
	labelsWeight = 2
	bodyWeight   = 1
)

// span is the range of the seqs of a scope.
type span struct{ low, high int64 }

// hit is a memory that has words of a question. Score is that of its words.
type hit struct {
	seq   int64
	score int
}

// SearchMemories finds memories by words, the best first and of equals the newest.
func (t Table) SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error) {
	asked := question(q.Text)
	if len(asked) == 0 || q.Limit <= 0 || !q.MaxLevel.Valid() {
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

// occurrence is where a word of the question is, ascending.
type occurrence struct{ labels, body []int64 }

// occurrences asks each index that the reader sees for a word, all at once.
func (t Table) occurrences(ctx context.Context, s sessions.MemoryScope, in span, word string, hidden map[int64]bool) (o occurrence, err error) {
	var texts []string
	var args []any
	for _, level := range upTo(s.MaxLevel) {
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

// offsets reads a list of seqs, without those that are hidden.
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

// weigh gives each memory the sum of what its words are worth: the one that most memories have is worth
// one, and another one more each time that only half as many have it.
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

// spanOf is the range of a scope, or returns ErrNotFound.
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

// hidden are the memories of a range that its reader does not see: those that a higher level covers, and those that have expired.
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

// memories counts those that have the word.
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

// endedMeanwhile is how many more hits are looked at than are wanted: some may have ended since they were found.
const endedMeanwhile = 16

// top are the n best hits. There may be very many for a common word, and few of them are wanted.
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

// order puts the higher score first, and of equals the newest: within a namespace the last digits of a seq count the saves.
func order(a, b hit) int {
	saved := func(h hit) int64 { return h.seq & (1<<audienceBits - 1) }
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(saved(b), saved(a)), cmp.Compare(a.seq, b.seq))
}

// fetchedAtOnce is how many hits one statement reads; a fixed number, so that it stays prepared.
const fetchedAtOnce = 32

// numbered is a row that ends with a memory's seq.
type numbered struct {
	engine.Row
	seq *int64
}

// Scan implements [Row].
func (n numbered) Scan(dest ...any) error { return n.Row.Scan(append(dest, n.seq)...) }

// best reads the memories with the highest scores. What has ended since it was found is left out.
func (t Table) best(ctx context.Context, q sessions.MemorySearch, scores map[int64]int) ([]sessions.Memory, error) {
	scope := q.MemoryScope
	scope.Namespace, scope.Audience = "", "" // the hits are of these already, and named again they would lead to a walk through all of them
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
