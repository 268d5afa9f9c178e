package cron

import (
	"time"
)

// Expr is a cron expression: sets of seconds, minutes, hours, days and months. It is safe for concurrent use.
type Expr struct {
	text                    string
	second, minute, hour    uint64
	month                   uint64
	days                    monthDays
	weekdays                weekDays
	anyMonthDay, anyWeekDay bool // the field begins with a star, so that only the other field decides
}

// monthDays is the field "day of month".
type monthDays struct {
	set         uint64
	nearest     uint64 // nW: the working day nearest to day n
	fromLast    uint64 // L-n: n days before the last day; bit 0 is L
	lastWorking bool   // LW
}

// weekDays is the field "day of week".
type weekDays struct {
	set  uint64 // Sunday is bit 0
	nth  [6]uint64
	last uint64 // nL: the last such day of the month
}

// String is the expression as it was written.
func (e *Expr) String() string { return e.text }

// cycle is the number of years after which the calendar repeats.
const cycle = 400

// Next returns the first instant after a time, in loc. It returns the zero time if the expression never matches again.
func (e *Expr) Next(after time.Time, loc *time.Location) time.Time {
	wall := wallOf(after.In(loc))
	last := wall.year + cycle
	for {
		found, ok := e.match(wall, last)
		if !ok {
			return time.Time{}
		}
		if at := instant(found, loc); at.After(after) {
			return at
		}
		wall = found.next()
	}
}

// wall is a local time as a clock on the wall shows it.
type wall struct {
	year, month, day     int
	hour, minute, second int
}

func wallOf(t time.Time) wall {
	return wall{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()}
}

// next is the following second.
func (w wall) next() wall {
	return wallOf(time.Date(w.year, time.Month(w.month), w.day, w.hour, w.minute, w.second+1, 0, time.UTC))
}

// match is the first local time from w on that the expression names, in years up to last.
func (e *Expr) match(w wall, last int) (wall, bool) {
	for w.year <= last {
		if !has(e.month, w.month) {
			w = wall{year: w.year, month: w.month + 1, day: 1}
			if w.month > 12 {
				w.year, w.month = w.year+1, 1
			}
			continue
		}
		day := lowest(e.daysOf(w.year, w.month), w.day)
		if day < 0 {
			w = wall{year: w.year, month: w.month + 1, day: 1}
			if w.month > 12 {
				w.year, w.month = w.year+1, 1
			}
			continue
		}
		if day > w.day {
			w = wall{year: w.year, month: w.month, day: day}
		}
		if found, ok := e.clock(w); ok {
			return found, true
		}
		w = wall{year: w.year, month: w.month, day: w.day + 1} // the 32nd is beyond every set
	}
	return wall{}, false
}

// clock is the first time from w on, on the same day.
func (e *Expr) clock(w wall) (wall, bool) {
	hour := lowest(e.hour, w.hour)
	if hour < 0 {
		return wall{}, false
	}
	if hour > w.hour {
		w.hour, w.minute, w.second = hour, 0, 0
	}
	minute := lowest(e.minute, w.minute)
	if minute > w.minute {
		w.second = 0
	}
	second := -1
	if minute >= 0 {
		w.minute = minute
		second = lowest(e.second, w.second)
	}
	if second >= 0 {
		w.second = second
		return w, true
	}
	if minute >= 0 && w.minute < 59 {
		w.minute, w.second = w.minute+1, 0
		return e.clock(w)
	}
	if w.hour < 23 {
		w.hour, w.minute, w.second = w.hour+1, 0, 0
		return e.clock(w)
	}
	return wall{}, false
}

// daysOf is the set of days of a month. If both fields of days are restricted, either may match.
func (e *Expr) daysOf(year, month int) uint64 {
	length := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	first := int(time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC).Weekday())
	byMonth := e.days.in(length, first)
	byWeek := e.weekdays.in(length, first)
	if e.anyMonthDay || e.anyWeekDay {
		return byMonth & byWeek
	}
	return byMonth | byWeek
}

// in is the set of days in a month of a length whose first day is a weekday.
func (d monthDays) in(length, first int) uint64 {
	all := d.set & below(length)
	for day := 1; day <= length; day++ {
		if has(d.nearest, day) {
			all |= bit(working(day, length, first))
		}
		if has(d.fromLast, length-day) {
			all |= bit(day)
		}
	}
	if d.lastWorking {
		all |= bit(working(length, length, first))
	}
	return all
}

// working is the working day nearest to a day, in the same month.
func working(day, length, first int) int {
	switch weekday(day, first) {
	case time.Saturday:
		if day == 1 {
			return 3
		}
		return day - 1
	case time.Sunday:
		if day == length {
			return day - 2
		}
		return day + 1
	}
	return day
}

func (d weekDays) in(length, first int) uint64 {
	var all uint64
	for day := 1; day <= length; day++ {
		on := int(weekday(day, first))
		if has(d.set, on) || has(d.nth[(day-1)/7+1], on) || day+7 > length && has(d.last, on) {
			all |= bit(day)
		}
	}
	return all
}

func weekday(day, first int) time.Weekday { return time.Weekday((first + day - 1) % 7) }

func bit(n int) uint64 { return 1 << uint(n) }

func has(set uint64, n int) bool { return set&bit(n) != 0 }

// below is the set of 1 to n.
func below(n int) uint64 { return bit(n+1) - 2 }

// lowest returns the smallest member of a set that is at least n, or -1 if all members are smaller.
func lowest(set uint64, n int) int {
	for ; n < 64; n++ {
		if has(set, n) {
			return n
		}
	}
	return -1
}
