package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Rate limits how often something may happen, separately for each level of the sessions that do it; an event counts
// for its own level and all higher ones. Each gateway process counts for itself, and starts at zero when the process,
// the rule or its rate is new. A session belongs to one process, so counts per session are exact.
type Rate struct {
	Limit int           // number of allowed events
	Per   time.Duration // in each period of this length
	By    RateBy        // counted separately for each; empty: all together
}

// RateBy says what is counted separately.
type RateBy string

// The values of RateBy.
const (
	RateByAll          RateBy = ""
	RateBySession      RateBy = "session"
	RateByAgent        RateBy = "agent"
	RateByTool         RateBy = "tool"
	RateByUser         RateBy = "user"
	RateByConversation RateBy = "conversation"
)

const (
	// rateMax is the maximum limit of a rate, because each event in its period is remembered.
	rateMax = 10_000
	// rateKeys is the maximum number of keys that a rate counts per level; the key that was idle for longest is
	// dropped first.
	rateKeys = 10_000
)

// RateBys lists the values of RateBy.
func RateBys() []RateBy {
	return []RateBy{RateBySession, RateByAgent, RateByTool, RateByUser, RateByConversation}
}

func (r *Rate) check() error {
	switch {
	case r.Limit < 1 || r.Limit > rateMax:
		return fmt.Errorf("limit: %d is not between 1 and %d", r.Limit, rateMax)
	case r.Per <= 0:
		return errors.New("per: is required, for example 1h")
	case r.By != RateByAll && !slices.Contains(RateBys(), r.By):
		return fmt.Errorf("by: %q: want one of %v", r.By, RateBys())
	}
	return nil
}

// key is the key under which an input is counted.
func (r *Rate) key(in *Input) string {
	switch r.By {
	case RateBySession:
		return in.Session.ID
	case RateByAgent:
		return in.Session.Agent
	case RateByTool:
		return in.Tool.Name
	case RateByUser:
		return in.Session.User
	case RateByConversation:
		if in.Output.Channel != "" {
			return in.Output.Channel + "\x00" + in.Output.Account + "\x00" + in.Output.To
		}
		return in.Session.Key
	}
	return ""
}

// counter counts the events of one rule, separately for each level of the sessions that cause them. An event counts
// for its own level and all higher ones: otherwise a session at a low level could learn from the remaining rate what
// higher sessions have done.
type counter struct {
	mu     sync.Mutex
	levels [topRank + 1]map[string][]event // by the rank of the level; 0: invalid
}

// topRank is the rank of the highest level.
const topRank = 4

type event struct {
	id string
	at time.Time
}

// over reports whether an input exceeds the rate. With count, an input that does not is remembered; one that was
// counted before never exceeds it.
func (c *counter) over(r *Rate, in *Input, count bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, own := r.key(in), rankOf(in)
	known, counted := false, 0
	for rank := range topRank + 1 {
		if rank > own && !CheckRate.skipped() {
			break
		}
		events := c.fresh(rank, key, r.Per, in.Now)
		counted += len(events)
		known = known || in.ID != "" && slices.ContainsFunc(events, func(e event) bool { return e.id == in.ID })
	}
	over := !known && counted >= r.Limit
	if count {
		events := c.fresh(own, key, r.Per, in.Now)
		if !known && !over {
			events = append(slices.Clip(events), event{in.ID, in.Now})
		}
		c.keep(own, key, events)
	}
	return over
}

// rankOf is the level of an input: that of its session, or of its text if that is higher.
func rankOf(in *Input) int {
	return min(max(in.Session.Level, in.Output.Level, 0), topRank)
}

// fresh are the events of a key within a rate's period.
func (c *counter) fresh(rank int, key string, per time.Duration, now time.Time) []event {
	events := c.levels[rank][key]
	first := slices.IndexFunc(events, func(e event) bool { return now.Sub(e.at) < per })
	if first < 0 {
		return nil
	}
	return events[first:]
}

// keep stores the events of a key; may be none.
func (c *counter) keep(rank int, key string, events []event) {
	of := c.levels[rank]
	if len(events) == 0 {
		delete(of, key)
		return
	}
	if of == nil {
		of = map[string][]event{}
		c.levels[rank] = of
	}
	if _, known := of[key]; !known && len(of) >= rateKeys {
		forget(of)
	}
	of[key] = events
}

// forget drops the key that was idle for longest.
func forget(of map[string][]event) {
	var oldest string
	var at time.Time
	for key, events := range of {
		if last := events[len(events)-1].at; at.IsZero() || last.Before(at) {
			oldest, at = key, last
		}
	}
	delete(of, oldest)
}
