package sqlite

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// opener makes readers over connections that are not there, and counts them.
func opener(t *testing.T) (r *readers, opened func() int, fail func(error)) {
	t.Helper()
	n := 0
	var broken error
	r, err := newReaders(func() (*statements, error) {
		if broken != nil {
			return nil, broken
		}
		n++
		return &statements{}, nil
	})
	require.NoError(t, err)
	return r, func() int { return n }, func(err error) { broken = err }
}

func TestReadersAreOpenedWhereReadsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, opened, fail := opener(t)
		first, err := r.take(t.Context())
		require.NoError(t, err)
		r.giveBack(first)
		again, err := r.take(t.Context())
		require.NoError(t, err)
		require.Same(t, first, again)

		began := time.Now()
		fail(errors.New("too many files"))
		_, err = r.take(t.Context())
		require.ErrorContains(t, err, "too many files")
		fail(nil)
		second, err := r.take(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2*readerWait, time.Since(began), "another is opened only where none is soon at rest")
		require.Equal(t, 2, opened())
		r.giveBack(first)
		r.giveBack(second)
		again, err = r.take(t.Context())
		require.NoError(t, err)
		require.Same(t, second, again, "the one that was used last")

		got := make(chan *statements)
		_, err = r.take(t.Context()) // the first
		require.NoError(t, err)
		go func() {
			reader, _ := r.take(t.Context())
			got <- reader
		}()
		time.Sleep(readerWait / 2)
		r.giveBack(second)
		require.Same(t, second, <-got)
		require.Equal(t, 2, opened())
	})
}

func TestReadersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, opened, _ := opener(t)
		for range readersMax {
			_, err := r.take(t.Context())
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := r.take(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, readersMax, opened())
	})
}
