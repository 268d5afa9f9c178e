package router_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

// BenchmarkExchanges runs a thousand exchanges of seven steps each at once, on the
// real store and the embedded bus, between agents that answer without a delay. It reports steps a second,
// and, for one exchange at a time, what a step takes beyond its model.
func BenchmarkExchanges(b *testing.B) {
	const many = 1000
	b.Run("a thousand at once", func(b *testing.B) {
		k := newTalkers(b)
		for round := 0; b.Loop(); round++ {
			started := time.Now()
			var wg sync.WaitGroup
			for i := range many {
				wg.Go(func() { k.begin(fmt.Sprint(round, "/", i), i) })
			}
			wg.Wait()
			k.idle()
			b.ReportMetric(float64(many*7)/time.Since(started).Seconds(), "steps/s")
		}
	})
	b.Run("one after the other", func(b *testing.B) {
		k := newTalkers(b)
		var took []time.Duration
		for i := 0; b.Loop(); i++ {
			started := time.Now()
			k.exchange(fmt.Sprint("one/", i), i)
			took = append(took, time.Since(started)/7)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/step(p50)")
	})
}

// talkers are sessions that were spoken to, in pairs.
type talkers struct {
	*bundle
	from, to []sessions.Record
}

func newTalkers(b *testing.B) *talkers {
	b.Helper()
	k := &talkers{bundle: newBundle(b, func(b *bundle) { b.settings.Exchanges, b.embedded = exchangeBounds(), true })}
	for i := range 64 {
		for _, side := range []*[]sessions.Record{&k.from, &k.to} {
			record := k.Router.Places().NewAgentSession("main")
			record.Key = sessions.Key(fmt.Sprintf("agent:main:test:group:%d-%p", i, side))
			record.Route = sessions.Route{Channel: "test", Account: "default", ChatType: sessions.Group, Conversation: sessions.ConversationID(record.ID)}
			require.NoError(b, k.store.CommitSession(context.Background(), sessions.Change{Create: []sessions.Record{record}}))
			*side = append(*side, record)
		}
	}
	return k
}

// begin starts an exchange.
func (k *talkers) begin(name string, i int) ledger.Exchange {
	from, to := k.from[i%len(k.from)], k.to[i%len(k.to)]
	x, err := k.Exchanges().Start(context.Background(), exchange.Ask{
		Kind: announce.Send, Caller: caller(from), Target: to, Text: name, Label: from.Taint, Key: name,
	})
	require.NoError(k.t, err)
	return x
}

// idle waits until no exchange is open. It looks now and then, to leave the machine to those who work.
func (k *talkers) idle() {
	for {
		open, err := k.store.ListExchanges(context.Background(), ledger.ExchangeQuery{MaxLevel: flow.Restricted, Open: true, Limit: 1})
		require.NoError(k.t, err)
		if len(open) == 0 {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// exchange runs one exchange to its end.
func (k *talkers) exchange(name string, i int) {
	x := k.begin(name, i)
	for x.Phase != announce.Ended {
		_, err := k.WaitRun(context.Background(), x.Run, time.Minute)
		require.NoError(k.t, err)
		x, err = k.store.Exchange(context.Background(), x.ID)
		require.NoError(k.t, err)
	}
}
