package record_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"

	"sluice/sessions/record"
	"sluice/sessions/turn"
)

func TestParseTemperature(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]record.Temperature{"": "", "0": "0", "-0": "0", "0.70": "0.7", "2": "2", "1e-1": "0.1", "2.00": "2"} {
		got, err := record.ParseTemperature(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, bad := range []string{"hot", "-0.1", "2.01", "0.123", "NaN", "Inf", " 1"} {
		_, err := record.ParseTemperature(bad)
		require.ErrorContains(t, err, "want a number from 0 to 2", bad)
	}
}

func TestPatchRefusesWrongValues(t *testing.T) {
	t.Parallel()
	long, metadata := flow.NewText(strings.Repeat("x", record.LabelMax+1), flow.Bottom()), make([]byte, record.MetadataMax+1)
	for want, p := range map[string]record.Patch{
		"thinkingLevel: \"x\"":     {ThinkingLevel: new(record.ThinkingLevel("x"))},
		"verboseLevel: \"x\"":      {VerboseLevel: new(record.VerboseLevel("x"))},
		"temperature: \"0.70\"":    {Temperature: new(record.Temperature("0.70"))},
		"maxOutputTokens: -1":      {MaxTokens: new(-1)},
		"maxOutputTokens: 1000001": {MaxTokens: new(record.OutputTokensMax + 1)},
		"queueMode: \"x\"":         {QueueMode: new(turn.QueueMode("x"))},
		"sendPolicy: \"x\"":        {SendPolicy: new(record.SendPolicy("x"))},
		"groupActivation: \"x\"":   {Activation: new(record.Activation("x"))},
		"label: 513 bytes":         {Label: &long},
		"metadata: 65537 bytes":    {Metadata: &metadata},
	} {
		require.ErrorContains(t, p.Check(), want)
	}
	require.NoError(t, record.Patch{
		ThinkingLevel: new(record.ThinkingHigh), VerboseLevel: new(record.VerboseInherit), Temperature: new(record.Temperature("0.7")),
		MaxTokens: new(0), QueueMode: new(turn.QueueCollect), SendPolicy: new(record.SendDeny), Activation: new(record.ActivationAlways),
	}.Check())
	require.NoError(t, record.Patch{}.Check())
}

// A patch sets what it names. Of two, the later one decides, and all settings of a record make an equal record.
func TestPatches(t *testing.T) {
	t.Parallel()
	first := record.Patch{ThinkingLevel: new(record.ThinkingLow), MaxTokens: new(5)}
	both := first.Join(record.Patch{ThinkingLevel: new(record.ThinkingHigh), VerboseLevel: new(record.VerboseOn)})
	require.Equal(t, record.ThinkingLow, *first.ThinkingLevel)
	r := record.Record{ID: "s", Temperature: "1", Metadata: []byte(`{}`)}
	both.Apply(&r)
	require.Equal(t, record.Record{ID: "s", Temperature: "1", Metadata: []byte(`{}`), ThinkingLevel: record.ThinkingHigh, VerboseLevel: record.VerboseOn, MaxTokens: 5}, r)

	other := record.Record{ID: "s"}
	r.Settings().Apply(&other)
	require.Equal(t, r, other)
	require.True(t, record.Patch{ID: "s"}.Empty())
	require.False(t, both.Empty())
}
