package cron

import (
	"fmt"
	"time"
	_ "time/tzdata" // for machines without a database of time zones
)

// Schedule says when something is due. Exactly one of Cron, Every and At is set.
type Schedule struct {
	Cron  *Expr
	Every time.Duration
	// Anchor is the time from which Every counts.
	Anchor time.Time
	At     time.Time
	Zone   *time.Location // nil: UTC
}

// MinEvery is the smallest distance of Every.
const MinEvery = time.Second

// Next is the first instant after a time, or the zero time. Its location is the schedule's zone.
func (s Schedule) Next(after time.Time) time.Time {
	loc := s.Zone
	if loc == nil {
		loc = time.UTC
	}
	switch {
	case s.Cron != nil:
		return s.Cron.Next(after, loc)
	case s.Every > 0:
		if after.Before(s.Anchor) {
			return s.Anchor.In(loc)
		}
		passed := after.Sub(s.Anchor)
		return s.Anchor.Add(passed - passed%s.Every + s.Every).In(loc)
	case s.At.After(after):
		return s.At.In(loc)
	}
	return time.Time{}
}

// LoadZone finds a zone by its IANA name. An empty name is an error, so that no zone is chosen by accident.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone %q: write an IANA name such as Europe/Berlin, or UTC", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is unknown; write an IANA name such as Europe/Berlin, or UTC", name)
	}
	return loc, nil
}
