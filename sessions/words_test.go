package sessions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

func TestWhichModelErrorsAreTriedAgain(t *testing.T) {
	t.Parallel()
	for kind, again := range map[sessions.ModelErrorKind]bool{
		sessions.ModelRateLimited: true, sessions.ModelOverloaded: true, sessions.ModelUnavailable: true, sessions.ModelCut: true,
		sessions.ModelOverflow: false, sessions.ModelAuth: false, sessions.ModelRefused: false, "unheard of": false,
	} {
		require.Equal(t, again, (&sessions.ModelError{Kind: kind}).Retryable(), kind)
	}
}

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	sum := sessions.Usage{InputTokens: 1, OutputTokens: 20, CachedTokens: 300}.Add(sessions.Usage{InputTokens: 4, OutputTokens: 50, CachedTokens: 600})
	require.Equal(t, sessions.Usage{InputTokens: 5, OutputTokens: 70, CachedTokens: 900}, sum)
}

func TestRouteLeadsNowhereWithoutAChannel(t *testing.T) {
	t.Parallel()
	require.True(t, sessions.Route{Conversation: "1"}.IsZero())
	require.False(t, sessions.Route{Channel: "telegram"}.IsZero())
}

// A tool says where its data comes from and goes to, and of the outside its level.
func TestToolFlowIsDeclared(t *testing.T) {
	t.Parallel()
	outside := sessions.ToolFlow{Reads: sessions.FlowOutside, Writes: sessions.FlowOutside, Source: flow.Bottom(), Sink: flow.Public, Setting: "tools.web"}
	require.NoError(t, outside.Check())
	for want, change := range map[string]func(*sessions.ToolFlow){
		"does not declare what it reads and writes":              func(f *sessions.ToolFlow) { f.Reads = "" },
		"does not declare what it reads and writes\n":            func(f *sessions.ToolFlow) { f.Writes = "everywhere" },
		"does not declare the label of its results":              func(f *sessions.ToolFlow) { f.Source = flow.Label{} },
		"does not declare the highest level that it may receive": func(f *sessions.ToolFlow) { f.Sink = flow.Level{} },
		"does not name the setting of its level":                 func(f *sessions.ToolFlow) { f.Setting = "" },
	} {
		f := outside
		change(&f)
		want, _, _ = strings.Cut(want, "\n")
		require.EqualError(t, f.Check(), want)
	}
	for _, reads := range []sessions.FlowEnd{sessions.FlowNone, sessions.FlowOutside} {
		for _, writes := range []sessions.FlowEnd{sessions.FlowSession, sessions.FlowOutside} {
			f := sessions.ToolFlow{Reads: reads, Writes: writes}
			require.Equal(t, reads == sessions.FlowOutside || writes == sessions.FlowOutside, f.Outside(), "%s %s", reads, writes)
		}
	}
}

func TestOrdersThatTheModelAnswers(t *testing.T) {
	t.Parallel()
	for kind, answered := range map[sessions.OrderKind]bool{
		sessions.OrderEdit: true, sessions.OrderRetry: true, sessions.OrderUndo: false, sessions.OrderSwitch: false, sessions.OrderRaise: false, sessions.OrderCompact: false,
	} {
		require.Equal(t, answered, kind.Answered(), kind)
	}
}

func TestTermsAreTheSame(t *testing.T) {
	t.Parallel()
	terms := sessions.Terms{Approvers: [][]string{{"a", "b"}, {"c"}}}
	require.True(t, terms.Same(sessions.Terms{Approvers: [][]string{{"a", "b"}, {"c"}}, Timeout: 1, Rules: []string{"another"}}), "the time and the rules' names decide nothing")
	require.False(t, terms.Same(sessions.Terms{Approvers: [][]string{{"a", "b"}, {"c"}}, AllowOnTimeout: true}))
	require.False(t, terms.Same(sessions.Terms{Approvers: [][]string{{"a"}, {"c"}}}))
	require.False(t, terms.Same(sessions.Terms{Approvers: [][]string{{"a", "b"}}}))
}

func TestSpeakerOfARun(t *testing.T) {
	t.Parallel()
	run := func(kind sessions.RunKind, sender sessions.UserID) *sessions.Run {
		return &sessions.Run{Kind: kind, Route: sessions.Route{Channel: "telegram"}, Input: sessions.Input{Sender: sessions.Peer{ID: sender}}}
	}
	require.Equal(t, "telegram:7", run(sessions.KindMessage, "7").Speaker())
	require.Empty(t, run(sessions.KindMessage, "").Speaker())
	require.Empty(t, run(sessions.KindReply, "7").Speaker(), "a step of an exchange is another agent's")
	require.Empty(t, run(sessions.KindNote, "7").Speaker())
}

func TestQueueModesThatAre(t *testing.T) {
	t.Parallel()
	for _, mode := range []sessions.QueueMode{sessions.QueueInherit, sessions.QueueSteer, sessions.QueueFollowup, sessions.QueueCollect, sessions.QueueInterrupt} {
		require.True(t, mode.Valid(), mode)
	}
	require.False(t, sessions.QueueMode("hurry").Valid())
}

func TestLongestLabel(t *testing.T) {
	t.Parallel()
	patch := func(length int) sessions.Patch {
		label := flow.NewText(strings.Repeat("x", length), flow.Bottom())
		return sessions.Patch{Label: &label}
	}
	require.NoError(t, patch(sessions.LabelMax).Check())
	require.ErrorContains(t, patch(sessions.LabelMax+1).Check(), "label: ")
}

// Paths are compared in one spelling; one that is absolute or leads out of the workspace allows nothing.
func TestPathsThatScopesShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want []string }{
		{[]string{"shared"}, []string{"shared/z", "shared/a", "shared/./a/"}, []string{"shared/a", "shared/z"}},
		{[]string{"b/x", "a"}, []string{"", "."}, []string{"a", "b/x"}},
		{[]string{""}, []string{"..", "../x", "a/../..", "/abs"}, []string{}},
		{[]string{""}, []string{"..x", "a/..b"}, []string{"..x", "a/..b"}},
		{[]string{"ab"}, []string{"a", "abc"}, []string{}},
	} {
		got := sessions.FileAccess{Read: c.a}.Narrow(sessions.FileAccess{Read: c.b})
		require.Equal(t, c.want, got.Read, "%v and %v", c.a, c.b)
	}
}

// A field that is not there is found in each branch of a template, and the size of what it makes is bounded.
func TestPromptIsCheckedEverywhere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{{if .Now}}{{.Nope}}{{end}}`, `{{if .Now}}x{{else}}{{.Nope}}{{end}}`, `{{if .Nope}}x{{end}}`,
		`{{with .Agent}}x{{else}}{{.Nope}}{{end}}`, `{{with .Nope}}x{{end}}`, `{{range .Nope}}x{{end}}`, `{{range .Workspace}}x{{else}}{{.Nope}}{{end}}`,
		`{{define "t"}}x{{end}}{{template "t" .Nope}}`, `{{(.Nope).Name}}`, `{{print (.Nope)}}`, `{{$.Nope}}`,
	} {
		_, err := sessions.ParsePrompt(text)
		require.ErrorContains(t, err, "there is no .Nope", text)
	}
}

func TestLargestPrompt(t *testing.T) {
	t.Parallel()
	const most = 256 << 10
	p, err := sessions.ParsePrompt(strings.Repeat("x", most))
	require.NoError(t, err)
	text, err := p.Execute(sessions.TemplateData{})
	require.NoError(t, err)
	require.Len(t, text, most)
	_, err = sessions.ParsePrompt(strings.Repeat("x", most+1))
	require.ErrorContains(t, err, "it has more than 262144 bytes")
}

func TestLongTitlesAreCut(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]string{120: strings.Repeat("é", 120), 121: strings.Repeat("é", 120) + "…"} {
		b := newBundle(t)
		p, err := sessions.ParsePrompt("{{.Conversation}}")
		require.NoError(t, err)
		record := b.Record()
		record.Route.Title = strings.Repeat("é", length)
		s := sessions.NewSession(b.store, record, time.Now)
		s.SetAgent(sessions.Agent{ID: "main", Prompt: p})
		text, err := s.SystemPrompt()
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
}

// A workspace that is not a folder is an error, and not a workspace without instructions.
func TestWorkspaceThatIsAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, _, err := sessions.ReadInstructions(file)
	require.ErrorContains(t, err, "read instructions")
	_, err = sessions.MakeFolder(file, sessions.NewID())
	require.ErrorContains(t, err, "make workspace")
}
