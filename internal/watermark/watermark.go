// Package watermark watches the free space of a disk. Below the first threshold the owner is warned, and below the second one
// the gateway accepts no new messages, so that the disk is never full in the middle of a write.
package watermark

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
)

const (
	// every is the time between two measurements of [Disk.Full], which is called for each message.
	every = time.Second
	// warnShare and stopShare limit the thresholds on a small disk, to 1/5 and 1/40 of it.
	warnShare, stopShare = 5, 40
)

// Marks are the thresholds in free bytes. 0: none.
type Marks struct{ Warn, Stop int64 }

// Disk is a disk with its marks. It is safe for concurrent use. All fields are required.
type Disk struct {
	Folder string // on the disk
	Marks  func() Marks
	Space  func(folder string) (free, total int64, err error)
	Now    func() time.Time
	Log    *slog.Logger

	mu   sync.Mutex
	at   time.Time  // of the last measurement
	full *FullError // nil while new messages are accepted
}

// FullError says that the disk is below the threshold for new messages.
type FullError struct{ Free, Mark int64 }

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("the gateway's disk is nearly full: %s are free, and new messages are accepted again at %s (limits.diskStopBytes)",
		humanize.IBytes(uint64(max(e.Free, 0))), humanize.IBytes(uint64(e.Mark)))
}

// Full returns a *[FullError] while no new messages are accepted. It measures the disk at most once a second. A disk that can't
// be measured does not count as full: the store reports what is wrong with it.
func (d *Disk) Full() error {
	now := d.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if since := now.Sub(d.at); since >= every || since < 0 || d.at.IsZero() {
		d.look(now)
	}
	if d.full != nil {
		return d.full
	}
	return nil
}

// Low reports whether the free space is below the threshold for the warning.
func (d *Disk) Low() (free int64, low bool) {
	free, warn, err := d.Room()
	return free, err == nil && free < warn
}

// Room returns the free space and the threshold for the warning.
func (d *Disk) Room() (free, warn int64, err error) {
	free, total, err := d.Space(d.Folder)
	return free, min(d.Marks().Warn, total/warnShare), err
}

// look measures the disk. A full disk needs a quarter more space than the threshold until messages are accepted again. The
// caller holds mu.
func (d *Disk) look(now time.Time) {
	d.at = now
	free, total, err := d.Space(d.Folder)
	stop := min(d.Marks().Stop, total/stopShare)
	again, was := stop+stop/4, d.full
	switch {
	case err != nil || was == nil && free >= stop || free >= again:
		d.full = nil
	default:
		d.full = &FullError{Free: free, Mark: again}
	}
	switch {
	case was == nil && d.full != nil:
		d.Log.Warn("new messages are not accepted", "err", d.full)
	case was != nil && d.full == nil:
		d.Log.Info("new messages are accepted again: the disk has space")
	}
}
