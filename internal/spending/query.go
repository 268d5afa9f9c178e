package spending

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/policy/flow"
)

// Dimension is something by which the ledger is grouped.
type Dimension string

// The dimensions. Rows of calls that retention has removed count to no session.
const (
	ByDay      Dimension = "day" // in UTC
	ByAgent    Dimension = "agent"
	ByPerson   Dimension = "person"
	BySession  Dimension = "session"
	ByJob      Dimension = "job"
	ByProvider Dimension = "provider"
	ByModel    Dimension = "model"
	ByKey      Dimension = "key"
)

// Dimensions are all of them.
func Dimensions() []Dimension {
	return []Dimension{ByDay, ByAgent, ByPerson, BySession, ByJob, ByProvider, ByModel, ByKey}
}

// ParseDimensions reads a list such as "day,agent".
func ParseDimensions(text string) ([]Dimension, error) {
	var by []Dimension
	for word := range strings.SplitSeq(text, ",") {
		d := Dimension(strings.TrimSpace(word))
		switch {
		case d == "":
			continue
		case !slices.Contains(Dimensions(), d):
			return nil, fmt.Errorf("can't group by %q: want some of day, agent, person, session, job, provider, model, key", string(d))
		case !slices.Contains(by, d):
			by = append(by, d)
		}
	}
	return by, nil
}

// Query asks for sums of the ledger.
type Query struct {
	By       []Dimension // empty: one sum of all
	Since    time.Time   // zero: from the beginning
	Until    time.Time   // before it; zero: until now
	Agent    string
	Person   string
	Session  string
	Job      string
	Provider string
	Model    string     // <provider>/<model>
	MaxLevel flow.Level // rows above it do not exist for the reader; a level is required
	Limit    int        // sums, at most [SumsMax]; 0: as many
}

// SumsMax is the number of sums that one query gives.
const SumsMax = 10_000

// Sum is what some calls have used together. Calls in several currencies have one sum for each.
type Sum struct {
	Day                                               time.Time
	Agent, Person, Session, Job, Provider, Key, Model string

	Calls    int
	Failed   int // of them
	Assumed  int // of them: the provider has not said what they used
	Amount   Amount
	Cost     Money
	Currency string // empty: their price is unknown
}
