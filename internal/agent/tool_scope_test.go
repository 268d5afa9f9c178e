package agent_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/internal/sandbox/sandboxtest"
	"sluice/policy/flow"
	"sluice/sessions"
)

// withScope is a bundle whose session sees a part of the shared files, beside files with a marker that it may not see.
func withScope(t *testing.T, access sessions.FileAccess) (b *bundle, shared string) {
	t.Helper()
	sandboxtest.Need(t)
	b, shared = withSession(t, access, flow.Bottom(), func(d *roster.Definition) { d.Sandbox = sessions.SandboxRequired })
	agent := filepath.Dir(shared)
	for _, name := range []string{
		"AGENT.md", "SPINE.md", "sessions/" + string(other) + "/secret", "files/private/key", "files/projects/other/plan", "files/.sessions/" + string(other) + "/x",
		"../sluice.db", "../token", "../../sluice.yaml",
	} {
		file := filepath.Join(agent, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(hiddenText), 0o600))
	}
	for name, text := range map[string]string{"projects/mine/plan": "the plan", "templates/letter": "Dear"} {
		file := filepath.Join(shared, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return b, shared
}

const (
	hiddenText = "marker-of-what-is-hidden"
	other      = sessions.ID("sess_0123456789ab")
)

// A scoped session runs commands. They see the parts of its scope and its own folder, and write where it may.
func TestExecSeesTheScope(t *testing.T) {
	t.Parallel()
	b, shared := withScope(t, sessions.FileAccess{Read: []string{"projects/mine", "templates", "none"}, Write: []string{"projects/mine/out"}})
	part := b.tool(t, "exec", args(t, map[string]any{"command": `
cat projects/mine/plan templates/letter; printf '\n'
echo made >projects/mine/out/made && echo 'out: written'
echo note >$HOME/note && echo 'own: written'
for f in projects/mine/plan projects/mine/new templates/new new projects/new .sessions/new; do echo x 2>/dev/null >$f && echo "$f: written"; done
mv projects/mine away 2>/dev/null && echo moved
rm -rf projects templates 2>/dev/null
find . -type f | sort; pwd`}))
	require.False(t, part.Error, part.Text)
	own := "./.sessions/" + string(b.session.Record().ID)
	require.Contains(t, part.Text, `"stdout":"the planDear\nout: written\nown: written\n`+own+`/note\n./projects/mine/plan\n./templates/letter\n/workspace\n"`, "even what it made it could take away again")
	require.Equal(t, flow.Bottom(), part.Label)
	require.DirExists(t, filepath.Join(shared, "projects/mine/out"))
	require.Equal(t, "note\n", b.tool(t, "read", `{"path":"`+own[2:]+`/note"}`).Text)
	require.NoError(t, os.WriteFile(filepath.Join(shared, "projects/mine/new"), []byte("from elsewhere"), 0o600))
	require.Contains(t, b.tool(t, "exec", `{"command":"cat projects/mine/new"}`).Text, "from elsewhere", "at once")
}

// A session that has learned more than the shared files may hold reads them, also with commands, and writes to its own folder.
func TestExecReadsBelowItsLevel(t *testing.T) {
	t.Parallel()
	b, shared := withScope(t, sessions.WholeWorkspace())
	b.session.Raise(flow.NewLabel(flow.Internal, flow.Trusted))
	part := b.tool(t, "exec", `{"command":"cat templates/letter; echo x >templates/letter; echo x >new; echo y >$HOME/new; cat $HOME/new; ls -A .sessions"}`)
	require.Contains(t, part.Text, `"stdout":"Deary\n`+string(b.session.Record().ID)+`\n"`)
	require.Contains(t, part.Text, "Read-only file system")
	require.NoFileExists(t, filepath.Join(shared, "new"))
	require.Equal(t, flow.Internal, part.Label.Level())
}

// reportDir is where `make security-report` collects what the tests found out.
var reportDir = flag.String("report", "", "write results into this folder")

// scopeRow is the result of a script that tried to leave the scope of its session.
type scopeRow struct {
	Script  string
	Blocked bool
}

// Scripts that know where everything is get to nothing of it.
func TestNoCommandLeavesTheScope(t *testing.T) {
	t.Parallel()
	b, shared := withScope(t, sessions.FileAccess{Read: []string{"projects/mine"}, Write: []string{"projects/mine/out"}})
	agent := filepath.Dir(shared)
	hidden := "files/private/key sessions/" + string(other) + "/secret AGENT.md ../token ../sluice.db"
	var scripts []string
	for name := range strings.FieldsSeq(hidden) {
		path := filepath.Join(agent, name)
		scripts = append(
			scripts,
			"cat "+path, "cat /proc/1/root"+path, "cat /proc/self/root"+path, "cat /proc/1/cwd/"+name, "ln -s "+path+" projects/mine/out/l; cat projects/mine/out/l",
			"ln "+path+" projects/mine/out/h; cat projects/mine/out/h", "cp "+path+" projects/mine/out/c; cat projects/mine/out/c", "tar -cf - "+path, "dd if="+path,
		)
	}
	scripts = append(
		scripts,
		"cat private/key", "cat ./private/../private/key", "cat projects/mine/../../private/key", "cat projects/mine/out/../../../private/key", "cat projects/other/plan", "cat projects/*/plan",
		"cat .sessions/"+string(other)+"/x", "cat .sessions/*/x", "ls -R /workspace; cat /workspace/.sessions/*/*", "cat PRIVATE/KEY", "cd projects/mine/out && cat ../../other/plan",
		"mv projects/mine/out ../../../private projects/mine/out/x; cat projects/mine/out/x/key", "ln -s ../../../private projects/mine/out/p; cat projects/mine/out/p/key", "rmdir projects/mine/out; ln -s /workspace/private projects/mine/out; cat projects/mine/out/key",
		"umount /workspace; cat /workspace/private/key", "umount -l /workspace/.sessions; cat /workspace/.sessions/*/*", "mount --bind / projects/mine/out; cat projects/mine/out/"+agent+"/AGENT.md", "unshare -Urm sh -c 'umount -R /workspace; cat /workspace/private/key'",
		"cat /proc/*/environ", "cat /proc/*/cmdline", "cat /proc/*/mountinfo | grep marker", "for f in /proc/*/fd/*; do cat $f/private/key $f/../private/key $f/AGENT.md; done", "for f in 3 4 5 6 7 8 9; do cat <&$f; done", "for f in 3 4 5 6 7 8 9; do cat /proc/self/fd/$f/../../private/key; done",
		"find / -name key -o -name AGENT.md -o -name token 2>/dev/null | xargs cat", "grep -r marker-of / --exclude-dir=proc 2>/dev/null", "cat /etc/passwd /root/.ssh/* /var/run/*/* "+agent+"/*",
		"mknod projects/mine/out/disk b 8 0; head -c 100 projects/mine/out/disk", "mkfifo projects/mine/out/f; ls projects/mine/out/f", "cat /dev/mem /dev/sda /dev/kmsg", "chroot /proc/1/root cat "+agent+"/AGENT.md", "nsenter -t 1 -m cat "+agent+"/AGENT.md",
	)
	require.Greater(t, len(scripts), 50)
	t.Logf("%d scripts", len(scripts))
	shown := strings.NewReplacer(agent, "WORKSPACE", filepath.Dir(agent), "STATE") // the report names no folder of this machine
	var rows []scopeRow
	for _, script := range scripts {
		part := b.tool(t, "exec", args(t, map[string]any{"command": "(" + script + ") 2>&1; mkdir -p projects/mine/out", "timeoutSeconds": 10}))
		require.NotContains(t, part.Text, hiddenText, script)
		rows = append(rows, scopeRow{shown.Replace(script), !strings.Contains(part.Text, hiddenText)})
	}
	if *reportDir != "" {
		text, err := json.Marshal(rows)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(*reportDir, "scope.json"), text, 0o600))
	}
	content, err := os.ReadFile(filepath.Join(shared, "private/key"))
	require.NoError(t, err)
	require.Equal(t, hiddenText, string(content), "nothing was changed there")
}
