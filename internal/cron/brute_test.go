package cron_test

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// brute is the second implementation: it walks the time minute by minute and asks of each local minute that a clock on
// the wall shows for the first time, or skips, whether the words of the expression name it. It knows only five fields. It
// starts early enough to know which hour is a repeated one.
func brute(expr string, loc *time.Location, from, to time.Time) []time.Time {
	words := strings.Fields(strings.ToLower(expr))
	var minutes [60]bool
	for i := range minutes {
		minutes[i] = simple(words[0], i, 0, 59, nil)
	}
	var hours [24]bool
	for i := range hours {
		hours[i] = simple(words[1], i, 0, 23, nil)
	}
	days := map[int]bool{} // what was decided of a day
	named := func(minute int64) bool {
		if !minutes[minute%60] || !hours[minute/60%24] {
			return false
		}
		day := int(minute / 1440)
		known, ok := days[day]
		if !ok {
			known = namedDay(words, time.Unix(int64(day)*86400, 0).UTC())
			days[day] = known
		}
		return known
	}
	var found []time.Time
	var highest int64 // the latest local minute that was seen
	for at := from.Add(-3 * time.Hour).Truncate(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		_, offset := at.In(loc).Zone()
		local := (at.Unix() + int64(offset)) / 60
		if highest == 0 {
			highest = local - 1
		}
		fires := false
		for m := highest + 1; m <= local; m++ {
			fires = fires || named(m)
		}
		highest = max(highest, local)
		if fires && at.After(from) {
			found = append(found, at)
		}
	}
	return found
}

func namedDay(words []string, t time.Time) bool {
	months := []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	if !simple(words[3], int(t.Month()), 1, 12, months) {
		return false
	}
	date, week := false, false
	for _, item := range strings.Split(words[2], ",") {
		date = date || dayOfMonth(item, t)
	}
	for _, item := range strings.Split(words[4], ",") {
		week = week || dayOfWeek(item, t)
	}
	if strings.HasPrefix(words[2], "*") || strings.HasPrefix(words[4], "*") {
		return date && week
	}
	return date || week
}

func dayOfMonth(item string, t time.Time) bool {
	last := t.AddDate(0, 1, -t.Day()).Day()
	if item == "l" {
		return t.Day() == last
	}
	if n, ok := strings.CutPrefix(item, "l-"); ok {
		return t.Day() == last-atoi(n)
	}
	n, ok := strings.CutSuffix(item, "w")
	if !ok {
		return simple(item, t.Day(), 1, 31, nil)
	}
	goal := last
	if n != "l" {
		goal = atoi(n)
	}
	if goal > last || t.Weekday() == time.Saturday || t.Weekday() == time.Sunday {
		return false
	}
	// The working days of the month, the nearest first; no working day is equally near.
	best := 0
	for day := 1; day <= last; day++ {
		on := t.AddDate(0, 0, day-t.Day()).Weekday()
		if on != time.Saturday && on != time.Sunday && (best == 0 || abs(day-goal) < abs(best-goal)) {
			best = day
		}
	}
	return t.Day() == best
}

func dayOfWeek(item string, t time.Time) bool {
	if name, nth, ok := strings.Cut(item, "#"); ok {
		return onWeekday(name, t) && (t.Day()+6)/7 == atoi(nth)
	}
	if name, ok := strings.CutSuffix(item, "l"); ok {
		return onWeekday(name, t) && t.AddDate(0, 0, 7).Month() != t.Month()
	}
	return onWeekday(item, t)
}

func onWeekday(item string, t time.Time) bool {
	names := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	return simple(item, int(t.Weekday()), 0, 7, names) || t.Weekday() == time.Sunday && simple(item, 7, 0, 7, names)
}

// simple reports whether a list names a value.
func simple(list string, value, low, high int, names []string) bool {
	for _, item := range strings.Split(list, ",") {
		item, step, stepped := strings.Cut(item, "/")
		from, to, ranged := strings.Cut(item, "-")
		first, last := low, high
		if from != "*" {
			first = of(from, low, names)
			if !stepped {
				last = first
			}
			if ranged {
				last = of(to, low, names)
			}
			if ranged && last == 0 && high == 7 {
				last = 7
			}
		}
		width := 1
		if stepped {
			width = atoi(step)
		}
		if value >= first && value <= last && (value-first)%width == 0 {
			return true
		}
	}
	return false
}

func of(text string, low int, names []string) int {
	if i := slices.Index(names, text); i >= 0 {
		return low + i
	}
	return atoi(text)
}

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1000
	}
	return n
}

func abs(n int) int { return max(n, -n) }
