package quota

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/place"
	"sluice/sessions"
)

var errDisk = errors.New("disk I/O error")

// counted is a store with this many bytes of files.
type counted struct {
	held  int64
	err   error
	asked int
}

func (c *counted) MediaHeld(context.Context, sessions.ID, int64) (int64, error) {
	c.asked++
	return c.held, c.err
}

// A session's files may take exactly their bound; what programs give counts in steps; the disk has its own word.
func TestRoom(t *testing.T) {
	t.Parallel()
	full := &FullError{Text: "the disk is full"}
	for name, c := range map[string]struct {
		session sessions.ID
		most    int64
		store   counted
		disk    error
		sizes   []int64
		want    []bool // of each size: it may be stored
		err     error  // of the last
	}{
		"no bound":                         {"sess_1", 0, counted{err: errDisk}, nil, []int64{1 << 40}, []bool{true}, nil},
		"as large as may be":               {"sess_1", 3 * FileCost, counted{held: FileCost}, nil, []int64{FileCost}, []bool{true}, nil},
		"one byte more":                    {"sess_1", 3 * FileCost, counted{held: FileCost}, nil, []int64{FileCost + 1}, []bool{false}, nil},
		"what was taken counts":            {"sess_1", 3 * FileCost, counted{}, nil, []int64{FileCost, 1}, []bool{true, false}, nil},
		"programs' files count in steps":   {"", 16 * FileCost, counted{held: 14*FileCost + 1}, nil, []int64{1}, []bool{false}, nil},
		"where the disk is full":           {"sess_1", 0, counted{}, full, []int64{1}, []bool{false}, full},
		"where files can not be counted":   {"sess_1", 1 << 20, counted{err: errDisk}, nil, []int64{1}, []bool{false}, errDisk},
		"programs' files beside a session": {"sess_1", 16 * FileCost, counted{held: 14*FileCost + 1}, nil, []int64{1}, []bool{true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &Limiter{
				Store: &c.store, Disk: func(int64) error { return c.disk },
				Settings: func() *place.Settings { return &place.Settings{SessionFileBytes: c.most, ProgramFileBytes: c.most} },
			}
			r := a.Of(c.session)
			for i, size := range c.sizes {
				err := r.Admit(t.Context(), size)
				require.Equal(t, c.want[i], err == nil, "%d: %v", i, err)
				if err == nil {
					r.Take(size)
					continue
				}
				if c.err != nil {
					require.ErrorIs(t, err, c.err)
				}
				note, ok := NotKept(err)
				require.Equal(t, !errors.Is(err, errDisk), ok)
				require.Equal(t, ok, note != "")
			}
			require.LessOrEqual(t, c.store.asked, 1, "the store is asked once")
		})
	}
}
