package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"sluice/internal/app"
	"sluice/internal/build"
	"sluice/internal/cli"
	"sluice/internal/config"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"sluice": scripted})
}

// leakChecked runs the tests and then looks for goroutines that were left behind.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if err := goleak.Find(goleak.IgnoreAnyFunction("testing.(*T).Run")); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n") // the exit code tells it too
		return 1
	}
	return code
}

// scripted is the command as the scripts run it, with a gateway that serves nothing.
func scripted() {
	serve := func(_ context.Context, o cli.ServeOptions) error {
		path, err := config.Find(o.ConfigPath)
		if err != nil {
			return err
		}
		if _, err := config.System().Load(path); err != nil {
			return err
		}
		_, err = o.Stdout.Write([]byte("served " + o.Listen + "\n"))
		return err
	}
	os.Exit(cli.Execute(context.Background(), cli.Deps{
		Args: os.Args[1:], Version: "v1.2.3", Build: build.Read("v1.2.3", "", ""), Loader: config.System(), Serve: serve, Probe: probe,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Now: func() time.Time { return time.Date(2026, 4, 26, 18, 3, 16, 0, time.UTC) },
	}))
}

func probe(ctx context.Context, cfg *config.Config) []cli.Probed {
	var probed []cli.Probed
	for _, p := range app.Probe(ctx, cfg, "v1.2.3") {
		probed = append(probed, cli.Probed(p))
	}
	return probed
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			f := newFake()
			e.Defer(f.Close)
			e.Values["fake"] = f
			e.Setenv("FAKE", f.URL)
			e.Setenv("TOKEN", fakeToken)
			e.Setenv(cli.EnvURL, f.URL)
			e.Setenv(cli.EnvToken, fakeToken)
			e.Setenv("HOME", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"asked": func(ts *testscript.TestScript, _ bool, _ []string) {
				f, ok := ts.Value("fake").(*fake)
				if !ok {
					ts.Fatalf("no fake")
				}
				ts.Check(os.WriteFile(ts.MkAbs("asked"), []byte(f.Asked()+"\n"), 0o600))
			},
			"exits": exits,
		},
	})
}

// exits runs a command and checks its exit code: exits CODE program args…
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if e, ok := err.(interface{ ExitCode() int }); ok {
		code = string(rune('0' + e.ExitCode()))
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}
