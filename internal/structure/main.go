package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// overFile lists the figures above a limit.
const overFile = "internal/structure/over.txt"

func main() {
	update := flag.Bool("update", false, "lower the figures of "+overFile+" to today's and remove entries that are not needed")
	flag.Parse()
	if err := run(".", *update, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
}

// run measures the module below root and prints the table.
func run(root string, update bool, out io.Writer) error {
	figures, err := measure(root)
	if err != nil {
		return err
	}
	path := filepath.Join(root, filepath.FromSlash(overFile))
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("read the list of what is above the limits: %w", err)
	}
	over, err := parseOver(string(text))
	if err != nil {
		return err
	}
	if update {
		over = lowered(over, figures)
		if err := os.WriteFile(path, []byte(formatOver(over)), 0o600); err != nil {
			return fmt.Errorf("write the list of what is above the limits: %w", err)
		}
	}
	return table(out, figures, over)
}

// shown is the lowest figure with a line in the table.
func shown(kind string) int {
	switch kind {
	case kindType:
		return 21
	case kindInterface:
		return 9
	}
	return 0
}

// table prints the figures, the largest of each kind first, and the broken limits.
func table(out io.Writer, figures []figure, over []entry) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, kind := range kinds() {
		fmt.Fprintf(w, "%s\t%s\tLIMIT\t\n", heading(kind), unit(kind))
		for _, f := range figures {
			if f.kind != kind || f.count < shown(kind) {
				continue
			}
			note := ""
			if f.count > limit(f) {
				note = "above the limit"
			}
			if f.kind == kindPackage {
				note = fmt.Sprintf("%d with code  %s", f.code, note)
			}
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", f.name, f.count, limitText(f), note)
		}
		fmt.Fprintln(w, "\t\t\t")
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print table: %w", err)
	}
	for _, fault := range check(figures, over) {
		fmt.Fprintln(out, fault)
	}
	return nil
}

func heading(kind string) string {
	return map[string]string{kindType: "TYPE", kindInterface: "INTERFACE", kindPackage: "PACKAGE"}[kind]
}

func unit(kind string) string {
	if kind == kindPackage {
		return "LINES"
	}
	return "METHODS"
}

func limitText(f figure) string {
	if l := limit(f); l < unlimited {
		return strconv.Itoa(l)
	}
	return "none"
}

// largestFirst sorts figures: kinds in their order, within one the largest first.
func largestFirst(figures []figure) {
	order := kinds()
	slices.SortFunc(figures, func(a, b figure) int {
		if a.kind != b.kind {
			return slices.Index(order, a.kind) - slices.Index(order, b.kind)
		}
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.name, b.name)
	})
}
