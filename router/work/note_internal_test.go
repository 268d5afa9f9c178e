package work

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

func TestNoteThatMayNotBeSaid(t *testing.T) {
	t.Parallel()
	run := sessions.Run{Kind: sessions.KindNote, Label: flow.NewLabel(flow.Confidential, flow.Untrusted), Input: sessions.Input{Text: "the plan"}}
	require.Equal(t, run, noted(run, true), "a session that may rise reads it")
	got := noted(run, false)
	require.Equal(t, flow.Bottom(), got.Label)
	require.NotContains(t, got.Input.Text, "the plan")
	require.Contains(t, got.Input.Text, "owner can send /raise CONFIDENTIAL")
	require.Equal(t, "the plan", run.Input.Text, "the run keeps the report")
}
