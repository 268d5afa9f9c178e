package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEmptyListsSaySo(t *testing.T) {
	t.Parallel()
	for line, answer := range map[string]string{
		"alerts list":              `{"alerts":[]}`,
		"alerts silences":          `{"silences":[]}`,
		"alerts silences list":     `{"silences":[]}`,
		"approvals list":           `{"approvals":[]}`,
		"audit list":               `{"entries":[]}`,
		"checks list":              `{"checks":[]}`,
		"config history":           `{"versions":[]}`,
		"config list":              `{"keys":[]}`,
		"cron list":                `{"jobs":[]}`,
		"cron history morning":     `{"instants":[]}`,
		"deliveries list":          `{"deliveries":[]}`,
		"hooks list":               `{"hooks":[]}`,
		"hooks list ci":            `{"requests":[]}`,
		"memory list":              `{"memories":[]}`,
		"memory search plan":       `{"memories":[]}`,
		"memory versions plan":     `{"versions":[]}`,
		"models list":              `{"providers":[]}`,
		"nodes list":               `{"nodes":[]}`,
		"pairing list":             `{"pairings":[]}`,
		"runs list":                `{"runs":[]}`,
		"sessions list":            `[]`,
		"sessions exchanges sess1": `{"exchanges":[]}`,
		"skills check":             `{"skills":[]}`,
		"skills list":              `{"skills":[]}`,
		"usage":                    `{"rows":[]}`,
		"usage budgets":            `{"budgets":[]}`,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, http.StatusOK, "", answer)
			got := execute(t, g.env(), words(line)...)
			require.Zero(t, got.code, "%+v", got)
			require.Regexp(t, `^No [a-z]+ .*\.\n$`, got.out)
			require.NotContains(t, strings.TrimSuffix(got.out, "\n"), "\n")
		})
	}
}
