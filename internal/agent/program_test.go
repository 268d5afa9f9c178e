package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/agentkit"
	"sluice/internal/agent/roster"
	"sluice/internal/program"
	"sluice/policy/flow"
	runs "sluice/router/work"
	"sluice/sessions"
)

// played is a program that a test plays: answer returns the frame for a turn, or an error.
type played struct {
	answer func(turn agentkit.Event) (agentkit.Frame, error)
	frame  []byte
	err    error
	closed int
}

func (p *played) Begin(context.Context, program.Run) (program.Line, error) { return p, nil }

func (p *played) Send(_ context.Context, text []byte, _ string) error {
	var e agentkit.Event
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	f, err := p.answer(e)
	f.Turn = e.ID
	p.frame, _ = json.Marshal(f)
	p.err = err
	return nil
}

func (p *played) Next(context.Context) ([]byte, error) { return p.frame, p.err }
func (p *played) Close(string)                         { p.closed++ }

// asked lets a program work a run in a session of a level, with a model of its own that does not count.
func asked(t *testing.T, p *played, c program.Config, level flow.Level) (runs.Answer, *sessions.Session, error) {
	t.Helper()
	b := newBundle(t)
	c.Agent, c.Kind, c.Carrier, c.Now = "main", "nats", p, time.Now
	b.configure(func(s *roster.Settings) { s.Agents[0].Program = &program.Program{Config: c} })
	record := b.record("agent:main:other", flow.NewLabel(level, flow.Trusted))
	record.Model = flow.NewText("nobody/nothing", flow.Bottom())
	b.as(t, record, true)
	answer, err := b.ask(t.Context(), "hello")
	return answer, b.session, err
}

func TestAProgramWorksARun(t *testing.T) {
	t.Parallel()
	p := &played{answer: func(e agentkit.Event) (agentkit.Frame, error) {
		return agentkit.Frame{Type: agentkit.FrameDone, Text: "you said " + e.Data.Messages[0].Text}, nil
	}}
	answer, s, err := asked(t, p, program.Config{Classification: flow.Internal}, flow.Public)
	require.NoError(t, err)
	require.Equal(t, "you said hello", answer.Text)
	require.Equal(t, "nats/main", answer.Model)
	require.Equal(t, 1, p.closed)
	require.Equal(t, flow.Trusted, s.Taint().Trust())

	_, s, err = asked(t, p, program.Config{Classification: flow.Internal, Untrusted: true}, flow.Public)
	require.NoError(t, err)
	require.Equal(t, flow.Untrusted, s.Taint().Trust())
}

// A program is told nothing above its level.
func TestAProgramHasALevel(t *testing.T) {
	t.Parallel()
	p := &played{answer: func(agentkit.Event) (agentkit.Frame, error) { panic("it was asked") }}
	_, _, err := asked(t, p, program.Config{Classification: flow.Internal}, flow.Confidential)
	why, ok := errors.AsType[*sessions.WorkError](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, why.Public, "The program that answers here is not allowed to see this conversation.")
	_, _, err = asked(t, p, program.Config{}, flow.Internal)
	require.ErrorIs(t, err, sessions.ErrModelLevel, "without a level it may get what is public")
}

// A program that is missing or broken is reported in its own words, after a minute at most.
func TestAProgramFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frame agentkit.Frame
		err   error
		want  string
		after time.Duration
	}{
		"absent":  {err: program.ErrAbsent, want: "The program that answers here is not running. Please try again later.", after: time.Minute},
		"busy":    {frame: agentkit.Frame{Type: agentkit.FrameError, Retry: true}, want: "The program that answers here failed.", after: time.Minute},
		"empty":   {frame: agentkit.Frame{Type: agentkit.FrameDone}, want: "The program that answers here gave an empty reply. Please ask again."},
		"failed":  {frame: agentkit.Frame{Type: agentkit.FrameError, Message: "no"}, want: "The program that answers here failed. My owner can see why"},
		"garbage": {frame: agentkit.Frame{Type: "zzz"}, want: "The program that answers here failed. My owner can see why"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &played{answer: func(agentkit.Event) (agentkit.Frame, error) { return c.frame, c.err }}
				began := time.Now()
				_, _, err := asked(t, p, program.Config{Classification: flow.Internal}, flow.Public)
				why, ok := errors.AsType[*sessions.WorkError](err)
				require.True(t, ok, "%v", err)
				require.Contains(t, why.Public, c.want)
				require.Equal(t, sessions.RunFailed, why.Status)
				require.LessOrEqual(t, time.Since(began), c.after)
				require.GreaterOrEqual(t, time.Since(began), c.after/2)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := &played{answer: func(agentkit.Event) (agentkit.Frame, error) { return agentkit.Frame{}, program.ErrAbsent }}
		_, _, err := asked(t, p, program.Config{Classification: flow.Internal, Timeout: 10 * time.Second}, flow.Public)
		why, ok := errors.AsType[*sessions.WorkError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, sessions.RunTimeout, why.Status)
	})
}

// A program writes no summaries.
func TestAProgramIsNotAskedForSummaries(t *testing.T) {
	t.Parallel()
	p := &played{answer: func(agentkit.Event) (agentkit.Frame, error) {
		return agentkit.Frame{Type: agentkit.FrameDone, Text: "hi"}, nil
	}}
	b := newBundle(t)
	b.configure(func(s *roster.Settings) {
		s.Agents[0].Program = &program.Program{Config: program.Config{Agent: "main", Kind: "nats", Classification: flow.Internal, Carrier: p, Now: time.Now}}
	})
	b.as(t, b.record("agent:main:other", flow.Bottom()), true)
	_, err := b.ask(t.Context(), "hello")
	require.NoError(t, err)
	_, err = b.Compact(t.Context(), runs.Assignment{Session: b.session, Run: &b.run, Emit: func(sessions.Event) {}})
	why, ok := errors.AsType[*sessions.WorkError](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, why.Public, "it writes no summaries")
}
