package trigger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/router/ledger"
)

// The alerts that a source raises at the end of a trigger are stored with those of its effect.
func TestAlertsAreStoredTogether(t *testing.T) {
	t.Parallel()
	of := func(key string) (change ledger.Change) {
		change.Alerts, change.AlertTouches = []alert.Alert{{Key: key}}, []alert.Touch{{Alert: key}}
		return change
	}
	all := together(of("end"), ledger.Trigger{}, of("effect"))
	require.Equal(t, []alert.Alert{{Key: "end"}, {Key: "effect"}}, all.Alerts)
	require.Equal(t, []alert.Touch{{Alert: "end"}, {Alert: "effect"}}, all.AlertTouches)
}
