package budget

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// line is what one case may cost in one measure on one database.
type line struct {
	scene, database, measure string
	limit                    float64
	why                      string // the limit was raised
}

func (l line) key() string { return l.scene + " " + l.database + " " + l.measure }

const header = `# What a message may cost: case, database, measure, limit. "make budget" writes this file.
# A limit goes down by itself. To raise one, say why: make budget WHY="the reason". The reason stands behind the limit.
# allocations and bytes are those of the whole test process, with its Telegram server and its model; limits hold with a margin (see margin).
`

func parseLimits(text string) (map[string]line, error) {
	limits := map[string]line{}
	for n, row := range strings.Split(text, "\n") {
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		fields, why, _ := strings.Cut(row, " raised because ")
		f := strings.Fields(fields)
		if len(f) != 4 {
			return nil, fmt.Errorf("line %d: %q: want case, database, measure and limit", n+1, row)
		}
		limit, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: limit: %w", n+1, err)
		}
		l := line{f[0], f[1], f[2], limit, why}
		limits[l.key()] = l
	}
	return limits, nil
}

// rewrite gives the limits after an update: what was measured, with a reason wherever that is above the old limit.
func rewrite(old map[string]line, measured []line, why string) (string, error) {
	var out strings.Builder
	out.WriteString(header)
	var raised []error
	for i, m := range measured {
		if i > 0 && measured[i-1].scene+measured[i-1].database != m.scene+m.database {
			out.WriteString("\n")
		}
		before, known := old[m.key()]
		switch {
		case known && over(m, before) && why == "":
			raised = append(raised, fmt.Errorf("%s: %s, the limit is %s", m.key(), number(m.limit), number(before.limit)))
		case known && over(m, before):
			m.why = fmt.Sprintf("%s (was %s)", why, number(before.limit))
		case known && m.limit >= before.limit: // within the margin
			m.limit, m.why = before.limit, before.why
		}
		fmt.Fprintf(&out, "%-9s %-9s %-12s %8s", m.scene, m.database, m.measure, number(m.limit))
		if m.why != "" {
			out.WriteString(" raised because " + m.why)
		}
		out.WriteString("\n")
	}
	if len(raised) > 0 {
		return "", fmt.Errorf("a limit is raised only with a reason, make budget WHY=\"...\":\n%w", errors.Join(raised...))
	}
	return out.String(), nil
}

// margin is the share by which a figure may be above its limit. Statements are exact. What is allocated depends a
// little on how the network cuts what is read, and when goroutines meet.
func margin(measure string) float64 {
	switch measure {
	case "allocations", "bytes":
		return allocationMargin
	}
	return 0
}

const allocationMargin = 0.03

func over(measured, limit line) bool {
	return measured.limit > limit.limit*(1+margin(limit.measure))+1e-9
}

// below reports a figure that is so low that its limit can follow.
func below(measured, limit line) bool {
	return measured.limit < limit.limit*(1-margin(limit.measure))-1e-9
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// statement is how often a case runs a statement.
type statement struct {
	scene, database, kind, name string
	count                       float64
}

func (s statement) key() string { return s.scene + " " + s.database + " " + s.name }

func formatStatements(all []statement) string {
	var out strings.Builder
	out.WriteString("# The statements of each case: case, database, kind, how often, text. \"make budget\" writes this file; a test that fails says what is new.\n")
	for i, s := range all {
		if i > 0 && all[i-1].scene+all[i-1].database != s.scene+s.database {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s %s %s %s %s\n", s.scene, s.database, s.kind, number(s.count), s.name)
	}
	return out.String()
}

func parseStatements(text string) (map[string]float64, error) {
	known := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		f := strings.SplitN(lines.Text(), " ", 5)
		if len(f) != 5 {
			return nil, fmt.Errorf("%q: want case, database, kind, count and statement", lines.Text())
		}
		count, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			return nil, err
		}
		known[f[0]+" "+f[1]+" "+f[4]] += count
	}
	return known, lines.Err()
}

// more are the statements that a case runs more often than the file says.
func more(all []statement, known map[string]float64) []string {
	var texts []string
	for _, s := range all {
		if before := known[s.key()]; s.count > before {
			texts = append(texts, fmt.Sprintf("%s %s: %s times instead of %s: %s", s.scene, s.database, number(s.count), number(before), s.name))
		}
	}
	slices.Sort(texts)
	return texts
}

func read(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}
