package service

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
)

var update = flag.Bool("update", false, "write the unit of the packages")

// calls records the programs that a manager runs.
type calls struct {
	list    []string
	answers map[string]string
	fails   map[string]error
}

func (c *calls) run(_ context.Context, name string, args ...string) (string, error) {
	call := strings.Join(append([]string{name}, args...), " ")
	c.list = append(c.list, call)
	return c.answers[call], c.fails[call]
}

// bundle is a home folder with the commands.
type bundle struct {
	home   string
	out    *bytes.Buffer
	calls  *calls
	loader config.Loader
	cmds   *commands
}

func setup(t *testing.T, env map[string]string) *bundle {
	t.Helper()
	b := &bundle{home: t.TempDir(), out: &bytes.Buffer{}, calls: &calls{answers: map[string]string{}, fails: map[string]error{}}}
	getenv := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	b.loader = config.Loader{Getenv: getenv, Home: b.home, Dir: b.home, System: filepath.Join(b.home, "etc")}
	locator := &api.Locator{Loader: b.loader, HTTP: http.DefaultClient}
	b.cmds = &commands{
		loader: b.loader, locator: locator, screen: terminal.Screen{Out: b.out, Err: io.Discard},
		manager: newSystemd(filepath.Join(b.home, ".config"), b.calls.run),
	}
	return b
}

// The commands of another folder find the configuration and the state of a service.
func TestOtherCommandsFindTheService(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"SLUICE_STATE": ""})
	project := t.TempDir()
	file := filepath.Join(project, "my.yaml")
	require.NoError(t, os.WriteFile(file, []byte("gateway: { listen: 127.0.0.1:9911 }\nstate: "+project+"/state\n"), 0o600))
	b.cmds.locator.Config = file
	require.NoError(t, b.cmds.install(t.Context()))

	unit, err := os.ReadFile(filepath.Join(b.home, ".config/systemd/user/sluice.service"))
	require.NoError(t, err)
	require.Contains(t, string(unit), "Environment=SLUICE_CONFIG="+file+"\n")
	require.Contains(t, string(unit), "WantedBy=default.target")
	require.NotContains(t, string(unit), "User=")
	require.Equal(t, []string{"systemctl --user daemon-reload", "systemctl --user enable sluice.service", "systemctl --user restart sluice.service"}, b.calls.list)

	other := &api.Locator{Loader: b.loader, HTTP: http.DefaultClient}
	cfg, err := other.Load()
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:9911", cfg.Gateway.Listen)
	require.Equal(t, project+"/state", cfg.State)

	require.NoError(t, b.cmds.uninstall(t.Context()))
	require.NoFileExists(t, filepath.Join(b.home, ".config/systemd/user/sluice.service"))
	require.FileExists(t, file)
	path, _, err := other.Find()
	require.NoError(t, err)
	require.Empty(t, path)
	require.NoError(t, b.cmds.uninstall(t.Context()), "twice")
}

// Programs that install and remove the service read what was done.
func TestInstallAndUninstallAsJSON(t *testing.T) {
	t.Parallel()
	b := setup(t, map[string]string{"SLUICE_STATE": "/s"})
	b.cmds.asJSON = true
	require.NoError(t, b.cmds.install(t.Context()))
	program, err := os.Executable()
	require.NoError(t, err)
	program, err = filepath.EvalSymlinks(program)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &got))
	require.Contains(t, got["text"], "starts when you log in")
	delete(got, "text")
	require.Equal(t, map[string]any{"system": false, "program": program, "state": "/s"}, got)

	b.out.Reset()
	require.NoError(t, b.cmds.uninstall(t.Context()))
	require.JSONEq(t, `{"system":false,"text":"The service is removed. Its configuration and state are still there."}`, b.out.String())
}

// A record with a state folder counts for commands, but what a person says counts more.
func TestStateOfTheService(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	b := setup(t, map[string]string{"SLUICE_STATE": state})
	require.NoError(t, b.cmds.install(t.Context()))
	found, err := (&api.Locator{Loader: config.Loader{Getenv: func(string) (string, bool) { return "", false }, Home: b.home, Dir: b.home}}).Load()
	require.NoError(t, err)
	require.Equal(t, state, found.State)
	elsewhere, err := (&api.Locator{Loader: config.Loader{Getenv: func(name string) (string, bool) { return map[string]string{"SLUICE_STATE": "/elsewhere"}[name], true }, Home: b.home, Dir: b.home}}).Load()
	require.NoError(t, err)
	require.Equal(t, "/elsewhere", elsewhere.State)
}

// A machine's gateway is found after the person's own.
func TestMachinesConfigurationIsFoundLast(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	require.NoError(t, os.MkdirAll(b.loader.System, 0o700))
	file := filepath.Join(b.loader.System, config.FileName)
	require.NoError(t, os.WriteFile(file, []byte("state: /var/lib/sluice\n"), 0o600))
	path, _, err := b.cmds.locator.Find()
	require.NoError(t, err)
	require.Equal(t, file, path)

	own := filepath.Join(b.home, ".local/share/sluice")
	require.NoError(t, os.MkdirAll(own, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(own, "token"), []byte("t"), 0o600))
	path, _, err = b.cmds.locator.Find()
	require.NoError(t, err)
	require.Empty(t, path, "this person has a gateway without a configuration")
}

func TestInstallRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	file := filepath.Join(b.home, "sluice.yaml")
	require.NoError(t, os.WriteFile(file, []byte("gateway: { listen: x }\n"), 0o600))
	var faults config.Faults
	require.ErrorAs(t, b.cmds.install(t.Context()), &faults)
	require.Empty(t, b.calls.list, "nothing was changed")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	ready := http.StatusOK
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(ready) }))
	t.Cleanup(gateway.Close)
	b := setup(t, map[string]string{"SLUICE_URL": gateway.URL})
	const show = "systemctl --user show --property=LoadState,ActiveState,SubState,MainPID,Result sluice.service"
	for _, c := range []struct {
		answer, said string
		code         int
		err          error
	}{
		{"LoadState=loaded\nActiveState=active\nMainPID=7\n", "The service runs (process 7).\nThe gateway is ready.\n", http.StatusOK, nil},
		{"LoadState=loaded\nActiveState=active\nMainPID=7\n", "The service runs (process 7).\nthe gateway at " + gateway.URL + " is not ready: sluice status says why\n", http.StatusServiceUnavailable, terminal.ErrReported},
		{"LoadState=not-found\nActiveState=inactive\n", "The service is not installed: sluice service install\n", http.StatusOK, terminal.ErrReported},
		{"LoadState=loaded\nActiveState=failed\nSubState=failed\nResult=exit-code\n", "The service does not run: failed (failed, exit-code).\n", http.StatusOK, terminal.ErrReported},
	} {
		b.out.Reset()
		ready, b.calls.answers[show] = c.code, c.answer
		require.ErrorIs(t, b.cmds.status(t.Context()), c.err)
		require.Equal(t, c.said, b.out.String())
	}
	b.out.Reset()
	b.cmds.asJSON, b.calls.answers[show] = true, "LoadState=loaded\nActiveState=active\nMainPID=7\n"
	require.NoError(t, b.cmds.status(t.Context()))
	require.JSONEq(t, `{"running":true,"ready":true,"text":"The service runs (process 7).\nThe gateway is ready."}`, b.out.String())
	b.calls.fails[show] = errors.New("systemctl is not installed on this machine")
	require.ErrorContains(t, b.cmds.status(t.Context()), "systemctl is not installed")
}

// packaged is the service of the .deb and the .rpm.
var packaged = Spec{System: true, Program: "/usr/bin/sluice", Config: "/etc/sluice/sluice.yaml", State: "/var/lib/sluice"}

// The packages' unit is the one that the command installs.
func TestPackagesHaveTheUnitOfTheCommand(t *testing.T) {
	t.Parallel()
	const unit, users = "../../../deploy/systemd/sluice.service", "../../../deploy/systemd/sluice.sysusers"
	if *update {
		require.NoError(t, os.WriteFile(unit, []byte(Unit(packaged)), 0o600))
		require.NoError(t, os.WriteFile(users, []byte(SystemUser), 0o600))
	}
	for file, want := range map[string]string{unit: Unit(packaged), users: SystemUser} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, want, string(text), "run: go test ./internal/cli/service -update")
	}
}

func TestSystemInstallNeedsItsUserAndItsFolders(t *testing.T) {
	t.Parallel()
	const readable = "runuser -u sluice -- test -r /etc/sluice/sluice.yaml"
	dir := t.TempDir()
	c := &calls{answers: map[string]string{}, fails: map[string]error{}}
	m := &systemd{run: c.run, system: filepath.Join(dir, "units"), users: filepath.Join(dir, "users")}
	started := []string{"systemctl daemon-reload", "systemctl enable sluice.service", "systemctl restart sluice.service"}
	created := packaged
	created.Created = true
	_, err := m.install(t.Context(), created)
	require.NoError(t, err)
	require.Equal(t, append([]string{"systemd-sysusers sluice.conf", "chown root:sluice /etc/sluice/sluice.yaml", readable}, started...), c.list)
	require.FileExists(t, filepath.Join(dir, "users", "sluice.conf"))

	c.list = nil
	_, err = m.install(t.Context(), packaged)
	require.NoError(t, err)
	require.Equal(t, append([]string{"systemd-sysusers sluice.conf", readable}, started...), c.list, "a file that was there keeps its owner")

	c.list, c.fails[readable] = nil, errors.New("exit status 1")
	_, err = m.install(t.Context(), packaged)
	require.ErrorContains(t, err, "can't read /etc/sluice/sluice.yaml")
	require.Equal(t, []string{"systemd-sysusers sluice.conf", readable}, c.list, "nothing was started")
}

// systemd reads back what was written: it expands % and quotes, but no variables.
func TestUnitQuotesPaths(t *testing.T) {
	t.Parallel()
	unit := Unit(Spec{Program: "/opt/my $programs/sluice", Config: `/a "b" 100%/$x.yaml`, State: "/s/$HOME"})
	require.Contains(t, unit, `ExecStart="/opt/my $programs/sluice" serve`)
	require.Contains(t, unit, `Environment="SLUICE_CONFIG=/a \"b\" 100%%/$x.yaml"`)
	require.Contains(t, unit, "Environment=SLUICE_STATE=/s/$HOME\n")
}

func TestLaunchd(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := &calls{answers: map[string]string{}, fails: map[string]error{}}
	m := newLaunchd(home, "", c.run)
	text, running, err := m.status(t.Context(), false)
	require.NoError(t, err)
	require.False(t, running)
	require.Contains(t, text, "not installed")
	_, err = m.install(t.Context(), Spec{Program: "/Applications/a & b/sluice", State: "/s"})
	require.NoError(t, err)
	require.Len(t, c.list, 2)
	require.Contains(t, c.list[1], "launchctl bootstrap gui/")
	plist, err := os.ReadFile(filepath.Join(home, "Library/LaunchAgents/sluice.gateway.plist"))
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(plist, new(struct {
		XMLName xml.Name `xml:"plist"`
	})))
	require.Contains(t, string(plist), "<string>/Applications/a &amp; b/sluice</string><string>serve</string>")
	require.NotContains(t, string(plist), "SLUICE_CONFIG")
	require.NotContains(t, string(plist), "UserName")
	c.answers[strings.Replace(c.list[0], "bootout", "print", 1)] = "sluice.gateway = {\n\tstate = running\n\tpid = 42\n}"
	text, running, err = m.status(t.Context(), false)
	require.NoError(t, err)
	require.True(t, running, text)
	require.NoError(t, m.uninstall(t.Context(), false))
	require.NoFileExists(t, filepath.Join(home, "Library/LaunchAgents/sluice.gateway.plist"))
}

// The machine's service runs as the person who has called sudo, whose files it gets, and never as root.
func TestLaunchdDoesNotRunAsRoot(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := &calls{answers: map[string]string{}, fails: map[string]error{}}
	spec := Spec{System: true, Created: true, Program: "/bin/sluice", Config: "/c/sluice.yaml", State: "/s"}
	for _, person := range []string{"", "root"} {
		_, err := newLaunchd(home, person, c.run).install(t.Context(), spec)
		require.ErrorContains(t, err, "run the command with sudo")
	}
	require.Empty(t, c.list)
	m := newLaunchd(home, "ada", c.run)
	m.system, m.shared = filepath.Join(home, "daemons"), "/l"
	_, err := m.install(t.Context(), spec)
	require.NoError(t, err)
	require.Equal(t, []string{
		"mkdir -p -m 700 /s", "touch /l/sluice.log", "chown -R ada /s /l/sluice.log /c/sluice.yaml", "sudo -u ada test -r /c/sluice.yaml",
		"launchctl bootout system/sluice.gateway", "launchctl bootstrap system " + m.file(true),
	}, c.list)
	plist, err := os.ReadFile(m.file(true))
	require.NoError(t, err)
	require.Contains(t, string(plist), "<key>UserName</key><string>ada</string>")
	c.fails["sudo -u ada test -r /c/sluice.yaml"] = errors.New("exit status 1")
	_, err = m.install(t.Context(), spec)
	require.ErrorContains(t, err, "the service runs as ada, who can't read /c/sluice.yaml: give them the right")
}

func TestRecordIsJSON(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	require.NoError(t, b.cmds.install(t.Context()))
	data, err := os.ReadFile(api.ServiceRecord(b.loader, false))
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	require.NoError(t, os.WriteFile(api.ServiceRecord(b.loader, false), []byte("{"), 0o600))
	_, _, err = b.cmds.locator.Find()
	require.ErrorContains(t, err, "sluice service install again")
}

func TestCommandHasHelp(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	cmd := Command(b.loader, b.cmds.locator, b.cmds.screen, func(t func(context.Context, []string) error) func(*cobra.Command, []string) error {
		return func(c *cobra.Command, args []string) error { return t(c.Context(), args) }
	})
	require.Len(t, cmd.Commands(), 3)
}

// Where systemd does not answer, nothing is installed, and the error says what to do.
func TestInstallWithoutSystemd(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.calls.fails["systemctl --user daemon-reload"] = errors.New("systemctl: Failed to connect to bus: No medium found")
	require.ErrorContains(t, b.cmds.install(t.Context()), "systemd does not answer: log in as this user")
	require.NoFileExists(t, filepath.Join(b.home, ".config/systemd/user/sluice.service"))
}
