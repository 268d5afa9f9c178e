package bus

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEventsAreGatheredWhileNoOneFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var published []string
		g := &gatherer{publish: func(subject string, text []byte) {
			if subject == marksSubject {
				text = append([]byte("mark "), text...)
			}
			published = append(published, string(text))
		}}
		emit := func(text string) { g.emit("subject", []byte(text)) }
		seen := func() []string {
			g.mu.Lock() // held while events are published
			defer g.mu.Unlock()
			return published
		}
		emit("1")
		emit("2")
		synctest.Wait()
		require.Empty(t, seen(), "they wait")
		time.Sleep(gatherFor)
		synctest.Wait()
		require.Equal(t, []string{"1", "2"}, published)

		emit("3")
		leave, mark := g.follow()
		require.EqualValues(t, 1, mark)
		require.Equal(t, []string{"1", "2", "3", "mark 1"}, published, "a follower begins behind what waited")
		emit("4")
		require.Equal(t, []string{"1", "2", "3", "mark 1", "4"}, published, "it gets each event at once")
		leave()
		leave()
		emit("5")
		require.Len(t, seen(), 5)

		for n := range gatherMax {
			emit("more " + strconv.Itoa(n))
		}
		require.Len(t, seen(), 5+1+gatherMax, "only so many wait")
		emit("last")
		g.close()
		emit("after")
		require.Equal(t, []string{"last", "after"}, published[len(published)-2:])
		time.Sleep(time.Hour)
		require.Len(t, seen(), 5+1+gatherMax+2, "none is published twice")
	})
}
