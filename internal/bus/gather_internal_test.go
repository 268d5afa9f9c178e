package bus

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gathering is a gatherer with a server that is not there, and a clock of its own.
type gathering struct {
	*gatherer
	published []string
	asked     int // for the server
	leftOut   int
	clock     time.Time
}

func newGathering() *gathering {
	s := &gathering{clock: time.Unix(1_000_000, 0)}
	s.gatherer = &gatherer{
		publish: func(subject string, text []byte) {
			if subject == marksSubject {
				text = append([]byte("mark "), text...)
			}
			s.published = append(s.published, string(text))
		},
		embed:   func() { s.asked++ },
		dropped: func(events int) { s.leftOut += events },
		now:     func() time.Time { return s.clock },
	}
	return s
}

func (s *gathering) says(text string) { s.emit("subject", []byte(text)) }

func TestEventsAreGatheredWhileNoOneFollows(t *testing.T) {
	t.Parallel()
	s := newGathering()
	s.says("1")
	s.says("2")
	s.opened()
	require.Empty(t, s.published, "they wait, whether or not the server runs")
	leave, mark := s.follow()
	require.EqualValues(t, 1, mark)
	require.Equal(t, []string{"1", "2", "mark 1"}, s.published, "a follower begins behind what waited")
	s.says("3")
	require.Equal(t, []string{"1", "2", "mark 1", "3"}, s.published, "it gets each event at once")
	leave()
	leave()
	s.says("4")
	require.Len(t, s.published, 4)

	for n := range gatherMax {
		s.says("more " + strconv.Itoa(n))
	}
	require.Len(t, s.published, 4+1+gatherMax, "only so many wait")
	require.Zero(t, s.asked)
	s.says("last")
	_, mark = s.follow()
	require.EqualValues(t, 2, mark)
	require.Equal(t, []string{"last", "mark 2"}, s.published[4+1+gatherMax:], "none is published twice")
}

func TestLongTextsWaitInSmallNumbers(t *testing.T) {
	t.Parallel()
	s := newGathering()
	s.opened()
	long := strings.Repeat("x", gatherBytes/2)
	s.says(long)
	s.says(long)
	require.Empty(t, s.published)
	s.says("x")
	require.Len(t, s.published, 3)
	require.Zero(t, s.bytes)
}

// What the server would have forgotten by now is not published.
func TestOldEventsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newGathering()
	s.says("old")
	s.clock = s.clock.Add(eventsAge)
	s.says("as old as can be")
	s.clock = s.clock.Add(time.Second)
	s.opened()
	s.follow()
	require.Equal(t, []string{"as old as can be", "mark 1"}, s.published)

	s = newGathering()
	for range gatherMax {
		s.says("old")
	}
	s.clock = s.clock.Add(eventsAge + 1)
	s.says("new")
	require.Zero(t, s.asked, "what is old makes room and needs no server")
	require.Len(t, s.waiting, 1)
	require.Equal(t, len("new"), s.bytes)
	require.Zero(t, s.leftOut)
}

// More events than may wait ask for the server once. Until it runs, a bounded number waits.
func TestManyEventsStartTheServer(t *testing.T) {
	t.Parallel()
	s := newGathering()
	for range gatherMax {
		s.says("x")
	}
	require.Zero(t, s.asked)
	for range gatherSpare*gatherMax - gatherMax {
		s.says("x")
	}
	require.Equal(t, 1, s.asked)
	require.Zero(t, s.leftOut)
	s.says("last")
	require.Equal(t, gatherSpare*gatherMax/2+1, s.leftOut)
	require.Equal(t, gatherSpare*gatherMax+1, s.leftOut+len(s.waiting), "the rest waits")
	require.Equal(t, "last", string(s.waiting[len(s.waiting)-1].text))
	s.opened()
	require.Len(t, s.published, gatherSpare*gatherMax/2)
	require.Equal(t, "last", s.published[len(s.published)-1])
}
