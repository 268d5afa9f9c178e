package trouble

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/policy/flow"
)

// house is a gateway with troubles.
type house struct {
	Watch
	mu       sync.Mutex // of what follows: the watch has its own goroutine
	troubles []Trouble
	told     []string
	direct   []string // what the owner was told directly
	last     alert.Incoming
	fault    error
	nowhere  bool // no channel works
	on       bool
	panics   bool
	looks    int
}

func newHouse() *house {
	h := &house{on: true}
	h.Watch = Watch{
		On: func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.on
		},
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Look: func(context.Context) ([]Trouble, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.looks++
			if h.panics {
				panic("broken")
			}
			return slices.Clone(h.troubles), nil
		},
		Tell: func(_ context.Context, _ *Trouble, text, key string) (bool, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.nowhere {
				return false, nil
			}
			h.direct = append(h.direct, key+": "+text)
			return h.fault == nil, h.fault
		},
		Report: func(_ context.Context, reports []alert.Incoming) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.fault != nil {
				return h.fault
			}
			for _, r := range reports {
				action := "fire"
				if r.Action == alert.Resolve {
					action = "resolve"
				}
				h.told, h.last = append(h.told, action+" "+r.Key), r
			}
			return nil
		},
	}
	return h
}

func TestTroublesBecomeAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go h.Run(ctx)
		h.mu.Lock()
		defer h.mu.Unlock()
		wait := func(d time.Duration) {
			h.mu.Unlock()
			time.Sleep(d)
			synctest.Wait()
			h.mu.Lock()
		}
		told := func(want ...string) {
			t.Helper()
			require.Equal(t, want, h.told)
			h.told = nil
		}
		wait(time.Second) // between two looks
		h.troubles = []Trouble{{Name: "account/telegram/default", Severity: alert.Error, Title: "deaf", Level: flow.Confidential}}
		wait(Every)
		told() // it may be over at once
		h.fault = errors.New("the database is away")
		wait(Every)
		h.fault, h.panics = nil, true
		wait(Every)
		told()
		h.panics = false
		wait(Every)
		told("fire sluice/account/telegram/default")
		require.Equal(t, flow.NewLabel(flow.Confidential, flow.Trusted), h.last.Label)
		require.Equal(t, time.Now().Add(lasts-time.Second), h.last.Ends)
		wait(again)
		told("fire sluice/account/telegram/default") // otherwise it would expire
		h.troubles[0].Severity = alert.Critical
		wait(Every)
		told("fire sluice/account/telegram/default")
		h.troubles = nil
		wait(Every)
		told("resolve sluice/account/telegram/default")
		wait(again)
		told()

		h.troubles = []Trouble{{Name: "budget/house", Severity: alert.Warning, Once: true, Until: time.Now().Add(24 * time.Hour)}}
		wait(2 * Every)
		told("fire sluice/budget/house")
		require.Equal(t, h.troubles[0].Until, h.last.Ends, "it stays an alert even if the gateway dies")
		require.Equal(t, flow.NewLabel(flow.Public, flow.Trusted), h.last.Label)
		h.troubles = nil
		wait(Every)
		told("resolve sluice/budget/house")

		require.Empty(t, h.direct)
	})
}

// Without alerts, the owner is told when a trouble begins and when it ends; with alerts, of a channel that does not work, because
// its alert may be sent there.
func TestTheOwnerIsToldDirectly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.on = false
		hour := strconv.FormatInt(time.Now().Unix()/3600, 10)
		h.troubles = []Trouble{{Name: "disk/a", Title: "Full", Text: "Free space."}, {Name: "model/x", Title: "Away", Told: true}}
		look := func(want ...string) {
			t.Helper()
			h.look(t.Context())
			require.Equal(t, want, h.direct)
			h.direct = nil
		}
		look()
		h.fault = errors.New("the database is away")
		look("sluice/disk/a/begins/" + hour + ": Full. Free space.")
		h.fault = nil
		look("sluice/disk/a/begins/" + hour + ": Full. Free space.")
		look()
		time.Sleep(again)
		look()
		h.troubles = nil
		look("sluice/disk/a/ends/" + hour + ": Over: Full.")
		require.Empty(t, h.told)

		h.troubles = []Trouble{{Name: "disk/a", Severity: alert.Warning, Title: "Filling", Text: "Free space."}}
		look()
		look("sluice/disk/a/begins/warning/" + hour + ": Filling. Free space.")
		h.troubles[0].Severity, h.troubles[0].Title = alert.Critical, "Nothing is taken in"
		look("sluice/disk/a/begins/critical/" + hour + ": Nothing is taken in. Free space.")
		h.troubles = nil
		look("sluice/disk/a/ends/" + hour + ": Over: Nothing is taken in.")

		h.on = true
		h.troubles = []Trouble{{Name: "disk/a", Title: "Full"}, {Name: "telegram/default", Title: "Deaf", Text: "Look.", Avoid: "telegram"}}
		look()
		look("sluice/telegram/default/begins/" + hour + ": Deaf. Look.")
		require.Equal(t, []string{"fire sluice/disk/a", "fire sluice/telegram/default"}, h.told)
	})
}

// An owner who can't be told of one trouble is told of the others, and their alerts are sent.
func TestWhatCannotBeToldHoldsUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		deaf := Trouble{Name: "discord/default", Title: "Deaf", Text: "Look.", Avoid: "discord"}
		h.troubles = []Trouble{deaf}
		h.look(t.Context())
		away := h.Watch.Tell
		h.Watch.Tell = func(context.Context, *Trouble, string, string) (bool, error) {
			return false, errors.New("nobody there")
		}
		h.look(t.Context())
		h.troubles = []Trouble{deaf, {Name: "disk/a", Title: "Full"}}
		h.look(t.Context())
		h.look(t.Context())
		require.Contains(t, h.told, "fire sluice/disk/a")
		h.Watch.Tell = away
		h.look(t.Context())
		require.Len(t, h.direct, 1)
		h.look(t.Context())
		require.Len(t, h.direct, 1)
	})
}

// Of a trouble that begins and ends while nobody can be told, the owner hears nothing. An end that can't be told is told later.
func TestNoEndIsToldWithoutItsBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.on = false
		hour := strconv.FormatInt(time.Now().Unix()/3600, 10)
		full := []Trouble{{Name: "disk/a", Severity: alert.Warning, Title: "Full", Text: "Free space."}}
		look := func(troubles []Trouble, away bool, want ...string) {
			t.Helper()
			h.troubles, h.fault = troubles, nil
			if away {
				h.fault = errors.New("the database is away")
			}
			h.look(t.Context())
			require.Equal(t, want, h.direct)
			h.direct = nil
		}
		begins, ends := "sluice/disk/a/begins/warning/"+hour+": Full. Free space.", "sluice/disk/a/ends/"+hour+": Over: Full."
		look(full, true)
		look(full, true, begins) // in vain
		look(nil, false)
		look(full, false)
		look(full, false, begins)
		worse := slices.Clone(full)
		worse[0].Severity = alert.Critical
		look(worse, true, "sluice/disk/a/begins/critical/"+hour+": Full. Free space.") // in vain
		look(nil, true, ends)
		look(nil, false, ends)
		look(nil, false)
	})
}

// An alert that outlives its replica ends when the next one sees that the trouble is over; once, whatever is reported meanwhile.
func TestWhatIsOverEndsAtTheFirstLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.troubles = []Trouble{{Name: "budget/house", Severity: alert.Warning, Over: true}}
		h.fault = errors.New("the database is away")
		h.look(t.Context())
		require.Empty(t, h.told)
		h.fault = nil
		for range 3 {
			h.look(t.Context())
		}
		require.Equal(t, []string{"resolve sluice/budget/house"}, h.told)
		h.troubles[0].Over = false
		h.look(t.Context())
		h.look(t.Context())
		require.Equal(t, []string{"resolve sluice/budget/house", "fire sluice/budget/house"}, h.told)
		h.troubles[0].Over = true
		h.look(t.Context())
		require.Equal(t, []string{"resolve sluice/budget/house", "fire sluice/budget/house", "resolve sluice/budget/house"}, h.told)
	})
}

// An end is told only to who was told the beginning, and a trouble is told as soon as there is a channel.
func TestATroubleWithoutAWorkingChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		h.nowhere, h.on = true, false
		down := Trouble{Name: "telegram/default", Title: "Down", Text: "Look.", Avoid: "telegram"}
		h.troubles = []Trouble{down}
		h.look(t.Context())
		h.look(t.Context())
		h.troubles = nil
		h.look(t.Context())
		h.nowhere = false
		h.look(t.Context())
		require.Empty(t, h.direct)

		h.nowhere, h.troubles = true, []Trouble{down}
		h.look(t.Context())
		h.look(t.Context())
		h.nowhere = false
		h.look(t.Context())
		require.Len(t, h.direct, 1)
		require.Contains(t, h.direct[0], ": Down. Look.")
		h.look(t.Context())
		h.troubles = nil
		h.look(t.Context())
		require.Len(t, h.direct, 2)
		require.Contains(t, h.direct[1], ": Over: Down.")

		h.troubles = []Trouble{down}
		h.look(t.Context())
		time.Sleep(tellEach)
		h.look(t.Context())
		require.Len(t, h.direct, 3)
		h.nowhere, h.troubles = true, nil
		h.look(t.Context())
		h.nowhere = false
		h.look(t.Context())
		require.Len(t, h.direct, 4, "the end is told when there is a channel")
		require.Contains(t, h.direct[3], ": Over: Down.")

		h.on, h.nowhere, h.troubles = true, true, []Trouble{down}
		for range 6 {
			h.look(t.Context())
			time.Sleep(Every)
		}
		require.Equal(t, []string{"fire sluice/telegram/default"}, h.told, "it is not reported each time that it can't be told")
	})
}

// A trouble may have to last before it is reported.
func TestATroubleThatMustLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		brief := Trouble{Name: "replicas/config", Title: "Different", For: 5 * time.Minute}
		for range 2 {
			h.troubles = []Trouble{brief}
			for range 10 {
				h.look(t.Context())
				time.Sleep(Every)
			}
			h.troubles = nil
			h.look(t.Context())
		}
		require.Empty(t, h.told)
		h.troubles = []Trouble{brief}
		for range 11 {
			h.look(t.Context())
			time.Sleep(Every)
		}
		require.Equal(t, []string{"fire sluice/replicas/config"}, h.told)
	})
}
