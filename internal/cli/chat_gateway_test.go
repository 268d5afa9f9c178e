package cli_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/app"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/model/modeltest"
	"sluice/store/sqlite/sqlitetest"
)

const patience = 30 * time.Second

// talk is a chat in a terminal with a real gateway, whose agent asks before it does anything.
type talk struct {
	t       *testing.T
	models  *modeltest.Server
	typed   *io.PipeWriter
	signals chan os.Signal
	code    chan int

	mu      sync.Mutex
	shown   bytes.Buffer
	changed chan struct{}
}

// Write takes what is printed.
func (k *talk) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shown.Write(p)
	close(k.changed)
	k.changed = make(chan struct{})
	return len(p), nil
}

// sees waits until a text was printed this many times.
func (k *talk) sees(text string, times int) {
	k.t.Helper()
	deadline := time.After(patience)
	for {
		k.mu.Lock()
		shown, changed := k.shown.String(), k.changed
		k.mu.Unlock()
		if strings.Count(shown, text) >= times {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			k.t.Fatalf("not seen %d times: %q in\n%s", times, text, shown)
		}
	}
}

func (k *talk) says(text string) {
	k.t.Helper()
	_, err := io.WriteString(k.typed, text+"\n")
	require.NoError(k.t, err)
}

// ends waits until the chat has ended by itself.
func (k *talk) ends() string {
	k.t.Helper()
	select {
	case code := <-k.code:
		require.Equal(k.t, cli.ExitDone, code)
	case <-time.After(patience):
		k.t.Fatal("the chat does not end")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.shown.String()
}

func newTalk(t *testing.T, terminal bool, replies []modeltest.Reply, args ...string) *talk {
	t.Helper()
	models, err := modeltest.Start()
	require.NoError(t, err)
	t.Cleanup(models.Close)
	models.Enqueue(replies...)
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	require.NoError(t, os.WriteFile(path, []byte("gateway: { listen: 127.0.0.1:0, token: "+fakeToken+" }\nstate: "+sqlitetest.Dir(t)+
		"\nagents: { defaults: { permission: ask } }\nmodels: { default: p/m, providers: { p: { kind: openai, apiKey: key, baseURL: \""+models.OpenAIURL()+"\" } } }\n"), 0o600))
	cfg, err := config.System().Load(path)
	require.NoError(t, err)
	g := app.New(cfg, "test", slog.New(slog.DiscardHandler))
	require.NoError(t, g.Start(t.Context()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		g.Stop(ctx)
	})
	stdin, typed := io.Pipe()
	k := &talk{t: t, models: models, typed: typed, signals: make(chan os.Signal, 2), code: make(chan int, 1), changed: make(chan struct{})}
	env := map[string]string{cli.EnvURL: "http://" + g.Addr().String(), cli.EnvToken: fakeToken}
	d := cli.Deps{
		Args: append([]string{"chat"}, args...), Version: "v1", Stdin: stdin, Stdout: k, Stderr: k, Now: time.Now, Signals: k.signals, Terminal: terminal,
		Loader: config.Loader{Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Home: t.TempDir(), Dir: t.TempDir()},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.code <- cli.Execute(ctx, d) }()
	t.Cleanup(func() { cancel(); require.NoError(t, typed.Close()); <-done })
	return k
}

var save = modeltest.Call("memory_save", `{"key":"plan","content":"the plan"}`)

// What is typed while an answer waits for a decision is read, decides, and lets the answer go on.
func TestChatDecidesAboutWhatItsAnswerWaitsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		terminal bool
		typed    string
		sees     string
		result   string
	}{
		"y at a terminal":   {true, "y", "[allowed]", "ok"},
		"n from a pipe":     {false, "n", "[denied]", "denied"},
		"yes, with spaces":  {false, " YES ", "[allowed]", "ok"},
		"a deny by command": {true, "/approve ID deny not now", "I will not run", "not now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, c.terminal, []modeltest.Reply{save, modeltest.Say("That is all."), modeltest.Say("And again.")})
			k.says("keep it")
			k.sees("Type y to allow it", 1)
			k.says(strings.Replace(c.typed, "ID", k.question(), 1))
			k.sees("That is all.", 1)
			k.says("again")
			k.sees("And again.", 1)
			k.says("/quit")
			shown := k.ends()
			require.Equal(t, 1, strings.Count(shown, c.sees), shown)
			var told []string
			for _, r := range k.models.Requests()[1].Messages {
				told = append(told, r.Text)
			}
			if c.result != "ok" {
				require.Contains(t, strings.Join(told, "\n"), c.result)
			}
		})
	}
}

// question is the id of the question that was printed last.
func (k *talk) question() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, rest, found := strings.Cut(k.shown.String(), "/approve ")
	require.True(k.t, found)
	id, _, _ := strings.Cut(rest, " ")
	return id
}

// Where two questions are open a y decides about neither; other lines are said when the answer is there.
func TestChatAsksWhichQuestionIsMeant(t *testing.T) {
	t.Parallel()
	both := save
	both.Calls = append(both.Calls, modeltest.ToolCall{Name: "memory_save", Args: `{"key":"other","content":"more"}`})
	k := newTalk(t, true, []modeltest.Reply{both, modeltest.Say("That is all.")})
	k.says("keep them")
	k.sees("2 questions are open", 1)
	k.says("y")
	k.sees("2 questions are open", 2)
	k.says("what else?")
	k.sees("[will be sent after the reply", 1)
	k.says("/status")
	k.sees("working, 0 waiting", 1)
	k.says("/approve " + k.question() + " allow")
	k.sees("Allowed: I will run", 1)
	k.says("n")
	k.sees("[denied]", 1)
	k.sees("That is all.", 1)
	k.sees("echo: what else?", 1)
	require.NoError(t, k.typed.Close())
	k.ends()
}

// Ctrl-C stops a run that waits for a decision, and the next one leaves.
func TestInterruptStopsARunThatWaitsForADecision(t *testing.T) {
	t.Parallel()
	k := newTalk(t, true, []modeltest.Reply{save})
	k.says("keep it")
	k.sees("Type y to allow it", 1)
	k.signals <- os.Interrupt
	k.sees("sluice: ", 1)
	k.sees("\n> ", 2)
	k.signals <- os.Interrupt
	k.ends()
}

// All is typed before anything is asked, as from a script: the second line answers the question, the third is said after.
func TestChatReadsAScript(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false, []modeltest.Reply{save, modeltest.Say("That is all.")})
	k.says("keep it\ny\nthanks")
	require.NoError(t, k.typed.Close())
	shown := k.ends()
	require.Contains(t, shown, "[allowed]")
	require.Less(t, strings.Index(shown, "That is all."), strings.Index(shown, "echo: thanks"), shown)
}

// The input may end while a question waits: what can be done is said, and the answer is waited for.
func TestChatSaysWhatToDoWhereNothingMoreCanBeTyped(t *testing.T) {
	t.Parallel()
	k := newTalk(t, false, []modeltest.Reply{save}, "keep it")
	k.sees("Type y to allow it", 1)
	require.NoError(t, k.typed.Close())
	k.sees("sluice approvals allow apr_", 1)
}
