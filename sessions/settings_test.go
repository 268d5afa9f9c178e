package sessions_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

func TestSettingsAreStored(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.Persist(t.Context()))
	high, label := sessions.ThinkingHigh, "work"
	require.NoError(t, b.Patch(sessions.Patch{ThinkingLevel: &high}))
	require.NoError(t, b.Patch(sessions.Patch{Label: new(flow.NewText(label, flow.Bottom()))}))
	require.True(t, b.Dirty())
	require.ErrorIs(t, b.Reload(t.Context(), false), sessions.ErrDirty)
	require.NoError(t, b.Persist(t.Context()))
	require.False(t, b.Dirty())
	require.Equal(t, b.Record(), b.load(t).Record())
	require.Equal(t, sessions.ThinkingHigh, b.load(t).Thinking())

	var follow sessions.ThinkingLevel
	require.NoError(t, b.Patch(sessions.Patch{ThinkingLevel: &follow}))
	require.NoError(t, b.Reload(t.Context(), true))
	require.Equal(t, sessions.ThinkingHigh, b.Thinking(), "what was not stored is gone")
	require.NoError(t, b.Patch(sessions.Patch{ThinkingLevel: &follow}))
	require.NoError(t, b.Persist(t.Context()))
	require.Empty(t, b.load(t).Record().ThinkingLevel)
}

// The answer to the commit that made the session was lost; what was set since must not be.
func TestSettingsOfASessionNobodyKnowsWasStored(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.store.FailAt(1, true)
	require.ErrorIs(t, b.Persist(t.Context()), sessiontest.ErrFault)
	label := "work"
	require.NoError(t, b.Patch(sessions.Patch{Label: new(flow.NewText(label, flow.Bottom()))}))
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, "work", b.load(t).Record().Label.Raw())
}

func TestPatchIsChecked(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	long, broken := strings.Repeat("x", sessions.LabelMost+1), "\xff"
	thinking, verbose := sessions.ThinkingLevel("much"), sessions.VerboseLevel("much")
	send, activation := sessions.SendPolicy("maybe"), sessions.Activation("maybe")
	for field, p := range map[string]sessions.Patch{
		"label: 513 bytes": {Label: new(flow.NewText(long, flow.Bottom()))}, "label: 1 bytes": {Label: new(flow.NewText(broken, flow.Bottom()))},
		"thinkingLevel": {ThinkingLevel: &thinking}, "verboseLevel": {VerboseLevel: &verbose},
		"sendPolicy": {SendPolicy: &send}, "groupActivation": {Activation: &activation},
	} {
		before := b.Record()
		require.ErrorContains(t, b.Patch(p), field)
		require.Equal(t, before, b.Record())
	}
}

// A session that is kept open follows what others patch, but keeps what it has patched itself.
func TestAdopt(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.Persist(t.Context()))
	mine := "mine"
	require.NoError(t, b.Patch(sessions.Patch{Label: new(flow.NewText(mine, flow.Bottom()))}))
	read := b.load(t).Record()
	read.Label, read.VerboseLevel, read.Head = flow.NewText("theirs", flow.Top()), sessions.VerboseFull, "msg_other"
	b.Adopt(read)
	require.Equal(t, "mine", b.Record().Label.Raw())
	require.Equal(t, sessions.VerboseFull, b.Verbose())
	require.Empty(t, b.Record().Head)
	read.ID, read.VerboseLevel = "sess_other", ""
	b.Adopt(read)
	require.Equal(t, sessions.VerboseFull, b.Verbose())
}

func TestOverridesOutliveTheModel(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("one"))
	temperature, most := float32(0.5), 77
	b.SetTemperature(&temperature)
	b.SetMaxTokens(&most)
	other := &sessiontest.Scripted{Answers: []sessiontest.Answer{sessiontest.Says("two"), sessiontest.Says("three")}, Level: b.model.Level}
	b.SetModel(other)
	b.SetAgent(sessions.Agent{ID: "main", Thinking: sessions.ThinkingLow})
	b.Append(user("hi"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	asked := other.Asked()[0]
	require.Equal(t, sessions.Request{
		Messages: asked.Messages, Temperature: &temperature, MaxTokens: most, Thinking: sessions.ThinkingLow,
	}, asked)
	require.Equal(t, sessions.VerboseOff, b.Verbose())

	b.SetTemperature(nil)
	b.SetMaxTokens(nil)
	high := sessions.ThinkingHigh
	require.NoError(t, b.Patch(sessions.Patch{ThinkingLevel: &high}))
	_, err = step(t.Context(), b.Session)
	require.NoError(t, err)
	asked = other.Asked()[1]
	require.Equal(t, sessions.Request{Messages: asked.Messages, Thinking: high}, asked)
	require.Nil(t, b.TemperatureOverride())
	require.Nil(t, b.MaxTokensOverride())
}
