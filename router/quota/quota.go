// Package quota limits the space that stored files use.
package quota

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"sluice/policy"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

const (
	// FileCost is added to the size of each stored file, so that the number of files is limited as well.
	FileCost = 4 << 10
	// programSteps: the files of programs are counted in this many steps of their limit, rounded up. A program that
	// measures the remaining space thus learns little about files of others, which may have a higher level.
	programSteps = 16
)

// Disk says whether the disk of the store has space for this many more bytes; otherwise it returns a [*FullError]. It
// is called by many goroutines.
type Disk func(bytes int64) error

// FullError says why a file is not stored. Its text may be shown to the sender of the file.
type FullError struct{ Text string }

// Error implements error.
func (e *FullError) Error() string { return e.Text }

// Files is the space left for the files of one session, for one goroutine. It reads the store once, and only if there
// is a file.
type Files struct {
	disk  Disk                                     // nil: no limit
	held  func(ctx context.Context) (int64, error) // bytes already stored
	full  func(used, most int64) *FullError        // says that a file would exceed most
	limit int64                                    // 0: no limit
	step  int64                                    // stored bytes are rounded up to these steps
	used  int64                                    // counted, including the files taken since
	seen  bool                                     // whether used is known
}

// Store counts stored files.
type Store interface {
	// MediaHeld sums the bytes of a session's files and adds each bytes per file. An empty id selects the files
	// without a session.
	MediaHeld(ctx context.Context, id sessions.ID, each int64) (int64, error)
}

// Limiter limits the space for stored files.
type Limiter struct {
	Store    Store
	Disk     Disk // nil: no limit
	Settings func() *place.Settings
}

// Of returns the quota for the files of a session. Files without a session come from programs and are counted together.
func (a *Limiter) Of(id sessions.ID) *Files {
	s := a.Settings()
	r := &Files{
		disk: a.Disk, limit: s.SessionFileBytes, step: 1, full: sessionFull,
		held: func(ctx context.Context) (int64, error) { return a.Store.MediaHeld(ctx, id, FileCost) },
	}
	if id == "" {
		r.limit, r.full = s.ProgramFileBytes, programFull
		r.step = max(r.limit/programSteps, 1)
	}
	return r
}

func sessionFull(used, most int64) *FullError {
	return &FullError{fmt.Sprintf("the files that were sent in this conversation use %s of at most %s (limits.sessionBytes); start a new conversation with /new, or wait until old files are deleted (retention.media)",
		humanBytes(used), humanBytes(most))}
}

func programFull(_, most int64) *FullError {
	return &FullError{fmt.Sprintf("the stored files of all programs may use %s together, and these files would exceed that (limits.workspaceBytes); wait until old files are deleted (retention.media), or ask the owner of this gateway",
		humanBytes(most))}
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// Admit says whether a file of this size may be stored.
func (f *Files) Admit(ctx context.Context, size int64) error {
	if policy.CheckSpace.Skipped() {
		return nil
	}
	if f.disk != nil {
		if err := f.disk(size); err != nil {
			return err
		}
	}
	if f.limit == 0 {
		return nil
	}
	if !f.seen {
		held, err := f.held(ctx)
		if err != nil {
			return fmt.Errorf("count stored files: %w", err)
		}
		f.used, f.seen = f.used+(held+f.step-1)/f.step*f.step, true
	}
	if f.used+size+FileCost > f.limit {
		return f.full(f.used, f.limit)
	}
	return nil
}

// AdmitAll says whether all of the files may be stored.
func (f *Files) AdmitAll(ctx context.Context, files []ledger.Media) error {
	for _, m := range files {
		if err := f.Admit(ctx, m.Size); err != nil {
			return err
		}
		f.Take(m.Size)
	}
	return nil
}

// Take counts a file that will be stored.
func (f *Files) Take(size int64) { f.used += size + FileCost }

// NotKept is the note for an attachment that was not stored for lack of space.
func NotKept(err error) (string, bool) {
	full, ok := errors.AsType[*FullError](err)
	if !ok {
		return "", false
	}
	return "it was not stored: " + full.Text, true
}
