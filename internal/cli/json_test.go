package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
	"sluice/store/sqlite"
)

// withoutJSON are the only commands without --json, and why.
var withoutJSON = map[string]string{
	"sluice serve":         "it runs until it is stopped, and its log has log.format",
	"sluice node run":      "it runs until it is stopped, and prints what the gateway sends",
	"sluice chat":          "it is a talk with a person; programs use sluice sessions send --json",
	"sluice config schema": "it prints JSON",
}

func TestEachCommandHasJSON(t *testing.T) {
	t.Parallel()
	lack := map[string]string{}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" { // cobra's own: scripts for shells
			return
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		path := cmd.CommandPath()
		if cmd.Flags().Lookup("json") != nil {
			return
		}
		if cmd.HasSubCommands() {
			got := execute(t, nil, strings.Fields(path)[1:]...)
			require.Contains(t, got.out, "Commands:", "%s does something and lacks --json", path)
			return
		}
		require.NotEmpty(t, withoutJSON[path], "%s lacks --json", path)
		lack[path] = withoutJSON[path]
	}
	check(cli.Commands())
	require.Equal(t, withoutJSON, lack, "these have --json")
}

// printed is what a command prints with --json.
func printed(t *testing.T, env map[string]string, code int, args ...string) map[string]any {
	t.Helper()
	got := execute(t, env, append(args, "--json")...)
	require.Equal(t, code, got.code, got.err)
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &object), got.out)
	return object
}

func TestCommandsOfThisMachinePrintJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	env := map[string]string{"SLUICE_STATE": in("state")}
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: in("state")})
	require.NoError(t, err)
	require.NoError(t, db.Close())

	made := printed(t, env, cli.ExitDone, "backup", "--to", in("b.backup"))
	require.Equal(t, in("b.backup"), made["file"])
	require.Equal(t, "sqlite", made["store"])
	require.Equal(t, false, made["encrypted"])
	require.Positive(t, made["bytes"])
	require.Equal(t, cli.ExitUsage, execute(t, env, "backup", "--to", "-", "--json").code)

	require.Contains(t, execute(t, env, "backup", "--to", in("c.backup")).out, "It has no configuration, because no configuration file was found")

	back := printed(t, env, cli.ExitDone, "restore", in("b.backup"), "--check")
	require.Equal(t, false, back["restored"])
	back = printed(t, env, cli.ExitDone, "restore", in("b.backup"), "--replace")
	require.Equal(t, true, back["restored"])
	require.Equal(t, made["created"], back["created"])
	require.DirExists(t, back["kept"].(string))

	require.Equal(t, cli.ExitUsage, execute(t, env, "export", "--json").code)
	none := map[string]any{"file": in("s.jsonl"), "sessions": 0.0, "messages": 0.0}
	require.Equal(t, none, printed(t, env, cli.ExitDone, "export", "--to", in("s.jsonl")))
	require.Equal(t, none, printed(t, env, cli.ExitDone, "import", in("s.jsonl")))

	require.Equal(t, map[string]any{"times": []any{"2026-04-27T07:00:00Z"}}, printed(t, env, cli.ExitDone, "cron", "next", "0 7 * * *", "--timezone", "UTC", "--count", "1"))

	config := in("sluice.yaml")
	require.Equal(t, map[string]any{"config": config, "secrets": []any{}}, printed(t, env, cli.ExitDone, "init", "--yes", "--config", config))
	require.Equal(t, map[string]any{"file": config, "ok": true, "faults": []any{}, "warnings": []any{}}, printed(t, env, cli.ExitDone, "config", "check", config))
	require.Contains(t, printed(t, env, cli.ExitDone, "config", "show"), "gateway")
	require.NoError(t, os.WriteFile(in("bad.yaml"), []byte("gateway: { listn: x }\n"), 0o600))
	bad := printed(t, env, cli.ExitUsage, "config", "check", in("bad.yaml"))
	require.Equal(t, false, bad["ok"])
	require.Equal(t, "gateway.listn", bad["faults"].([]any)[0].(map[string]any)["path"])

	skill := in("ferry")
	require.NoError(t, os.Mkdir(skill, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: ferry\ndescription: when ferries leave\n---\nLook at the table.\n"), 0o600))
	require.NotEmpty(t, printed(t, env, cli.ExitDone, "skills", "keygen", in("key"))["public"])
	signed := printed(t, env, cli.ExitDone, "skills", "sign", skill, "--key", in("key"))
	require.FileExists(t, signed["file"].(string))
	require.Equal(t, map[string]any{
		"name": "ferry", "description": "when ferries leave", "files": 1.0, "bytes": 71.0, "signed": true, "digest": signed["digest"],
	}, printed(t, env, cli.ExitDone, "skills", "check", skill))
}

func TestWhatCommandsDoAtAGatewayAsJSON(t *testing.T) {
	t.Parallel()
	g := newGateway(t, http.StatusOK, "", `{"path":"/in/1"}`)
	require.Equal(t, map[string]any{"address": g.URL + "/in/1", "opened": false}, printed(t, g.env(), cli.ExitDone, "open"))
	require.Equal(t, map[string]any{"channel": "telegram", "account": "default", "user": "1001"}, printed(t, g.env(), cli.ExitDone, "pairing", "revoke", "telegram", "1001"))

	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"node":"laptop","code":"ABCD","expires":"2026-04-26T19:03:16Z"}`)) // the command fails then
	}))
	t.Cleanup(node.Close)
	require.Equal(t, map[string]any{"node": "laptop", "code": "ABCD", "expires": "2026-04-26T19:03:16Z"},
		printed(t, nil, cli.ExitDone, "node", "pair", node.URL, "--state", filepath.Join(t.TempDir(), "node")))
	folder := filepath.Join(t.TempDir(), "other")
	require.Contains(t, execute(t, nil, "node", "pair", node.URL, "--state", folder).out, "sluice node run --state "+folder)

	g = newGateway(t, http.StatusOK, "", `{"skills":[{"name":"a","agent":"main","state":"pinned"},{"name":"b","agent":"main","state":"changed","problem":"SKILL.md is not as it was"}]}`)
	require.Len(t, printed(t, g.env(), cli.ExitFailed, "skills", "check")["skills"], 2)
	require.Equal(t, []any{map[string]any{"name": "a", "agent": "main", "state": "pinned"}}, printed(t, g.env(), cli.ExitDone, "skills", "check", "a")["skills"])
	require.Equal(t, cli.ExitFailed, execute(t, g.env(), "skills", "check", "c", "--json").code)
}
