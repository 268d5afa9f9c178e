package router

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"sluice/policy"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// fileCost is what each stored file counts besides its content: so the number of files is bounded too.
	fileCost = 4 << 10
	// programSteps: what programs have given counts in this many steps of its bound, rounded up. So a program that tries how much
	// room is left learns little about what others, whose level may be above its own, have sent.
	programSteps = 16
)

// Room says whether the disk of the store has room for so many bytes more; [*NoRoomError]: it has not. It is called by many goroutines.
type Room func(bytes int64) error

// NoRoomError says why a file is not kept. The text may be shown to the person or program that sent the file.
type NoRoomError struct{ Text string }

// Error implements error.
func (e *NoRoomError) Error() string { return e.Text }

// fileRoom is the room for the files of one session, for one goroutine. The store is asked once, and only where there is a file.
type fileRoom struct {
	disk Room                                     // nil: the disk has no bound
	held func(ctx context.Context) (int64, error) // what is stored
	full func(used, most int64) *NoRoomError      // says that a file would exceed most
	most int64                                    // 0: no bound
	step int64                                    // what is stored counts in these steps, rounded up
	used int64                                    // counted, with what was taken since
	seen bool                                     // used is known
}

// roomOf is the room for the files of a session. Those without one come from programs, and count together.
func (r *Router) roomOf(id sessions.ID) *fileRoom {
	s := r.settings.Load()
	room := &fileRoom{
		disk: r.room, most: s.SessionFileBytes, step: 1, full: sessionFull,
		held: func(ctx context.Context) (int64, error) { return r.store.MediaHeld(ctx, id, fileCost) },
	}
	if id == "" {
		room.most, room.full = s.ProgramFileBytes, programFull
		room.step = max(room.most/programSteps, 1)
	}
	return room
}

func sessionFull(used, most int64) *NoRoomError {
	return &NoRoomError{fmt.Sprintf("the files that were sent in this conversation take %s of at most %s (limits.sessionBytes); start a new conversation with /new, or wait until old files are deleted (retention.media)",
		humanBytes(used), humanBytes(most))}
}

func programFull(_, most int64) *NoRoomError {
	return &NoRoomError{fmt.Sprintf("the stored files of all programs may take %s together and these files would exceed that (limits.workspaceBytes); wait until old files are deleted (retention.media), or ask the owner of this gateway",
		humanBytes(most))}
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// admit says whether a file of so many bytes may be stored.
func (f *fileRoom) admit(ctx context.Context, size int64) error {
	if policy.CheckSpace.Skipped() {
		return nil
	}
	if f.disk != nil {
		if err := f.disk(size); err != nil {
			return err
		}
	}
	if f.most == 0 {
		return nil
	}
	if !f.seen {
		held, err := f.held(ctx)
		if err != nil {
			return fmt.Errorf("count stored files: %w", err)
		}
		f.used, f.seen = f.used+(held+f.step-1)/f.step*f.step, true
	}
	if f.used+size+fileCost > f.most {
		return f.full(f.used, f.most)
	}
	return nil
}

// admitAll says whether all of the files may be stored.
func (f *fileRoom) admitAll(ctx context.Context, files []ledger.Media) error {
	for _, m := range files {
		if err := f.admit(ctx, m.Size); err != nil {
			return err
		}
		f.take(m.Size)
	}
	return nil
}

// take counts a file that will be stored.
func (f *fileRoom) take(size int64) { f.used += size + fileCost }

// notKept is the note of an attachment that has no room.
func notKept(err error) (string, bool) {
	full, ok := errors.AsType[*NoRoomError](err)
	if !ok {
		return "", false
	}
	return "it was not kept: " + full.Text, true
}
