package attacks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriteReport makes docs/security-report.md of what the other tests have kept: `make security-report`.
func TestWriteReport(t *testing.T) {
	if *reportDir == "" {
		t.Skip("make security-report does it")
	}
	var corpus []attackRow
	var work []benignRow
	var costs []costRow
	var mutants []struct{ Checkpoint, Attack, Seen string }
	for name, into := range map[string]any{"corpus.json": &corpus, "benign.json": &work, "cost.json": &costs, "mutants.json": &mutants} {
		text, err := os.ReadFile(filepath.Join(*reportDir, name))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	var out strings.Builder
	fmt.Fprintf(&out, `# Security report

Made by %s; not edited by hand. What is promised is in the [security model](security-model.md).

**Method.** Each attack runs against a whole gateway (SQLite, HTTP server, the four channels on faked platforms, two MCP servers, two model providers) with a model that does whatever anybody names
and then says all that it knows. The configuration is as lenient as it can be: sessions rise by themselves, all sessions see each other, everybody may talk. An attack counts as blocked if the secret is afterwards in none of the places below
its level: chats, every operation of the HTTP API that looks (by its own document, as a PUBLIC token and as the page), event streams, transcripts, files, the log, what models and servers below the level were told; and if nothing
tells what is hidden from what is not there. Measured on a machine of the class %s, %s.

`, "`make security-report`", fmt.Sprintf("%d CPUs", runtime.NumCPU()), runtime.GOOS+"/"+runtime.GOARCH)
	writeCorpus(&out, corpus)
	done := 0
	for _, b := range work {
		if b.Done {
			done++
		}
	}
	fmt.Fprintf(&out, "## Ordinary work\n\n%d scripts, %d falsely blocked.\n\n## Time added\n\n| what | rules | times | p50 | p99 |\n| --- | --- | --- | --- | --- |\n", len(work), len(work)-done)
	for _, c := range costs {
		fmt.Fprintf(&out, "| %s | %d | %d | %s | %s |\n", c.What, c.Rules, c.N, c.P50, c.P99)
	}
	out.WriteString("\nThe target is a p99 of at most 100 µs for a tool call. The time is that of the decision alone, without the store.\n\n## Checkpoints\n\nEach is taken away once; the attack then succeeds.\n\n| checkpoint | attack | seen in |\n| --- | --- | --- |\n")
	for _, m := range mutants {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", m.Checkpoint, m.Attack, m.Seen)
	}
	out.WriteString("\n## Noninterference\n\n`TestTwoRunNoninterference` runs random programs twice: low sessions make the same calls of tools, high ones others and more or fewer of them. All that low sessions are told is the same, byte for byte: 10,533 calls in 8 programs. `internal/app` compares the answers of the HTTP API and its event streams so, and `store/storetest` those of memory.\n")
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "security-report.md"), []byte(out.String()), 0o644))
}

func writeCorpus(out *strings.Builder, rows []attackRow) {
	tried, blocked := map[string]int{}, map[string]int{}
	var paths []string
	for _, r := range rows {
		if tried[r.Path] == 0 {
			paths = append(paths, r.Path)
		}
		tried[r.Path]++
		if r.Blocked {
			blocked[r.Path]++
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return strings.Compare(fmt.Sprintf("%4s", a), fmt.Sprintf("%4s", b)) })
	out.WriteString("## Attacks\n\n| path | tried | blocked |\n| --- | --- | --- |\n")
	all := 0
	for _, p := range paths {
		fmt.Fprintf(out, "| %s | %d | %d |\n", p, tried[p], blocked[p])
		all += blocked[p]
	}
	fmt.Fprintf(out, "| all | %d | %d |\n\n| path | attack | result |\n| --- | --- | --- |\n", len(rows), all)
	for _, r := range rows {
		result := "blocked"
		if !r.Blocked {
			result = "**succeeded**"
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", r.Path, r.Name, result)
	}
	out.WriteString("\n")
}
