package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
)

func TestResetPolicies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, fault string }{
		"daily":            {"session: { reset: { mode: daily } }", ""},
		"by type":          {"session: { resetByType: { group: { mode: idle, idleMinutes: 60 } } }", ""},
		"by channel":       {"session: { resetByChannel: { telegram: { mode: daily, atHour: 0, idleMinutes: 30 } } }", ""},
		"no minutes":       {"session: { reset: { mode: idle } }", "session.reset.idleMinutes: is missing"},
		"an hour too many": {"session: { reset: { mode: daily, atHour: 24 } }", "session.reset.atHour"},
		"unknown type":     {"session: { resetByType: { topic: { mode: daily } } }", "session.resetByType.topic: no type"},
		"unknown channel":  {"session: { resetByChannel: { telegraph: { mode: daily } } }", "session.resetByChannel.telegraph: no channel"},
		"unknown mode":     {"session: { reset: { mode: weekly } }", "session.reset.mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.fault != "" {
				got := faults(t, tc.text)
				require.Len(t, got, 1)
				require.Contains(t, got[0], tc.fault)
				return
			}
			for _, r := range parsed(t, tc.text).Session.ResetByType {
				require.Equal(t, config.Reset{Mode: "idle", AtHour: 4, IdleMinutes: 60}, r)
			}
		})
	}
}
