package sessions_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	most, more := []byte(strings.Repeat("1", sessions.MetadataMax)), []byte(strings.Repeat("1", sessions.MetadataMax+1))
	mode := sessions.QueueMode("fast")
	require.NoError(t, sessions.Patch{Metadata: &most, Label: new(flow.NewText(strings.Repeat("x", sessions.LabelMax), flow.Bottom()))}.Check(), "as much as may be")
	long, broken := strings.Repeat("x", sessions.LabelMax+1), "\xff"
	thinking, verbose := sessions.ThinkingLevel("much"), sessions.VerboseLevel("much")
	send, activation := sessions.SendPolicy("maybe"), sessions.Activation("maybe")
	for field, p := range map[string]sessions.Patch{
		"label: 513 bytes": {Label: new(flow.NewText(long, flow.Bottom()))}, "label: 1 bytes": {Label: new(flow.NewText(broken, flow.Bottom()))},
		"temperature: \"2.5\"": {Temperature: new(sessions.Temperature("2.5"))}, "temperature: \"0.70\"": {Temperature: new(sessions.Temperature("0.70"))},
		"maxOutputTokens: -1": {MaxTokens: new(-1)}, "maxOutputTokens: 1000001": {MaxTokens: new(sessions.OutputTokensMax + 1)},
		"thinkingLevel": {ThinkingLevel: &thinking}, "verboseLevel": {VerboseLevel: &verbose},
		"metadata: 65537 bytes, the maximum is 65536": {Metadata: &more}, "queueMode": {QueueMode: &mode},
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
	warm, most := sessions.Temperature("0.5"), 77
	require.NoError(t, b.Patch(sessions.Patch{Temperature: &warm, MaxTokens: &most}))
	other := &sessiontest.Scripted{Answers: []sessiontest.Answer{sessiontest.Says("two"), sessiontest.Says("three"), sessiontest.Says("four")}, Level: b.model.Level}
	b.SetModel(other)
	agent := sessions.Agent{ID: "main", Thinking: sessions.ThinkingLow, Temperature: "0.25", MaxTokens: 11}
	b.SetAgent(agent)
	b.Append(user("hi"))
	asked := func(n int) sessions.Request {
		_, err := step(t.Context(), b.Session)
		require.NoError(t, err)
		return other.Asked()[n]
	}
	got := asked(0)
	require.Equal(t, sessions.Request{Messages: got.Messages, Temperature: new(float32(0.5)), MaxTokens: most, Thinking: sessions.ThinkingLow, Label: b.Taint(), Kept: true}, got)
	require.Equal(t, sessions.VerboseOff, b.Verbose())
	require.Equal(t, new(float32(0.5)), b.TemperatureOverride())
	require.Equal(t, &most, b.MaxTokensOverride())

	high := sessions.ThinkingHigh
	require.NoError(t, b.Patch(sessions.Patch{ThinkingLevel: &high, Temperature: new(sessions.Temperature("")), MaxTokens: new(int)}))
	got = asked(1)
	require.Equal(t, sessions.Request{Messages: got.Messages, Temperature: new(float32(0.25)), MaxTokens: 11, Thinking: high, Label: b.Taint(), Kept: true}, got, "those of the agent")
	require.Nil(t, b.TemperatureOverride())
	require.Nil(t, b.MaxTokensOverride())

	agent.Temperature, agent.MaxTokens = "", 0
	b.SetAgent(agent)
	got = asked(2)
	require.Equal(t, sessions.Request{Messages: got.Messages, Thinking: high, Label: b.Taint(), Kept: true}, got, "those of the provider")
}

// cool is a model that takes a temperature of at most 1.
type cool struct{ *sessiontest.Scripted }

func (cool) MaxTemperature() float32 { return 1 }

// A temperature outlives the change to a model that takes less, which gets what it takes.
func TestTemperatureIsAtMostWhatTheModelTakes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.Patch(sessions.Patch{Temperature: new(sessions.Temperature("1.5"))}))
	model := &sessiontest.Scripted{Answers: []sessiontest.Answer{sessiontest.Says("one"), sessiontest.Says("two")}, Level: b.model.Level}
	for i, m := range []sessions.Model{model, cool{model}} {
		b.SetModel(m)
		b.Append(user("hi"))
		_, err := step(t.Context(), b.Session)
		require.NoError(t, err)
		require.Equal(t, []*float32{new(float32(1.5)), new(float32(1))}[i], model.Asked()[i].Temperature)
	}
	require.Equal(t, new(float32(1.5)), b.TemperatureOverride())
}

func TestParseTemperature(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sessions.Temperature{"": "", "0": "0", "-0": "0", "0.70": "0.7", "2": "2", "1e0": "1", ".25": "0.25"} {
		got, err := sessions.ParseTemperature(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"-0.1", "2.01", "0.123", "NaN", "Inf", "warm", "1,5", " 1"} {
		_, err := sessions.ParseTemperature(text)
		require.ErrorContains(t, err, "want a number from 0 to 2", text)
	}
	require.Nil(t, sessions.Temperature("").Value())
	require.InDelta(t, 0.7, *sessions.Temperature("0.7").Value(), 1e-6)
}

// A message that is edited while it is stored is stored again as it was edited.
func TestMessageEditedWhileItIsStored(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Append(user("one"))
	id := b.Last().ID
	change := b.Pending()
	require.NoError(t, b.store.CommitSession(t.Context(), change))
	require.NoError(t, b.SetContent(id, "two", flow.Bottom()))
	b.Saved(change)
	require.True(t, b.IsDirty(id))
	require.NoError(t, b.Persist(t.Context()))
	require.False(t, b.Dirty())
	require.Equal(t, "two", b.load(t).Last().Text())
}

// gone is a store that is unavailable.
type gone struct{ *sessiontest.Memory }

func (gone) CommitSession(context.Context, sessions.Change) error { return sessions.ErrUnavailable }

// Who stores something while the store is unavailable is told so when they do not wait any longer.
func TestPersistEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sessions.NewSession(gone{sessiontest.NewMemory()}, sessions.Record{ID: sessions.NewID(), Key: "agent:main:main", Agent: "main"}, time.Now)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.Append(user("one"))
		require.ErrorIs(t, s.Persist(ctx), sessions.ErrUnavailable)
		require.True(t, s.Dirty())
	})
}
