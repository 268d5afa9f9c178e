package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/skill"
	"sluice/policy/flow"
	"sluice/sessions"
)

func testSkillPins(t *testing.T, b *bundle) {
	entry := func(action string) sessions.AuditEntry {
		return sessions.AuditEntry{At: start, Actor: "operator", Action: action, Object: "main/pdf", Label: flow.Bottom()}
	}
	pins, err := b.SkillPins(b.ctx, "main")
	require.NoError(t, err)
	require.Empty(t, pins)
	pin := skill.Pin{
		Agent: "main", Name: "pdf", Digest: "sha256:1", Label: flow.NewLabel(flow.Internal, flow.Untrusted), Source: "https://example.org/ü\x00.zip", By: "operator", At: start,
	}
	require.NoError(t, b.PinSkill(b.ctx, pin, entry("skill.add")))
	require.NoError(t, b.PinSkill(b.ctx, skill.Pin{Agent: "other", Name: "pdf", Digest: "sha256:3", Label: flow.Bottom(), At: start}, entry("skill.add")))
	pin.Digest, pin.Label = "sha256:2", flow.NewLabel(flow.Public, flow.Trusted)
	require.NoError(t, b.PinSkill(b.ctx, pin, entry("skill.trust")))
	pins, err = b.SkillPins(b.ctx, "main")
	require.NoError(t, err)
	require.Len(t, pins, 1)
	require.Contains(t, pins[0].Source, "https://example.org/ü")
	pin.Source = pins[0].Source
	require.True(t, pin.At.Equal(pins[0].At))
	pin.At = pins[0].At
	require.Equal(t, pin, pins[0])
	for range 2 {
		require.NoError(t, b.UnpinSkill(b.ctx, "main", "pdf", entry("skill.remove")))
	}
	pins, err = b.SkillPins(b.ctx, "main")
	require.NoError(t, err)
	require.Empty(t, pins)
	pins, err = b.SkillPins(b.ctx, "other")
	require.NoError(t, err)
	require.Len(t, pins, 1)
}
