package chaos_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/store/storetest"
)

// The database's server dies, and its standby, which follows by synchronous streaming replication, takes over while people write to two
// gateways. Nothing is lost, and nothing is said twice.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	messages := 40
	if *long {
		messages = 1500
	}
	server := storetest.NewServer(t)
	database := server.Database(t)
	standby := server.Standby(t)
	f := newFleet(t, 2, server.Either(database, standby))
	for i := range f.each {
		f.run(i, f.binary)
	}
	f.talk(messages, ended)
	server.Kill(t)
	f.talk(messages/4, ended)
	f.pause(time.Second) // until somebody notices
	standby.Promote(t)
	promoted := time.Now()
	said := f.say(1001, "")
	f.untilShown("an answer after the fail-over", func() bool { return f.answered(said) })
	t.Logf("the first answer came %s after the standby took over", time.Since(promoted).Round(time.Millisecond))
	f.talk(messages, ended)
	f.process, f.config = f.each[0], f.configs[0]
	f.awaitAnswers()
	verdict, unknown := f.judge()
	require.Equal(t, 2, f.lives)
	require.Empty(t, unknown, "a process that lives on knows what it has sent")
	require.Empty(t, verdict.Repeats)
	require.Empty(t, f.rows("failed", "expired", "blocked"), "dead letters")
	f.process = nil
}
