package cron

import "time"

// reach is more than any zone differs from UTC.
const reach = 24 * time.Hour

// instant is when a local time occurs in a zone: the first time if it occurs twice, and the first instant after the
// clock change if the change skips it. It never decreases when the local time grows.
func instant(w wall, loc *time.Location) time.Time {
	utc := time.Date(w.year, time.Month(w.month), w.day, w.hour, w.minute, w.second, 0, time.UTC)
	at := utc.Add(-reach).In(loc)
	for {
		start, end := at.ZoneBounds()
		_, offset := at.Zone()
		found := utc.Add(-time.Duration(offset) * time.Second)
		switch {
		case !start.IsZero() && found.Before(start):
			return start.In(loc)
		case end.IsZero() || found.Before(end):
			return found.In(loc)
		}
		at = end
	}
}
