package slack_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack"
)

func TestNamesAreBelievedForATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := slack.NewNames(time.Now)
		asked := 0
		sure := func() (string, bool) { asked++; return "Ada", true }
		unsure := func() (string, bool) { asked++; return "U2", false }
		for range 3 {
			require.Equal(t, "Ada", names.Get("U1", sure))
			require.Equal(t, "U2", names.Get("U2", unsure))
		}
		require.Equal(t, 2, asked)
		time.Sleep(time.Minute)
		names.Get("U1", sure)
		names.Get("U2", unsure)
		require.Equal(t, 3, asked, "what was not told is asked again soon")
		time.Sleep(time.Hour)
		names.Get("U1", sure)
		require.Equal(t, 4, asked)
	})
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	names := slack.NewNames(time.Now)
	for i := range 20_000 {
		names.Get("U"+strconv.Itoa(i), func() (string, bool) { return "x", true })
	}
	require.LessOrEqual(t, names.Known(), 4096)
}
