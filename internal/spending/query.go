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

// SumsMax is the number of sums that one query returns at most: one more than a list shows, so that the list knows whether there are more.
const SumsMax = 10_001

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

// CallPoint is what one call was like, without what it was about.
type CallPoint struct {
	Agent   string
	Started time.Time
	Latency time.Duration
	Failed  bool
	Input   int // tokens
	Output  int

	// Model and Cached are only read for the calls of a run.
	Model  string // <provider>/<model>
	Cached int    // tokens of the input
}

// Counted adds a call to sums, one for each currency.
func Counted(sums []Sum, c *Call) []Sum {
	i := slices.IndexFunc(sums, func(s Sum) bool { return s.Currency == c.Currency })
	if i < 0 {
		i, sums = len(sums), append(sums, Sum{Currency: c.Currency})
	}
	sums[i].Calls++
	sums[i].Cost += c.Cost
	return sums
}

// Unknown is how a cost is shown whose price is not known.
const Unknown = "unknown"

// CostOf says what calls have cost together: "1.25 USD", "unknown", "1.25 USD, and unknown for 2 of 9 calls". Without calls
// the text is empty.
func CostOf(sums []Sum) string {
	var texts []string
	calls, unpriced := 0, 0
	for i := range sums {
		calls += sums[i].Calls
		if sums[i].Currency == "" {
			unpriced += sums[i].Calls
			continue
		}
		texts = append(texts, sums[i].Cost.In(sums[i].Currency))
	}
	switch {
	case calls == unpriced && calls > 0:
		return Unknown
	case unpriced > 0:
		texts = append(texts, fmt.Sprintf("and %s for %d of %d calls", Unknown, unpriced, calls))
	}
	return strings.Join(texts, ", ")
}
