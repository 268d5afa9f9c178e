// Package room bounds what stored files take.
package room

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
	// fileCost is what each stored file counts besides its content: so the number of files is bounded too.
	fileCost = 4 << 10
	// programSteps: what programs have given counts in this many steps of its bound, rounded up. So a program that tries how much
	// room is left learns little about what others, whose level may be above its own, have sent.
	programSteps = 16
)

// Disk says whether the disk of the store has room for so many bytes more; [*FullError]: it has not. It is called by many goroutines.
type Disk func(bytes int64) error

// FullError says why a file is not kept. The text may be shown to the person or program that sent the file.
type FullError struct{ Text string }

// Error implements error.
func (e *FullError) Error() string { return e.Text }

// Room is what the files of one session may still take, for one goroutine. The store is asked once, and only where there is a file.
type Room struct {
	disk  Disk                                     // nil: the disk has no bound
	held  func(ctx context.Context) (int64, error) // what is stored
	full  func(used, most int64) *FullError        // says that a file would exceed most
	limit int64                                    // 0: no bound
	step  int64                                    // what is stored counts in these steps, rounded up
	used  int64                                    // counted, with what was taken since
	seen  bool                                     // used is known
}

// Store counts stored files.
type Store interface {
	// MediaHeld counts the bytes of the files of a session, each with so much more for itself. An empty id: of those without a session.
	MediaHeld(ctx context.Context, id sessions.ID, each int64) (int64, error)
}

// Allowance is how much may be stored.
type Allowance struct {
	Store    Store
	Disk     Disk // nil: no bound
	Settings func() *place.Settings
}

// Of is the room for the files of a session. Those without one come from programs, and count together.
func (a *Allowance) Of(id sessions.ID) *Room {
	s := a.Settings()
	r := &Room{
		disk: a.Disk, limit: s.SessionFileBytes, step: 1, full: sessionFull,
		held: func(ctx context.Context) (int64, error) { return a.Store.MediaHeld(ctx, id, fileCost) },
	}
	if id == "" {
		r.limit, r.full = s.ProgramFileBytes, programFull
		r.step = max(r.limit/programSteps, 1)
	}
	return r
}

func sessionFull(used, most int64) *FullError {
	return &FullError{fmt.Sprintf("the files that were sent in this conversation take %s of at most %s (limits.sessionBytes); start a new conversation with /new, or wait until old files are deleted (retention.media)",
		humanBytes(used), humanBytes(most))}
}

func programFull(_, most int64) *FullError {
	return &FullError{fmt.Sprintf("the stored files of all programs may take %s together and these files would exceed that (limits.workspaceBytes); wait until old files are deleted (retention.media), or ask the owner of this gateway",
		humanBytes(most))}
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// Admit says whether a file of so many bytes may be stored.
func (f *Room) Admit(ctx context.Context, size int64) error {
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
	if f.used+size+fileCost > f.limit {
		return f.full(f.used, f.limit)
	}
	return nil
}

// AdmitAll says whether all of the files may be stored.
func (f *Room) AdmitAll(ctx context.Context, files []ledger.Media) error {
	for _, m := range files {
		if err := f.Admit(ctx, m.Size); err != nil {
			return err
		}
		f.Take(m.Size)
	}
	return nil
}

// Take counts a file that will be stored.
func (f *Room) Take(size int64) { f.used += size + fileCost }

// NotKept is the note of an attachment that has no room.
func NotKept(err error) (string, bool) {
	full, ok := errors.AsType[*FullError](err)
	if !ok {
		return "", false
	}
	return "it was not stored: " + full.Text, true
}
