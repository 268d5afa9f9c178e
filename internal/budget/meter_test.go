package budget

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// meter counts the statements of a store.
type meter struct {
	mu      sync.Mutex
	counts  map[string]int // by statement
	sending int            // deliveries that the open transaction marks as sent
	sent    chan struct{}  // one for each delivery whose end goes to the database
}

func newMeter() *meter { return &meter{counts: map[string]int{}, sent: make(chan struct{}, 100)} }

// hear is the trace of the store.
func (m *meter) hear(sql string, args []any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[sql]++
	if sql == "COMMIT" {
		for ; m.sending > 0; m.sending-- {
			m.sent <- struct{}{}
		}
		return
	}
	if strings.Contains(sql, "UPDATE deliveries SET lane") && slices.Contains(args, any("sent")) {
		m.sending++
	}
}

// asked counts a round trip to the database.
func (m *meter) asked() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[roundTrip]++
}

// snapshot is what was counted so far.
func (m *meter) snapshot() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.counts)
}

var (
	spaces      = regexp.MustCompile(`\s+`)
	dollar      = regexp.MustCompile(`\$\d+`)
	onlyPG      = regexp.MustCompile(`/\*pg.*?\*/`)
	columnList  = regexp.MustCompile(`^SELECT .{40,}? FROM `)
	mustChange  = regexp.MustCompile(`^WITH changed AS \((.*) RETURNING 1\) SELECT CASE .*`) // what PostgreSQL checks itself
	insertValue = regexp.MustCompile(`VALUES \([?, ]+\)`)
)

// nameLength keeps a line readable; the end of a statement, its condition, tells more than its middle.
const nameLength = 200

// name is a statement in the form that the file has it, the same for both databases.
func name(sql string) string {
	text := spaces.ReplaceAllString(strings.TrimSpace(sql), " ")
	text = dollar.ReplaceAllString(text, "?")
	text = mustChange.ReplaceAllString(text, "$1")
	text = onlyPG.ReplaceAllString(text, "")
	text = columnList.ReplaceAllString(text, "SELECT … FROM ")
	text = insertValue.ReplaceAllString(text, "VALUES (…)")
	if len(text) > nameLength {
		text = strings.ToValidUTF8(text[:nameLength/2], "") + " … " + strings.ToValidUTF8(text[len(text)-nameLength/2:], "")
	}
	return text
}

// roundTrip is counted for each request to the database that waits for an answer: several statements can be one.
const roundTrip = "ROUNDTRIP"

// kinds of statement.
const (
	reads        = "reads"
	writes       = "writes"
	transactions = "transactions"
	roundTrips   = "roundtrips" // of PostgreSQL
)

// kind is what a statement counts as; empty for the end of a transaction that another statement has counted.
func kind(sql string) string {
	switch word, _, _ := strings.Cut(strings.TrimSpace(sql), " "); word {
	case "BEGIN":
		return transactions
	case "COMMIT":
		return commits
	case "ROLLBACK":
		return rollbacks
	case "SELECT":
		return reads
	case roundTrip:
		return roundTrips
	}
	return writes
}

// commits are transactions that the database has made durable: on SQLite each is one fsync of its log.
const (
	commits   = "commits"
	rollbacks = "rollbacks"
)
