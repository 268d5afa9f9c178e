package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// row is one line of the table.
type row struct {
	name   string
	goal   string // empty: no goal
	values []float64
	format func(float64) string
}

// report collects the rows in the order of the measurements.
type report struct {
	rows   []row
	tables []string // further tables, in Markdown
}

// add adds the values of all rounds of one measurement.
func (r *report) add(what, goal string, format func(float64) string, values ...float64) {
	if len(values) == 0 {
		return
	}
	added := row{name: what, goal: goal, format: format, values: slices.Sorted(slices.Values(values))}
	r.rows = append(r.rows, added)
	fmt.Fprintf(os.Stderr, "  %s: %s\n", what, added.text())
}

// median returns the median of the row with this name, or 0 if no row has it.
func (r *report) median(what string) float64 {
	for _, row := range r.rows {
		if row.name == what {
			return middle(row.values)
		}
	}
	return 0
}

// text returns the median, with the range if there were several rounds.
func (r row) text() string {
	text := r.format(middle(r.values))
	if n := len(r.values); n > 1 {
		text += fmt.Sprintf(" (%s–%s)", r.format(r.values[0]), r.format(r.values[n-1]))
	}
	return text
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// markdown returns the table with a description of the machine.
func (r *report) markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s, %d cores (%s), %s, %s/%s\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if len(r.rows) > 0 {
		out.WriteString("| what | measured | goal |\n| --- | --- | --- |\n")
	}
	for _, row := range r.rows {
		fmt.Fprintf(&out, "| %s | %s | %s |\n", row.name, row.text(), row.goal)
	}
	for _, table := range r.tables {
		out.WriteString("\n" + table)
	}
	return out.String()
}

// processor returns the name of the machine's processor according to Linux.
func processor() string {
	name, err := procLine("/proc/cpuinfo", "model name")
	if err != nil {
		return "unknown processor"
	}
	return name
}

// Formats of the units.
func milliseconds(v float64) string { return fmt.Sprintf("%.3g ms", v) }
func megabytes(v float64) string    { return fmt.Sprintf("%.1f MB", v) }
func perSecond(v float64) string    { return fmt.Sprintf("%.0f/s", v) }
func ratio(v float64) string        { return fmt.Sprintf("%.2f", v) }

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
