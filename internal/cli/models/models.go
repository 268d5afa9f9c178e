// Package models prints the providers of models, and which of their keys and models do not work.
package models

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

// List prints the providers with their keys, then the models.
func List(s terminal.Screen, got api.ProviderList) error {
	var keys, models [][]string
	for _, p := range got.Providers {
		for _, k := range p.Keys {
			keys = append(keys, []string{p.Name, k.Name, p.Classification, terminal.Line(p.Region), terminal.Line(p.Host), says(s, k.Problem)})
			for i := range k.Models {
				keys = append(keys, []string{p.Name, k.Name, p.Classification, "", terminal.Line(k.Models[i].Model), says(s, &k.Models[i])})
			}
		}
		for _, m := range p.Models {
			window := ""
			if m.ContextWindow > 0 {
				window = strconv.Itoa(m.ContextWindow)
			}
			models = append(models, []string{terminal.Line(m.Name), window, strings.Join(m.Has, " "), strings.Join(m.Lacks, " ")})
		}
	}
	if len(got.Providers) == 0 {
		return s.Printf("No model providers found. Add them under \"models.providers\" in the configuration.")
	}
	if err := table(s, keys, "PROVIDER", "KEY", "LEVEL", "REGION", "AT", "PROBLEM"); err != nil || len(models) == 0 {
		return err
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	return table(s, models, "MODEL", "CONTEXT", "HAS", "LACKS")
}

// says describes a problem.
func says(s terminal.Screen, p *api.ProviderProblem) string {
	switch {
	case p == nil:
		return ""
	case p.Until.IsZero():
		return p.Text + ", since " + s.Ago(p.Since) + "; not used until it is cleared"
	}
	return p.Text + ", since " + s.Ago(p.Since) + "; asked again at " + p.Until.Local().Format(time.TimeOnly)
}

// Check prints what the keys of a provider answered.
func Check(s terminal.Screen, got api.ProviderCheck) error {
	rows := make([][]string, len(got.Results))
	for i, r := range got.Results {
		word := "works"
		if !r.OK {
			word = terminal.Line(r.Error)
		}
		rows[i] = []string{terminal.Line(r.Model), r.Key, fmt.Sprintf("%d ms", r.Millis), word}
	}
	return table(s, rows, "MODEL", "KEY", "TIME", "RESULT")
}

// Cleared prints what is asked again.
func Cleared(s terminal.Screen, got api.Cleared) error {
	if len(got.Cleared) == 0 {
		return s.Printf("There is nothing to clear: no key or model has failed.")
	}
	return s.Printf("Used again: %s", terminal.Line(strings.Join(got.Cleared, ", ")))
}

func table(s terminal.Screen, rows [][]string, head ...string) error {
	return terminal.Rows(s, head, rows, func(row []string) []string { return row })
}
