package chaos_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/chaos"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	a, b := chaos.Token(1, 0, 0xabcdef), chaos.Token(1, 1, 7)
	said := []chaos.Said{{Chat: 1, Token: a}, {Chat: 1, Token: b}}
	late := []chaos.Said{{Chat: 1, Token: a, Late: true}, {Chat: 1, Token: b}}
	tests := map[string]struct {
		said    []chaos.Said // nil for said
		sent    []string
		unknown []string
		faults  int
	}{
		"each answered":                {sent: []string{"echo: " + a, "echo: " + b}},
		"both in one answer":           {sent: []string{a + "\n" + b}},
		"one lost":                     {sent: []string{a}, faults: 1},
		"all lost":                     {faults: 2},
		"repeat without excuse":        {sent: []string{a, a, b}, faults: 1},
		"repeat of an unknown send":    {sent: []string{a, a, b}, unknown: []string{"echo: " + a}},
		"two repeats, one excuse":      {sent: []string{a, a, a, b}, unknown: []string{a}, faults: 1},
		"repeat excused by another":    {sent: []string{a, a, b}, unknown: []string{b}, faults: 1},
		"unknown that had not arrived": {sent: []string{a, b}, unknown: []string{a}},
		"order changed":                {sent: []string{b, a}, faults: 1},
		"overtaken on the way":         {said: late, sent: []string{b, a}},
		"overtaken and lost":           {said: late, sent: []string{b}, faults: 1},
		"late repeat keeps the order":  {sent: []string{a, b, a}, unknown: []string{a}},
		"word of its own":              {sent: []string{a, "I am sorry.", b}, faults: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.said == nil {
				tt.said = said
			}
			verdict := chaos.Judge(tt.said, map[int64][]string{1: tt.sent})
			require.Len(t, verdict.Faults(tt.unknown), tt.faults)
		})
	}
}
