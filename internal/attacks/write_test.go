//go:build report

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
	var corpus []attackRow
	var work []benignRow
	var costs []costRow
	var mutants []struct{ Checkpoint, Attack, Seen string }
	var scope []scopeRow
	var two twoRuns
	for name, into := range map[string]any{
		"corpus.json": &corpus, "benign.json": &work, "cost.json": &costs, "mutants.json": &mutants, "scope.json": &scope,
		"tworun.json": &two.calls, "talk.json": &two.talk, "commands.json": &two.commands, "threads.json": &two.threads, "leaks.json": &two.leaks,
	} {
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
	writeScope(&out, scope)
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
	out.WriteString("\nThe target is a p99 of at most 100 µs for a tool call. The time is that of the decision alone, without the store, with as much in memory as an idle gateway holds.\n\n## Checkpoints\n\nEach is taken away once; the attack then succeeds.\n\n| checkpoint | attack | seen in |\n| --- | --- | --- |\n")
	for _, m := range mutants {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", m.Checkpoint, m.Attack, m.Seen)
	}
	two.write(&out)
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

// scopeRow is the result of a script that tried to leave the scope of its session.
type scopeRow struct {
	Script  string
	Blocked bool
}

func writeScope(out *strings.Builder, rows []scopeRow) {
	read := 0
	for _, r := range rows {
		if !r.Blocked {
			read++
		}
	}
	fmt.Fprintf(out, `## Workspace

A session that may read `+"`projects/mine`"+` and write `+"`projects/mine/out`"+` runs commands that know all paths. They try to read other shared files, the folder of another session, the agent's instructions, the gateway's token and its
database (`+"`TestNoCommandLeavesTheScope`"+`): %d attempts, %d succeeded.

| command | result |
| --- | --- |
`, len(rows), read)
	for _, r := range rows {
		result := "nothing read"
		if !r.Blocked {
			result = "**read**"
		}
		fmt.Fprintf(out, "| `%s` | %s |\n", strings.ReplaceAll(r.Script, "|", "\\|"), result)
	}
	out.WriteString("\n")
}

// twoRuns is what the comparisons of two runs have shown.
type twoRuns struct {
	calls, talk, commands, threads twoRunRow
	leaks                          []struct{ Leak, Found, Why string }
}

func (two twoRuns) write(out *strings.Builder) {
	fmt.Fprintf(out, `
## Noninterference

Random programs run twice: low sessions do the same in both runs, high ones something else, more of it or less, in sessions of which some are there in one run alone; the gateway ends and comes again between the steps. All that low sessions
are told is the same, byte for byte: texts, errors, labels, counts, orders.

- %s: %d calls of tools in %d programs, most of them about what is hidden or not there.
- %s: %d orders in %d programs, in which agents ask each other, start sub-agents and answer people, and one of those who are asked learns more than who has asked may know.
- %s: %d orders in %d programs, in which people give commands and decide about calls of a session that knows more.
- %s: %d orders in %d programs, in which people open threads in the conversation of a session that knows more, and quote others.
- %s compares the answers of the HTTP API and its event streams so, and %s those of memory.

A check is taken away, and the programs have to notice:

| taken away | found by |
| --- | --- |
`, "`TestTwoRunNoninterference`", two.calls.Calls, two.calls.Programs, "`TestTwoRunTalk`", two.talk.Calls, two.talk.Programs,
		"`TestTwoRunCommands`", two.commands.Calls, two.commands.Programs, "`TestTwoRunThreads`", two.threads.Calls, two.threads.Programs, "`internal/app`", "`store/storetest`")
	for _, l := range two.leaks {
		if l.Found != "" {
			fmt.Fprintf(out, "| %s | %s |\n", codeOf(l.Leak), l.Found)
		}
	}
	out.WriteString("\nWhat two runs can't find by their nature:\n\n| taken away | why |\n| --- | --- |\n")
	for _, l := range two.leaks {
		if l.Found == "" {
			fmt.Fprintf(out, "| %s | %s |\n", codeOf(l.Leak), l.Why)
		}
	}
}

// codeOf shows a checkpoint's name as code; other words stay as they are.
func codeOf(leak string) string {
	if strings.Contains(leak, " ") {
		return leak
	}
	return "`" + leak + "`"
}
