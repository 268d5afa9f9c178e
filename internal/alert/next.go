package alert

import (
	"slices"
	"time"
)

// Upcoming is the next message of a group.
type Upcoming struct {
	At      time.Time
	Reason  Reason
	Step    int      // of the escalation, from 1; 0: none
	Targets []string // sorted
}

// nextLooks is how many times [Next] handles a due group before it gives up.
const nextLooks = 100

// Next returns the next message of an open group if nothing changes until then and all its messages arrive; false if there is
// none, or if it is too far ahead to be found.
func Next(s Scene) (Upcoming, bool) {
	s.Arrival = func(string) Arrival { return Arrived }
	end := s.Now.Add(farAway)
	for range nextLooks {
		if s.Now.Before(s.Group.Due) {
			s.Now = s.Group.Due
		}
		if s.Now.After(end) {
			break
		}
		d := Decide(s)
		if next, ok := upcoming(&s, d.Sends); ok {
			return next, true
		}
		if !d.Group.Open {
			break
		}
		s.Group, s.Alerts = d.Group, expired(s.Alerts, d.Expired)
	}
	return Upcoming{}, false
}

// upcoming joins notifications to one message; false if they only edit messages.
func upcoming(s *Scene, sends []Send) (next Upcoming, ok bool) {
	for _, send := range sends {
		if send.Reason == "" {
			continue
		}
		at := s.Now
		if send.Wait {
			at = s.Plan.Quiet.End(at)
		}
		if !ok {
			next, ok = Upcoming{At: at, Reason: send.Reason}, true
		}
		next.Step = max(next.Step, send.Step)
		next.Targets = append(next.Targets, send.Target)
	}
	slices.Sort(next.Targets)
	next.Targets = slices.Compact(next.Targets)
	return next, ok
}

// expired returns all alerts, with those in over replaced: they have expired meanwhile.
func expired(all, over []Alert) []Alert {
	if len(over) == 0 {
		return all
	}
	all = slices.Clone(all)
	for i := range all {
		for j := range over {
			if all[i].Key == over[j].Key {
				all[i] = over[j]
			}
		}
	}
	return all
}
