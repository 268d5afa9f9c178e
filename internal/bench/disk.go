package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	pageSize  = 4096
	groupSize = 64 // pages per sync, as in a group commit
	diskRound = 2 * time.Second
)

const (
	diskOne   = "disk: 4 KiB appended and synced, one writer"
	diskGroup = "disk: 4 KiB appended, 64 in one sync"
)

// measureDisk measures the disk itself, as the yardstick for commits.
func measureDisk(ctx context.Context, b *bench) error {
	var one, group []float64
	for range b.rounds {
		for _, m := range []struct {
			pages int
			into  *[]float64
		}{{1, &one}, {groupSize, &group}} {
			rate, err := appendSynced(ctx, filepath.Join(b.dir, "disk"), m.pages)
			if err != nil {
				return err
			}
			*m.into = append(*m.into, rate)
		}
	}
	b.report.add(diskOne, "", perSecond, one...)
	b.report.add(diskGroup, "", perSecond, group...)
	return nil
}

// appendSynced appends pages in groups, each with one fdatasync, and returns the pages per second.
func appendSynced(ctx context.Context, path string, pages int) (rate float64, err error) {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, fmt.Errorf("open file for sync: %w", err)
	}
	defer os.Remove(path) //nolint:errcheck // a temporary file
	defer f.Close()       //nolint:errcheck // every write was checked
	chunk := make([]byte, pages*pageSize)
	began, done := time.Now(), 0
	for time.Since(began) < diskRound && ctx.Err() == nil {
		if _, err := f.Write(chunk); err != nil {
			return 0, fmt.Errorf("append: %w", err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, fmt.Errorf("sync: %w", err)
		}
		done += pages
	}
	return float64(done) / time.Since(began).Seconds(), nil
}
