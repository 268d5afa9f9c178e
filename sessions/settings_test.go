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

// gone is a store that is away.
type gone struct{ *sessiontest.Memory }

func (gone) CommitSession(context.Context, sessions.Change) error { return sessions.ErrUnavailable }

// Who stores something while the store is away is told so when they do not wait any longer.
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
