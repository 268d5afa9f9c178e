package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Rate bounds how often something may happen. It is counted in each gateway process by itself, and
// anew when the process, the rule or its rate is new; a session has one process, so what is counted by session is exact.
type Rate struct {
	Limit int           // at most so many
	Per   time.Duration // in each time of this length
	By    RateBy        // counted apart for each of these; empty: all together
}

// RateBy says what is counted apart.
type RateBy string

// What can be counted apart.
const (
	RateByAll          RateBy = ""
	RateBySession      RateBy = "session"
	RateByAgent        RateBy = "agent"
	RateByTool         RateBy = "tool"
	RateByUser         RateBy = "user"
	RateByConversation RateBy = "conversation"
)

const (
	// rateMost bounds the limit of a rate, since each event in its time is remembered.
	rateMost = 10_000
	// rateKeys bounds how many things a rate counts apart; the one that was quiet the longest is forgotten first.
	rateKeys = 10_000
)

// RateBys lists what can be counted apart.
func RateBys() []RateBy {
	return []RateBy{RateBySession, RateByAgent, RateByTool, RateByUser, RateByConversation}
}

func (r *Rate) check() error {
	switch {
	case r.Limit < 1 || r.Limit > rateMost:
		return fmt.Errorf("limit: %d is not between 1 and %d", r.Limit, rateMost)
	case r.Per <= 0:
		return errors.New("per: is required, for example 1h")
	case r.By != RateByAll && !slices.Contains(RateBys(), r.By):
		return fmt.Errorf("by: %q: want one of %v", r.By, RateBys())
	}
	return nil
}

// key is what an input counts for.
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

// counter counts the events of one rule.
type counter struct {
	mu     sync.Mutex
	events map[string][]event
}

type event struct {
	id string
	at time.Time
}

// over reports whether an input goes beyond the rate. With count it is remembered if it does not; one
// that was counted before is not beyond it.
func (c *counter) over(r *Rate, in *Input, count bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := r.key(in)
	events := c.events[key]
	fresh := slices.IndexFunc(events, func(e event) bool { return in.Now.Sub(e.at) < r.Per })
	if fresh < 0 {
		fresh = len(events)
	}
	events = events[fresh:]
	known := in.ID != "" && slices.ContainsFunc(events, func(e event) bool { return e.id == in.ID })
	over := !known && len(events) >= r.Limit
	if count && !known && !over {
		events = append(slices.Clip(events), event{in.ID, in.Now})
	}
	if count {
		c.keep(key, events)
	}
	return over
}

func (c *counter) keep(key string, events []event) {
	if c.events == nil {
		c.events = map[string][]event{}
	}
	if _, known := c.events[key]; !known && len(c.events) >= rateKeys {
		c.forget()
	}
	c.events[key] = events
}

// forget drops what was quiet the longest.
func (c *counter) forget() {
	var oldest string
	var at time.Time
	for key, events := range c.events {
		if last := events[len(events)-1].at; at.IsZero() || last.Before(at) {
			oldest, at = key, last
		}
	}
	delete(c.events, oldest)
}
