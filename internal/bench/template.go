package main

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice/sessions"
)

// The stored past is one real conversation with the gateway, copied row by row with new ids for each person. So it
// has exactly what the gateway writes.

const (
	modelPerson = 777_000_111 // the person in the real conversation
	pastPerson  = 800_000_000 // the first person with a copy
	turns       = 5           // questions per conversation, each with its answer
	partitions  = 16          // the gateway's default
)

// pastTables are the tables that grow with use, with the way to find their rows.
var pastTables = []string{"sessions", "messages", "runs", "events", "deliveries"}

// template has the rows of one conversation.
type template struct {
	tables map[string]*tableRows
	ids    []string // every id in the rows, the session's first
}

type tableRows struct {
	columns []string // without seq, which the database assigns
	rows    [][]any
}

// anyID finds the gateway's ids inside a text.
var anyID = regexp.MustCompile(`\b(sess|run|msg|dlv)_[0-9a-f]{12,32}\b`)

// readTemplate reads the rows of the model conversation.
func readTemplate(ctx context.Context, db *sql.DB) (*template, error) {
	t := &template{tables: map[string]*tableRows{}}
	var session string
	key := `%:` + strconv.Itoa(modelPerson)
	if err := db.QueryRowContext(ctx, `SELECT id FROM sessions WHERE skey LIKE '`+key+`'`).Scan(&session); err != nil {
		return nil, fmt.Errorf("find the conversation to copy: %w", err)
	}
	t.ids = []string{session}
	for _, table := range pastTables {
		column := "session_id"
		if table == "sessions" {
			column = "id"
		}
		rows, err := t.readTable(ctx, db, `SELECT * FROM `+table+` WHERE `+column+` = '`+session+`'`)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		t.tables[table] = rows
	}
	return t, nil
}

func (t *template) readTable(ctx context.Context, db *sql.DB, query string) (*tableRows, error) {
	found, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // only read from
	names, err := found.Columns()
	if err != nil {
		return nil, err
	}
	seq := slices.Index(names, "seq")
	result := &tableRows{columns: without(names, seq)}
	for found.Next() {
		values := make([]any, len(names))
		into := make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, err
		}
		result.rows = append(result.rows, without(values, seq))
		t.collect(values)
	}
	return result, found.Err()
}

func without[T any](all []T, at int) []T {
	if at < 0 {
		return all
	}
	return slices.Delete(all, at, at+1)
}

func (t *template) collect(values []any) {
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			continue
		}
		for _, id := range anyID.FindAllString(text, -1) {
			if !slices.Contains(t.ids, id) {
				t.ids = append(t.ids, id)
			}
		}
	}
}

// copyOf renames everything in the template for the n-th person.
func (t *template) copyOf(n int) copier {
	person := strconv.Itoa(pastPerson + n)
	model := strconv.Itoa(modelPerson)
	// Message ids of the past get another form, so that the Telegram server can count from 1 again.
	pairs := []string{"/" + model + "/", "/" + person + "/past-", model, person}
	for i, id := range t.ids {
		pairs = append(pairs, id, renamed(id, i, n))
	}
	return copier{strings.NewReplacer(pairs...)}
}

// renamed returns an id of the same form that differs for each i and n.
func renamed(id string, i, n int) string {
	const session = "sess_"
	if strings.HasPrefix(id, session) {
		return fmt.Sprintf("%s%02x%010x", session, i, n+1)
	}
	return id[:len(id)-16] + fmt.Sprintf("%06x%010x", i, n+1)
}

// copier writes rows for another person.
type copier struct{ names *strings.Replacer }

func (c copier) row(columns []string, values []any) []any {
	row := slices.Clone(values)
	for i, v := range row {
		if text, ok := v.(string); ok {
			row[i] = c.names.Replace(text)
		}
	}
	lane := slices.Index(columns, "lane")
	if lane < 0 {
		lane = slices.Index(columns, "session_id")
	}
	if lane < 0 {
		lane = slices.Index(columns, "id")
	}
	if at := slices.Index(columns, "partition_no"); at >= 0 {
		row[at] = sessions.Lane(row[lane].(string)).Partition(partitions)
	}
	return row
}
