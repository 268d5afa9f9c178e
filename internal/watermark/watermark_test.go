package watermark_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/watermark"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	now := time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)
	free, total, looks := int64(4000*mib), int64(100_000*mib), 0
	var fault error
	var log bytes.Buffer
	marks := watermark.Marks{Warn: 2000 * mib, Stop: 200 * mib}
	d := &watermark.Disk{Folder: "/state", Marks: func() watermark.Marks { return marks }, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)), Space: func(folder string) (int64, int64, error) {
		require.Equal(t, "/state", folder)
		looks++
		return free, total, fault
	}}
	full := func() bool {
		now = now.Add(time.Second)
		return d.Full() != nil
	}
	low := func() bool { _, is := d.Low(); return is }
	require.False(t, full())
	require.False(t, low())
	free = 1999 * mib
	require.True(t, low())
	require.False(t, full())
	free = 199 * mib
	require.True(t, full())
	require.ErrorContains(t, d.Full(), "199 MiB are free, and new messages are accepted again at 250 MiB (limits.diskStopBytes)")
	free = 249 * mib
	require.True(t, full(), "it does not change to and fro around the mark")
	free = 250 * mib
	require.False(t, full())
	free = 249 * mib
	require.False(t, full())

	was := looks
	for range 100 {
		_ = d.Full()
	}
	require.Equal(t, was, looks, "a busy gateway looks once a second")

	free, total = 24*mib, 1000*mib
	require.True(t, full(), "a small disk has small marks")
	free = 26 * mib
	require.True(t, full())
	free = 32 * mib
	require.False(t, full())
	fault = errors.New("input/output error")
	free = 0
	require.False(t, full())
	require.False(t, low())
	fault, marks = nil, watermark.Marks{}
	require.False(t, full(), "without marks")
	require.False(t, low())
	require.Equal(t, 2, strings.Count(log.String(), "not accepted"), "once each time")
	require.Equal(t, 2, strings.Count(log.String(), "accepted again: the disk has space"))
}
