package archtest_test

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the path that imports of the program's own packages begin with.
var module = func() string {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module ")
}()

// layers is the whole architecture, lowest first. A new package is written
// down here before it can be used.
func layers() [][]string {
	return [][]string{
		{"policy/flow", "agentkit", "internal/alert/intake", "internal/aside", "internal/build", "internal/cron", "internal/expr", "internal/faultpoint", "internal/footprint", "internal/freeport", "internal/glob", "internal/hook/signature", "internal/hostos", "internal/leash", "internal/logs", "internal/node/protocol", "internal/pattern", "internal/pause", "internal/recording", "internal/visible", "internal/archtest"},
		{"internal/alert", "internal/clock", "internal/node", "internal/telemetry", "internal/watermark", "sessions/address"},
		{"sessions/audit", "sessions/message", "sessions/prompt"},
		{"sessions/notes", "sessions/turn", "internal/spending"},
		{"sessions/record", "internal/spending/pricelist", "internal/spending/standing"},
		{"sessions/port"},
		{"sessions", "internal/markdown", "internal/config/bare", "internal/config/given", "internal/config/hint", "internal/config/tags"},
		{"policy", "adapters", "announce", "internal/trouble", "internal/hook", "internal/check", "internal/model/cooldown", "internal/program", "internal/sandbox", "internal/schema", "internal/web"},
		{"policy/condition", "router/ledger", "router/queue", "router/request", "internal/program/command", "internal/program/peer", "internal/document", "internal/picture", "internal/settings", "internal/skill", "internal/workspace"},
		{"router/decider", "router/lanes", "router/place", "router/usertext", "store/engine"},
		{"router/branches", "router/journal", "router/limits", "router/quota", "router/refused", "router/steps"},
		{"router/attach", "router/outbound", "router/exchange"},
		{"router/alert", "router/backtest", "router/checks", "router/disclose", "router/manage", "router/nodes", "router/trigger", "router/work"},
		{"router/job", "router/hook"},
		{"router/jobs"},
		{"router/approvals", "router/commands"},
		{"router/inbound"},
		{"router"},
		{"store/access", "store/alerts", "store/allowrules", "store/cooldowns", "store/limits", "store/marks", "store/memories", "store/nodes", "store/skills", "store/trail", "store/usage", "store/views"},
		{"store", "store/trace", "internal/model/wire", "internal/model/chain"},
		{"internal/model/meter", "internal/selfcheck", "internal/transcript", "internal/model/traced", "internal/model/anthropic", "internal/model/offline", "internal/model/openai"},
		{"internal/httpapi/wire"},
		{"internal/httpapi/auth"},
		{"internal/httpapi/denials", "internal/httpapi/problem"},
		{"internal/httpapi/view"},
		{"adapters/node"},
		{"internal/httpapi/alerts", "internal/httpapi/conversation", "internal/httpapi/files", "internal/httpapi/hooks", "internal/httpapi/mcpserver", "internal/httpapi/nodes", "internal/httpapi/operator", "internal/httpapi/providers", "internal/httpapi/senders", "internal/httpapi/settings", "internal/httpapi/signin", "internal/httpapi/skills", "internal/httpapi/usage"},
		{"internal/model/fallback", "internal/model/near", "internal/httpapi/a2aserver", "internal/httpapi/live", "internal/httpapi/openai", "internal/httpapi/overview", "internal/httpapi/people", "internal/httpapi/policies", "internal/httpapi/why"},
		{"internal/agent/summarize", "internal/agent/roster", "internal/agent/tools"},
		{"internal/agent/visibility", "internal/agent/tools/alerting", "internal/agent/tools/files", "internal/agent/tools/memory", "internal/agent/tools/schedule", "internal/agent/tools/skills", "internal/agent/tools/todo", "internal/agent/tools/webfetch"},
		{"internal/agent/tools/session", "internal/agent/tools/talk", "internal/agent/toolset"},
		{"internal/config/address", "internal/config/scalar"},
		{"internal/config/checks", "internal/config/automation", "internal/config/budgets"},
		{"internal/config/access", "internal/config/telemetry", "internal/config/agents", "internal/config/hooks", "internal/config/alerts", "internal/config/models"},
		{
			"store/sqlite", "store/postgres", "store/storetest",
			"adapters/telegram", "adapters/slack", "adapters/discord", "adapters/webchat", "adapters/template", "adapters/adaptertest", "adapters/adaptertest/wire",
			"internal/agent", "internal/bus", "internal/config", "internal/console", "internal/httpapi",
			"internal/mcp", "internal/model", "internal/supervisor",
		},
		{"internal/config/advice", "internal/voice", "internal/configfile", "internal/starting"},
		{"internal/program/programtest", "internal/backup", "internal/cli/terminal"},
		{"internal/cli/api"},
		{"internal/cli/command"},
		{"internal/cli/archive", "internal/cli/automation", "internal/cli/chat", "internal/cli/complete", "internal/cli/configure", "internal/cli/console", "internal/cli/doctor", "internal/cli/examples", "internal/cli/logs", "internal/cli/models", "internal/cli/node", "internal/cli/policy", "internal/cli/service", "internal/cli/setup", "internal/cli/skills", "internal/cli/usage"},
		{"internal/app", "internal/cli", "internal/config/gen", "store/sqlite/sqlitetest", "sessions/sessiontest", "internal/markdown/markdowntest", "internal/model/modeltest", "internal/sandbox/sandboxtest", "adapters/telegram/telegramtest", "adapters/slack/slacktest", "adapters/discord/discordtest"},
		{"cmd/sluice", "examples/agents/go"},
		{"internal/chaos/completions", "internal/chaos/balancer", "internal/chaos/child"}, // they run the program from outside
		{"internal/attacks", "internal/budget", "internal/chaos", "internal/bench", "internal/mutate", "internal/release", "internal/structure"},
	}
}

// testSupport are packages that only tests import.
func testSupport() []string {
	return []string{
		"store/storetest", "store/sqlite/sqlitetest", "sessions/sessiontest", "adapters/adaptertest", "adapters/adaptertest/wire", "adapters/telegram/telegramtest", "adapters/slack/slacktest", "adapters/discord/discordtest", "adapters/template", "internal/markdown/markdowntest", "internal/model/modeltest", "internal/sandbox/sandboxtest",
		"internal/freeport", "internal/program/programtest", "internal/attacks", "internal/chaos", "internal/chaos/child", "internal/chaos/completions", "internal/chaos/balancer",
	}
}

type pkg struct {
	ImportPath string // without the module
	Imports    []string
	Says       string // the first sentence of its comment
}

// packages reads what the non-test code of each package imports. It reads the
// sources itself, so that a cached result of this test is as old as they are.
func packages(t *testing.T, tags ...string) []pkg {
	t.Helper()
	root := filepath.Join("..", "..")
	sources := build.Default
	sources.BuildTags = tags
	var all []pkg
	err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); dir != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != root {
			return filepath.SkipDir // tools, in modules of their own
		}
		found, err := sources.ImportDir(dir, 0)
		var none *build.NoGoError
		if errors.As(err, &none) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", dir, err)
		}
		if len(found.GoFiles) == 0 {
			return nil // tests alone
		}
		path, err := filepath.Rel(root, dir)
		all = append(all, pkg{filepath.ToSlash(path), found.Imports, found.Doc})
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// own is an import's path in this module; false for others.
func own(path string) (string, bool) { return strings.CutPrefix(path, module+"/") }

func layerOf(path string) int {
	return slices.IndexFunc(layers(), func(layer []string) bool { return slices.Contains(layer, path) })
}

func TestImportsOnlyGoDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t, "faultpoints") {
		from := layerOf(p.ImportPath)
		if from < 0 {
			t.Errorf("%s is in no layer: put it into the table", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			to, ok := own(path)
			if !ok {
				continue
			}
			if at := layerOf(to); at >= from {
				t.Errorf("%s (layer %d) imports %s (layer %d): imports only go down", p.ImportPath, from, to, at)
			}
		}
	}
}

func TestTheProgramHasNoTestCode(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		support := slices.Contains(testSupport(), p.ImportPath) || p.ImportPath == "internal/bench"
		if support {
			continue
		}
		for _, path := range p.Imports {
			to, _ := own(path)
			if path == "testing" || strings.HasPrefix(path, "github.com/stretchr/testify") || slices.Contains(testSupport(), to) {
				t.Errorf("%s imports %s outside of its tests", p.ImportPath, path)
			}
		}
	}
}

func TestTheLowestLayerIsStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t, "faultpoints") {
		if p.ImportPath != "policy/flow" && p.ImportPath != "internal/faultpoint" {
			continue
		}
		for _, path := range p.Imports {
			first, _, _ := strings.Cut(path, "/")
			require.NotContains(t, first, ".", "%s imports %s", p.ImportPath, path)
		}
	}
}

// Nearly every package needs decisions, and few compile rules. CEL is large: what needs it is slower to link, each test program too.
func TestDecisionsNeedNoCEL(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.ImportPath != "policy" {
			continue
		}
		for _, path := range p.Imports {
			require.NotEqual(t, module+"/internal/expr", path)
			require.NotContains(t, path, "cel-go")
		}
	}
}

func TestEachEntryIsAPackageAndStandsOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, path := range slices.Concat(layers()...) {
		require.False(t, seen[path], "%s stands twice", path)
		seen[path] = true
		files, err := filepath.Glob(filepath.Join("..", "..", path, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, "%s has no Go file: take it out of the table", path)
	}
	for _, path := range testSupport() {
		require.True(t, seen[path], "%s is test support and in no layer", path)
	}
}
