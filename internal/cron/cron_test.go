package cron_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cron"
)

// long compares every minute of the ten years; without it, the days around each clock change and one whole year.
var long = flag.Bool("long", false, "compare with the second implementation over ten whole years")

var zones = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}

var exprs = []string{
	"* * * * *", "*/5 * * * *", "0 * * * *", "30 * * * *", "0 2 * * *", "30 2 * * *", "15 2 * * *", "45 1 * * *", "0 3 * * *", "30 1 * * *", "59 1,2 * * *",
	"*/7 1-3 * * *", "0 0 * * *", "0 7 * * mon-fri", "0 9 1 * *", "0 9 L * *", "0 9 L-2 * *", "0 9 LW * *", "0 9 15W * *", "0 9 1W * *", "0 9 31W * *",
	"30 2 * * sun", "30 2 * * 0L", "0 8 * * 5#2", "0 8 * * fri#5", "0 8 13 * 5", "0 8 */10 * 5", "0 8 13 * */2", "5/20 6 * jan,jul sat-sun", "0 0 29 2 *", "0 12 1,15,L * 1#1,friL",
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := cron.LoadZone(name)
	require.NoError(t, err)
	return loc
}

func parse(t *testing.T, text string) *cron.Expr {
	t.Helper()
	e, err := cron.Parse(text)
	require.NoError(t, err)
	return e
}

// between lists what an expression names after one time and up to another.
func between(e *cron.Expr, loc *time.Location, from, to time.Time) []time.Time {
	var all []time.Time
	for at := e.Next(from, loc); !at.IsZero() && !at.After(to); at = e.Next(at, loc) {
		all = append(all, at)
	}
	return all
}

func requireSame(t *testing.T, expr string, loc *time.Location, from, to time.Time) {
	t.Helper()
	want, got := brute(expr, loc, from, to), between(parse(t, expr), loc, from, to)
	require.Len(t, got, len(want), "%s in %s from %s", expr, loc, from)
	for i := range want {
		if !want[i].Equal(got[i]) {
			require.Equal(t, want[i].UTC().String(), got[i].UTC().String(), "%s in %s from %s", expr, loc, from)
		}
	}
}

// spans are the times to compare: around each clock change of ten years, and one leap year.
func spans(loc *time.Location) [][2]time.Time {
	begin, end := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC)
	if *long {
		return [][2]time.Time{{begin, end}}
	}
	all := [][2]time.Time{{time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 4, 15, 0, 0, 0, 0, time.UTC)}}
	for at := begin; ; {
		_, change := at.In(loc).ZoneBounds()
		if change.IsZero() || change.After(end) {
			return all
		}
		all = append(all, [2]time.Time{change.Add(-26 * time.Hour), change.Add(26 * time.Hour)})
		at = change
	}
}

func TestAgainstTheSecondImplementation(t *testing.T) {
	t.Parallel()
	for _, name := range zones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := zone(t, name)
			for _, expr := range exprs {
				for _, span := range spans(loc) {
					requireSame(t, expr, loc, span[0], span[1])
				}
			}
		})
	}
}

// Expressions made at random mean the same to both implementations, in any zone.
func TestRandomExpressions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	num := func(low, high int) string { return fmt.Sprint(low + random.IntN(high-low+1)) }
	part := func(low, high int) string {
		a, b := low+random.IntN(high-low+1), low+random.IntN(high-low+1)
		return pick("*", num(low, high), num(low, high)+","+num(low, high), fmt.Sprintf("%d-%d", min(a, b), max(a, b)), "*/"+num(1, high-low), fmt.Sprintf("%d-%d/%s", min(a, b), max(a, b), num(1, 5)))
	}
	tried := 0
	for range 600 {
		expr := strings.Join([]string{
			part(0, 59), part(0, 4), pick("*", "*", part(1, 31), "L", "L-"+num(1, 5), num(1, 31)+"W", "LW"), pick("*", "*", part(1, 12)),
			pick("*", "*", part(0, 7), num(0, 7)+"L", num(0, 6)+"#"+num(1, 5)),
		}, " ")
		if _, err := cron.Parse(expr); err != nil {
			require.ErrorContains(t, err, "never fires", expr)
			continue
		}
		tried++
		loc := zone(t, pick(append(zones, "Pacific/Apia", "Africa/Casablanca", "America/St_Johns", "Asia/Gaza")...))
		from := time.Date(2010+random.IntN(25), time.Month(1+random.IntN(12)), 1+random.IntN(28), 0, 0, 0, 0, time.UTC)
		if _, change := from.In(loc).ZoneBounds(); !change.IsZero() {
			from = change.Add(-time.Duration(random.IntN(30)) * time.Hour)
		}
		requireSame(t, expr, loc, from, from.Add(35*time.Hour))
	}
	require.Greater(t, tried, 400)
}

func FuzzParse(f *testing.F) {
	for _, e := range exprs {
		f.Add(e)
	}
	for e := range faults {
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := cron.Parse(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		from := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
		next := e.Next(from, zone(t, "Europe/Berlin"))
		require.True(t, next.After(from), text)
		if len(strings.Fields(text)) == 5 && next.Sub(from) < 60*24*time.Hour {
			requireSame(t, text, zone(t, "Europe/Berlin"), from, next)
		}
	})
}

var faults = map[string]string{
	"":                        "it has 0 fields",
	"* * * *":                 "it has 4 fields; write 5",
	"* * * * * * *":           "it has 7 fields",
	"60 * * * *":              `column 1 (minute): "60" is not allowed; allowed are 0 to 59`,
	"0 25 * * *":              `column 3 (hour): "25" is not allowed; allowed are 0 to 23`,
	"0  24-25 * * *":          `column 4 (hour): "24" is not allowed`,
	"0 7-25 * * *":            `column 5 (hour): "25" is not allowed`,
	"0 1,2,99 * * *":          `column 7 (hour): "99" is not allowed`,
	"0 7 32 * *":              `column 5 (day of month): "32" is not allowed; allowed are 1 to 31, L, L-1 to L-30`,
	"0 7 32W * *":             `column 5 (day of month): "32W" is not allowed`,
	"0 7 0W * *":              `column 5 (day of month): "0W" is not allowed`,
	"0 7 L-31 * *":            `column 5 (day of month)`,
	"0 7 * foo *":             `column 7 (month): "foo" is not allowed; allowed are 1 to 12 and jan to dec`,
	"0 7 * * 8":               `column 9 (day of week): "8" is not allowed; allowed are 0 to 7 and sun to sat (0 and 7 are Sunday)`,
	"0 7 * * 1#6":             `column 9 (day of week)`,
	"0 7 * * L":               `column 9 (day of week): "L" is not allowed`,
	"5-1 * * * *":             "column 1 (minute): the range 5-1 runs backwards",
	"*/99 * * * *":            `column 3 (minute): "99" is not a valid step; allowed are 1 to 59`,
	"*/0 * * * *":             `column 3 (minute): "0" is not a valid step`,
	"*/ * * * *":              `an empty value is not a valid step`,
	"1,,2 * * * *":            `column 3 (minute): an empty value is not allowed`,
	"? * * * *":               "? is only for days",
	"-1 * * * *":              "an empty value is not allowed",
	"*-5 * * * *":             `column 1 (minute): "*" is not allowed`,
	"0 0 30 2 *":              "it never fires",
	"0 0 31 4,6,9,11 *":       "it never fires",
	"0 0 31W 2 *":             "it never fires",
	"@every 5m":               "for equal intervals, use every: 5m",
	"@reboot":                 "unknown word; allowed are @yearly",
	strings.Repeat("1,", 300): "longer than 500 bytes",
	"0 7 * * mon–fri":         `is not allowed`,
	"+5 * * * *":              `"+5" is not allowed`,
	"0 0 1 1 mon#":            `is not allowed`,
	"0 0 1 1 #1":              `is not allowed`,
	"0 0 0 29 2 * *":          "it has 7 fields",
	"61 0 0 29 2 *":           "column 1 (second)",
	"0 0 1 2 * 2026":          "allowed are 0 to 7",
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for text, want := range faults {
		_, err := cron.Parse(text)
		require.ErrorContains(t, err, want, text)
	}
}

// Each line has an expression, a zone, a time and the three instants after it.
func TestInstants(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", "2026-03-28T02:30:00+01:00 2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00 2026-10-27T02:30:00+01:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", "2026-10-26T02:30:00+01:00 2026-10-27T02:30:00+01:00 2026-10-28T02:30:00+01:00"},
		{"0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00 2026-03-30T03:00:00+02:00"},
		{"*/15 2 * * *", "Australia/Lord_Howe", "2026-10-03T15:00:00Z", "2026-10-04T02:30:00+11:00 2026-10-04T02:45:00+11:00 2026-10-05T02:00:00+11:00"},
		{"15,45 1 * * *", "Australia/Lord_Howe", "2026-04-04T13:00:00Z", "2026-04-05T01:15:00+11:00 2026-04-05T01:45:00+11:00 2026-04-06T01:15:00+10:30"},
		{"0 0 30 12 *", "Pacific/Apia", "2011-01-01T00:00:00Z", "2011-12-31T00:00:00+14:00 2012-12-30T00:00:00+14:00 2013-12-30T00:00:00+14:00"},
		{"0 0 * 2 1#5", "UTC", "2026-01-01T00:00:00Z", "2044-02-29T00:00:00Z 2072-02-29T00:00:00Z 2112-02-29T00:00:00Z"},
		{"*/20 0 7 * * MON-FRI", "UTC", "2026-11-20T07:00:30Z", "2026-11-20T07:00:40Z 2026-11-23T07:00:00Z 2026-11-23T07:00:20Z"},
		{"10 59 23 31 12 *", "UTC", "2026-12-31T23:59:09.5Z", "2026-12-31T23:59:10Z 2027-12-31T23:59:10Z 2028-12-31T23:59:10Z"},
		{"@weekly", "Asia/Kathmandu", "2026-11-20T07:00:30Z", "2026-11-22T00:00:00+05:45 2026-11-29T00:00:00+05:45 2026-12-06T00:00:00+05:45"},
		{"0 8 13 * 5", "UTC", "2026-11-10T00:00:00Z", "2026-11-13T08:00:00Z 2026-11-20T08:00:00Z 2026-11-27T08:00:00Z"},
		{"0 8 ? * sat-sun", "UTC", "2026-11-10T00:00:00Z", "2026-11-14T08:00:00Z 2026-11-15T08:00:00Z 2026-11-21T08:00:00Z"},
		{"0 8 * * sun-sun", "UTC", "2026-11-10T00:00:00Z", "2026-11-15T08:00:00Z 2026-11-22T08:00:00Z 2026-11-29T08:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c[2])
		require.NoError(t, err)
		s := cron.Schedule{Cron: parse(t, c[0]), Zone: zone(t, c[1])}
		var got []string
		for range 3 {
			at = s.Next(at)
			got = append(got, at.Format(time.RFC3339))
		}
		require.Equal(t, c[3], strings.Join(got, " "), c[0])
	}
}

func TestEveryCountsElapsedTime(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	anchor := time.Date(2026, 3, 28, 2, 30, 0, 0, berlin)
	s := cron.Schedule{Every: 24 * time.Hour, Anchor: anchor, Zone: berlin}
	require.Equal(t, anchor, s.Next(anchor.Add(-1)))
	require.Equal(t, "2026-03-29T03:30:00+02:00", s.Next(anchor).Format(time.RFC3339))
	require.Equal(t, "2026-03-29T03:30:00+02:00", s.Next(anchor.Add(24*time.Hour-1)).Format(time.RFC3339))
	require.Equal(t, "2026-03-30T03:30:00+02:00", s.Next(anchor.Add(24*time.Hour)).Format(time.RFC3339))
}

func TestAt(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	for text, want := range map[string]string{
		"2026-12-24T18:00": "2026-12-24T18:00:00+01:00", "2026-12-24 18:00:05": "2026-12-24T18:00:05+01:00", "2026-12-24": "2026-12-24T00:00:00+01:00",
		"2026-12-24T18:00:00Z": "2026-12-24T19:00:00+01:00", "2026-03-29T02:30": "2026-03-29T03:00:00+02:00", "2026-10-25T02:30": "2026-10-25T02:30:00+02:00",
	} {
		at, err := cron.ParseTime(text, berlin)
		require.NoError(t, err, text)
		require.Equal(t, want, at.Format(time.RFC3339), text)
		s := cron.Schedule{At: at}
		require.True(t, at.Equal(s.Next(at.Add(-1))))
		require.True(t, s.Next(at).IsZero())
	}
	for _, text := range []string{"", "tomorrow", "18:00", "2026-02-30", "2026-12-24T25:00"} {
		_, err := cron.ParseTime(text, berlin)
		require.ErrorContains(t, err, "write it as", text)
	}
	for _, name := range []string{"", "Local", "Berlin", "../etc/passwd"} {
		_, err := cron.LoadZone(name)
		require.ErrorContains(t, err, "Europe/Berlin", name)
	}
}
