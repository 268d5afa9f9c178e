//go:build unix

package telegram_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram"
	"sluice/adapters/telegram/telegramtest"
)

// BenchmarkSend reports, as cpu-µs/op, the processor time of both sides of a
// send: the adapter's and the fake's, which run in this one process.
func BenchmarkSend(b *testing.B) {
	srv, err := telegramtest.NewServer(telegramtest.Options{Forget: true})
	require.NoError(b, err)
	defer srv.Close()
	srv.Join(telegramtest.Private(1001))
	a, err := telegram.New(telegram.Config{Token: adapters.Secret(srv.Token()), APIBase: srv.URL()})
	require.NoError(b, err)
	defer a.Close()
	before := processorTime(b)
	for b.Loop() {
		if _, err := a.Send(b.Context(), out(direct("1001"), "You said: **hello** there")); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
