package place

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/sessions"
)

// Where clocks are set, a day has one boundary all the same.
func TestLastBoundary(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		now, want string
		hour      int
	}{
		"after it":               {"2026-01-10T05:00:00+01:00", "2026-01-10T04:00:00+01:00", 4},
		"at it":                  {"2026-01-10T04:00:00+01:00", "2026-01-10T04:00:00+01:00", 4},
		"before it":              {"2026-01-10T03:59:59+01:00", "2026-01-09T04:00:00+01:00", 4},
		"over a month":           {"2026-03-01T00:30:00+01:00", "2026-02-28T04:00:00+01:00", 4},
		"clocks set forward":     {"2026-03-29T05:00:00+02:00", "2026-03-29T04:00:00+02:00", 4},
		"23 hours before":        {"2026-03-29T03:59:00+02:00", "2026-03-28T04:00:00+01:00", 4},
		"clocks set back":        {"2026-10-25T05:00:00+01:00", "2026-10-25T04:00:00+01:00", 4},
		"25 hours before":        {"2026-10-25T03:59:00+01:00", "2026-10-24T04:00:00+02:00", 4},
		"an hour that is twice":  {"2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+01:00", 2},
		"at its first time":      {"2026-10-25T02:30:00+02:00", "2026-10-24T02:00:00+02:00", 2},
		"an hour that isn't":     {"2026-03-29T12:00:00+02:00", "2026-03-29T03:00:00+02:00", 2},
		"midnight":               {"2026-10-25T00:00:00+02:00", "2026-10-25T00:00:00+02:00", 0},
		"midnight after the day": {"2026-10-26T00:00:00+01:00", "2026-10-26T00:00:00+01:00", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, tc.now)
			require.NoError(t, err)
			require.Equal(t, tc.want, lastBoundary(now.In(berlin), tc.hour).Format(time.RFC3339))
		})
	}
}

// The boundary is never in the future, never more than 26 hours ago, and the later the time, the later it is.
func TestLastBoundaryProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		place, err := time.LoadLocation(rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Santiago"}).Draw(t, "place"))
		require.NoError(t, err)
		now := time.Unix(rapid.Int64Range(1_600_000_000, 2_000_000_000).Draw(t, "now"), 0).In(place)
		hour := rapid.IntRange(0, 23).Draw(t, "hour")
		at := lastBoundary(now, hour)
		require.False(t, at.After(now))
		require.LessOrEqual(t, now.Sub(at), 26*time.Hour)
		later := now.Add(time.Duration(rapid.Int64Range(0, 100_000).Draw(t, "later")) * time.Second)
		require.False(t, lastBoundary(later, hour).Before(at))
	})
}

func TestResetPolicyOfARoute(t *testing.T) {
	t.Parallel()
	policy := func(hour int) ResetPolicy { return ResetPolicy{Mode: ResetDaily, AtHour: hour} }
	s := ResetSettings{
		Default:   policy(1),
		ByType:    map[ConversationType]ResetPolicy{TypeGroup: policy(2), TypeThread: policy(3)},
		ByChannel: map[string]ResetPolicy{"discord": policy(4)},
	}
	for name, tc := range map[string]struct {
		route sessions.Route
		hour  int
	}{
		"direct":           {sessions.Route{Channel: "telegram", ChatType: sessions.Direct}, 1},
		"group":            {sessions.Route{Channel: "telegram", ChatType: sessions.Group}, 2},
		"channel":          {sessions.Route{Channel: "slack", ChatType: sessions.Channel}, 2},
		"topic":            {sessions.Route{Channel: "telegram", ChatType: sessions.Group, Thread: "7"}, 3},
		"by channel first": {sessions.Route{Channel: "discord", ChatType: sessions.Group, Thread: "7"}, 4},
	} {
		require.Equal(t, tc.hour, s.policy(tc.route).AtHour, name)
	}
}
