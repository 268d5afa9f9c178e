package router_test

import (
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCronCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReader, doing(hourly("water", "ann")))
		synctest.Wait()
		said := func(event, text string) string { return b.hear(in("owner", event, text)).Notice }
		require.Equal(t, "Only an owner can use /cron.", b.hear(in("bob", "1", "/cron")).Notice)
		require.Regexp(t, "^Jobs:\n\n- `water`: .*, next 2000-01-01 01:00:00 ", said("2", "/cron"))
		require.Contains(t, said("3", "/cron add tea"), "Usage")
		require.Equal(t, "I can't do that: in: \"soon\" is not a time such as 20m or 1h30m.", said("4", "/cron add tea in soon Tea"))
		require.Contains(t, said("5", "/cron add tea every 1m2x Tea"), "I can't do that: job.every: ")

		made := said("6", "/cron add tea in 20m Tea is\nready.")
		require.Equal(t, made, said("6", "/cron add tea in 20m Tea is\nready."), "the same event again makes no second job")
		id := regexp.MustCompile("`(tea[a-z0-9-]*)`").FindStringSubmatch(made)[1]
		require.Contains(t, made, "; next 2000-01-01 00:20:00 ")
		require.Contains(t, said("7", "/cron show "+id), "ready.")
		pass(20*time.Minute + 3*time.Second)
		require.Equal(t, "Tea is\nready.", b.chat.texts("owner")[len(b.chat.texts("owner"))-1])
		require.Contains(t, said("8", "/cron history "+id), "00:20:00 +00:00 ok, to `here` sent")
		require.Contains(t, said("9", "/cron"), "`"+id+"`: ")

		require.Contains(t, said("10", "/cron pause water"), "`water` is paused.")
		require.Contains(t, said("11", "/cron list"), "paused")
		pass(2 * time.Hour)
		require.Empty(t, b.chat.texts("ann"))
		require.Contains(t, said("12", "/cron run water"), "`water` is fired now.")
		synctest.Wait()
		pass(3 * time.Second)
		require.Equal(t, []string{"water is due"}, b.chat.texts("ann"))
		require.Contains(t, said("13", "/cron resume water"), "is resumed; next 2000-01-01 0")
		require.Contains(t, said("14", "/cron remove water"), "is a job of sluice.yaml")
		require.Equal(t, "`"+id+"` is removed.", said("15", "/cron remove "+id))
		require.Equal(t, "There is no such job here. `/cron` lists the jobs.", said("16", "/cron show "+id))
		require.Contains(t, said("17", `/cron add standup "45 9 * * *" Stand-up`), "next 2000-01-01 09:45:00")
		require.Equal(t, 4, b.audited("cron.add")+b.audited("cron.pause")+b.audited("cron.run"))

		group := b.hear(inGroup("g1", "owner", "18", "/cron", true)).Notice
		require.Equal(t, "There are no jobs here.", group, "what was made in private is not listed in a group")
	})
}
