package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cron"
	"sluice/router/ledger"
)

var noon = time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)

func TestKeyOfAnInstant(t *testing.T) {
	t.Parallel()
	berlin, err := cron.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	j := Job{ID: "brief"}
	require.Equal(t, "cron/brief/2027-01-15T12:00:00Z", j.waiting(noon, noon.In(berlin), noon).Key)
}

func TestSince(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		every, window, late time.Duration
		want                passed
	}{
		"at once":                {time.Hour, time.Hour, 0, passed{noon, 0, false}},
		"a minute late":          {time.Hour, time.Second, time.Minute, passed{noon, 0, false}},
		"too late":               {time.Hour, time.Second, time.Minute + 1, passed{noon, 0, true}},
		"within the window":      {24 * time.Hour, time.Hour, time.Hour, passed{noon, 0, false}},
		"the latest of three":    {time.Hour, 30 * time.Minute, 150 * time.Minute, passed{noon.Add(2 * time.Hour), 2, false}},
		"all of three are late":  {time.Hour, 30 * time.Minute, 151 * time.Minute, passed{noon.Add(2 * time.Hour), 2, true}},
		"exactly the next":       {time.Hour, time.Hour, time.Hour, passed{noon.Add(time.Hour), 1, false}},
		"a week of every second": {time.Second, time.Hour, 7 * 24 * time.Hour, passed{noon.Add(7 * 24 * time.Hour), passedMax + 3599, false}},
	} {
		j := Job{ID: "a", Schedule: cron.Schedule{Every: c.every}, CatchUp: c.window}
		due := ledger.Trigger{TriggerDetail: ledger.TriggerDetail{Instant: noon, Anchor: noon}}
		require.Equal(t, c.want, j.since(&due, noon.Add(c.late)), name)
	}
}

// The next time of a heartbeat is within its hours.
func TestOpening(t *testing.T) {
	t.Parallel()
	berlin, err := cron.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	night := time.Date(2027, time.March, 27, 23, 50, 0, 0, berlin) // the clocks change at 2 o'clock
	for name, c := range map[string]struct {
		hours string
		every time.Duration
		want  string // empty: none
	}{
		"all hours":              {"", 30 * time.Minute, "27 23:50"},
		"in the morning":         {"08:00-22:00", 30 * time.Minute, "28 08:20"},
		"in the hour that lacks": {"02:00-03:00", 30 * time.Minute, "29 02:20"},
		"over midnight":          {"23:55-01:00", 30 * time.Minute, "28 00:20"},
		"each second":            {"23:00-23:50", time.Second, "28 23:00"},
		"each second, days away": {"02:10-02:50", time.Second, "29 02:10"},
		"from the lacking hour":  {"02:30-05:00", 10 * time.Minute, "28 03:00"},
		"after some days":        {"06:00-07:00", 25 * time.Hour, "03 06:50"},
		"never":                  {"08:00-09:00", 24 * time.Hour, ""},
	} {
		h, err := ParseHours(c.hours, berlin)
		require.NoError(t, err)
		beat := Heartbeat("main", c.every, h)
		got, ok := beat.Opening(night)
		require.Equal(t, c.want != "", ok, name)
		if ok {
			require.Equal(t, c.want, got.In(berlin).Format("02 15:04"), name)
		}
	}
	once := Job{ID: "a", Schedule: cron.Schedule{At: night}, Hours: Hours{60, 120, berlin}}
	_, ok := once.Opening(night)
	require.False(t, ok)
}

func TestHours(t *testing.T) {
	t.Parallel()
	berlin, err := cron.LoadZone("Europe/Berlin")
	require.NoError(t, err)
	for text, want := range map[string][2]bool{ // at 13:00 and at 01:00 in Berlin
		"": {true, true}, "08:00-22:00": {true, false}, "22:00-06:00": {false, true}, "13:00-24:00": {true, false}, "13:01-14:00": {false, false}, "09:00-13:00": {false, false},
		"00:00-24:00": {true, true},
	} {
		h, err := ParseHours(text, berlin)
		require.NoError(t, err, text)
		require.Equal(t, want, [2]bool{h.Contain(noon), h.Contain(noon.Add(12 * time.Hour))}, text)
	}
	for _, text := range []string{"8-22", "08:00", "08:00-25:00", "08:00-08:00", "24:00-06:00"} {
		_, err := ParseHours(text, berlin)
		require.ErrorContains(t, err, "want two different times of day", text)
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "# Look\n\n": "", "- \n* [ ]\n": "", "<!-- - mail\n-->\n": "", "\r\n#x\r\n": "",
		"# Look\n- mail\n": "# Look\n- mail", "<!-- no -->mail": "mail",
	} {
		require.Equal(t, want, Instructions(text), "%q", text)
	}
}

// The delay of a job is below its jitter and differs between jobs.
func TestDelay(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for _, id := range []string{"a", "b", "c", "d"} {
		j := Job{ID: id, Jitter: time.Minute}
		require.Less(t, j.delay(), time.Minute)
		require.GreaterOrEqual(t, j.delay(), time.Duration(0))
		require.Equal(t, noon.Add(j.delay()), j.waiting(noon, noon, noon).Due)
		seen[j.delay()] = true
	}
	require.Len(t, seen, 4)
	j := Job{ID: "a", Jitter: time.Microsecond}
	require.Zero(t, j.delay())
}
