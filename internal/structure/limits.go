package main

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Kinds of figures.
const (
	kindType      = "type"      // methods of a type
	kindInterface = "interface" // methods of an interface
	kindPackage   = "package"   // lines of a package
)

func kinds() []string { return []string{kindType, kindInterface, kindPackage} }

// figure is one count. A type's name is <package>.<Type>.
type figure struct {
	kind, name string
	count      int
	code       int // lines with code; for packages only
}

const unlimited = math.MaxInt

// limit returns the maximum of a figure.
func limit(f figure) int {
	switch {
	case f.kind == kindType && f.name == "sessions.Session":
		return 60 // its methods are the published step API
	case f.kind == kindType:
		return 40
	case f.kind == kindInterface:
		return 12
	case strings.HasPrefix(f.name, "adapters/"):
		return unlimited // a platform's adapter is as large as its API
	}
	return 3000
}

// entry is a line of over.txt: a figure above its limit, and its allowed maximum.
type entry struct {
	kind, name string
	limit      int
}

const overHeader = `# What is above a limit of internal/structure. A figure may only fall. To lower the figures to today's and drop
# entries that are no longer needed: go run ./internal/structure -update
`

// parseOver reads over.txt: a kind, a name and a figure per line.
func parseOver(text string) ([]entry, error) {
	var over []entry
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 3 || !slices.Contains(kinds(), words[0]) {
			return nil, fmt.Errorf("%s:%d: want a kind (%s), a name and a figure", overFile, n, strings.Join(kinds(), ", "))
		}
		most, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: the figure: %w", overFile, n, err)
		}
		over = append(over, entry{words[0], words[1], most})
	}
	return over, lines.Err()
}

func formatOver(over []entry) string {
	var b strings.Builder
	b.WriteString(overHeader)
	for _, e := range over {
		fmt.Fprintf(&b, "%s %s %d\n", e.kind, e.name, e.limit)
	}
	return b.String()
}

// check compares the figures with the limits and the list. Each fault says what to do.
func check(figures []figure, over []entry) []string {
	var faults []string
	listed := map[[2]string]int{}
	for _, e := range over {
		listed[[2]string{e.kind, e.name}] = e.limit
	}
	for _, f := range figures {
		most, ok := listed[[2]string{f.kind, f.name}]
		delete(listed, [2]string{f.kind, f.name})
		switch {
		case f.count <= limit(f) && ok:
			faults = append(faults, fmt.Sprintf("%s %s is within its limit now: run go run ./internal/structure -update", f.kind, f.name))
		case f.count > limit(f) && !ok:
			faults = append(faults, fmt.Sprintf("%s %s has %d %s, the limit is %d: split it", f.kind, f.name, f.count, strings.ToLower(unit(f.kind)), limit(f)))
		case f.count > limit(f) && f.count > most:
			faults = append(faults, fmt.Sprintf("%s %s grew from %d to %d %s, and its limit is %d: split it", f.kind, f.name, most, f.count, strings.ToLower(unit(f.kind)), limit(f)))
		}
	}
	for key := range listed {
		faults = append(faults, fmt.Sprintf("%s %s is listed in %s and does not exist: run go run ./internal/structure -update", key[0], key[1], overFile))
	}
	slices.Sort(faults)
	return faults
}

// lowered returns the list with the current figures where they fell, and without unneeded entries. It never raises a
// figure.
func lowered(over []entry, figures []figure) []entry {
	var kept []entry
	for _, e := range over {
		for _, f := range figures {
			if f.kind == e.kind && f.name == e.name && f.count > limit(f) {
				kept = append(kept, entry{e.kind, e.name, min(e.limit, f.count)})
			}
		}
	}
	return kept
}
