package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
)

// Bounds are what the files of sessions may take of a disk, in bytes. 0 is no bound.
type Bounds struct {
	Workspace int64 // the files of all sessions of an agent
	Session   int64 // the files of one session
	Reserve   int64 // free space that is left to messages and the store, see Quota
}

const (
	// entryCost is what each file and folder counts besides its content: so their number is bounded too.
	entryCost = 4 << 10
	// freshFor is how long the measured size of a folder is relied on; own writes are added to it in the meantime.
	freshFor = 10 * time.Minute
	// sumFor is the same for the sum of a workspace.
	sumFor = 30 * time.Second
	// commandSpare is what a command may write in a session that has no room left: else it could not even tidy up.
	commandSpare = 1 << 20
	// othersSteps: what other sessions hold counts in this many steps of the workspace, rounded up. So a session that tries how
	// much room is left learns no more of the files of others, whose level may be above its own.
	othersSteps = 16
	// reserveShare: on a small disk the reserve is this part of it.
	reserveShare = 10
)

// ErrNoSpace is what the refusals of a quota are, each with its reason.
var ErrNoSpace = errors.New("no space for files")

type spaceError string

func (e spaceError) Error() string { return string(e) }

func (spaceError) Is(target error) bool { return target == ErrNoSpace }

// Disk says how much of the disk of a folder is free for an unprivileged user, and how large it is.
type Disk func(folder string) (free, total int64, err error)

// Quota keeps the files of sessions within their bounds, and the disk's reserve free of them. It is safe for concurrent use.
//
// The size of a folder is measured when it is first asked about, and then again when it seems to be full or is not
// fresh; own writes are added to it. A folder is <workspace>/sessions/<session>.
type Quota struct {
	bounds func() Bounds
	disk   Disk
	now    func() time.Time

	mu   sync.Mutex
	used map[string]size // by session folder
	sums map[string]size // by the folder of all of them
}

// size is what a folder held when it was measured, with what was written there since.
type size struct {
	bytes int64
	at    time.Time
}

// NewQuota creates a Quota. bounds gives those that hold now; a nil disk is the machine's.
func NewQuota(bounds func() Bounds, disk Disk, now func() time.Time) *Quota {
	if disk == nil {
		disk = freeSpace
	}
	return &Quota{bounds: bounds, disk: disk, now: now, used: map[string]size{}, sums: map[string]size{}}
}

// Admit makes room for n bytes more in a session's folder, or says why there is not enough. A nil Quota has no bounds.
func (q *Quota) Admit(ctx context.Context, folder string, n int64) error {
	if q == nil {
		return nil
	}
	b := q.bounds()
	if err := q.reserved(folder, b, n); err != nil {
		return err
	}
	if err := q.fits(ctx, folder, b, n); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range []map[string]size{q.used, q.sums} {
		key := folder
		if s, ok := m[key]; ok {
			s.bytes += n
			m[key] = s
		}
		folder = filepath.Dir(folder)
	}
	return nil
}

// Reserve says why a file of n bytes in a folder, of which no session is bounded, would touch the disk's reserve; nil: it would not.
// A nil Quota has no bounds.
func (q *Quota) Reserve(folder string, n int64) error {
	if q == nil {
		return nil
	}
	return q.reserved(folder, q.bounds(), n)
}

// reserved says whether the disk's reserve is touched when n bytes more are written.
func (q *Quota) reserved(folder string, b Bounds, n int64) error {
	free, total, err := q.disk(folder)
	if err != nil {
		return fmt.Errorf("read free space: %w", err)
	}
	reserve := min(b.Reserve, total/reserveShare)
	if free-n >= reserve || b.Reserve == 0 {
		return nil
	}
	return spaceError("the disk is low on space: the rest is reserved for messages (limits.reserveBytes); the owner of this gateway has to free some")
}

// fits says whether a session's folder and the workspace have room for n bytes more.
func (q *Quota) fits(ctx context.Context, folder string, b Bounds, n int64) error {
	for _, remeasure := range []bool{false, true} {
		used, err := q.usedBy(ctx, folder, remeasure)
		if err != nil {
			return err
		}
		sum, err := q.sumOf(ctx, filepath.Dir(folder), remeasure)
		if err != nil {
			return err
		}
		full := error(nil)
		switch {
		case b.Session > 0 && used+n > b.Session:
			full = spaceError(fmt.Sprintf("the files of this conversation take %s, and this would take %s more: the maximum is %s (limits.sessionBytes); delete some of them first", text(used), text(n), text(b.Session)))
		case b.Workspace > 0 && b.others(sum-used)+used+n > b.Workspace:
			// How much others have is not for this session to know.
			full = spaceError(fmt.Sprintf("the files of all conversations with this agent may take %s together, and this would be more (limits.workspaceBytes); delete some, or ask the owner of this gateway", text(b.Workspace)))
		}
		if full == nil || remeasure {
			return full
		}
	}
	return nil
}

// others is what the files of other sessions count.
func (b Bounds) others(held int64) int64 {
	step := max(b.Workspace/othersSteps, 1)
	return (max(held, 0) + step - 1) / step * step
}

func text(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// usedBy is what a session's folder holds.
func (q *Quota) usedBy(ctx context.Context, folder string, remeasure bool) (int64, error) {
	q.mu.Lock()
	known, ok := q.used[folder]
	q.mu.Unlock()
	if ok && !remeasure && q.now().Sub(known.at) < freshFor {
		return known.bytes, nil
	}
	bytes, err := measure(ctx, folder, nil)
	if err != nil {
		return 0, err
	}
	q.learn(folder, bytes)
	return bytes, nil
}

// learn keeps what a folder was measured to hold.
func (q *Quota) learn(folder string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if sum, ok := q.sums[filepath.Dir(folder)]; ok {
		sum.bytes += bytes - q.used[folder].bytes
		q.sums[filepath.Dir(folder)] = sum
	}
	q.used[folder] = size{bytes, q.now()}
}

// sumOf is what the folders of all sessions of a workspace hold.
func (q *Quota) sumOf(ctx context.Context, all string, remeasure bool) (int64, error) {
	q.mu.Lock()
	known, ok := q.sums[all]
	q.mu.Unlock()
	if age := q.now().Sub(known.at); ok && age < sumFor && (!remeasure || age < time.Second) {
		return known.bytes, nil
	}
	names, err := subfolders(ctx, all)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	there := map[string]bool{}
	for _, name := range names {
		folder := filepath.Join(all, name)
		bytes, err := q.usedBy(ctx, folder, false)
		if err != nil {
			return 0, err
		}
		there[folder] = true
		sum += bytes
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for folder := range q.used {
		if filepath.Dir(folder) == all && !there[folder] {
			delete(q.used, folder) // gone from the disk
		}
	}
	q.sums[all] = size{sum, q.now()}
	return sum, nil
}

// Watch is the use of a session's folder by one command. It is for one goroutine.
type Watch struct {
	quota  *Quota
	folder string
	bounds Bounds
	limit  int64 // that the session's folder may hold
	others int64 // what the rest of the workspace holds

	used, free int64 // when it was last measured
	at         time.Time
	took       time.Duration
}

// Watch begins to watch a command in a session's folder, or says why it may not run: the disk's reserve is touched. A session
// without room may run commands, which can delete files.
func (q *Quota) Watch(ctx context.Context, folder string) (*Watch, error) {
	if q == nil {
		return nil, nil //nolint:nilnil // a nil watch has no bounds
	}
	b := q.bounds()
	if err := q.reserved(folder, b, 0); err != nil {
		return nil, err
	}
	sum, err := q.sumOf(ctx, filepath.Dir(folder), false)
	if err != nil {
		return nil, err
	}
	w := &Watch{quota: q, folder: folder, bounds: b}
	if err := w.measure(ctx); err != nil {
		return nil, err
	}
	w.others = b.others(sum - w.used)
	w.limit = 1 << 62
	if b.Session > 0 {
		w.limit = b.Session
	}
	if b.Workspace > 0 {
		w.limit = min(w.limit, b.Workspace-w.others)
	}
	w.limit = max(w.limit, w.used+commandSpare)
	return w, nil
}

// Room is how large a file the command may write.
func (w *Watch) Room() int64 {
	if w == nil {
		return 0
	}
	return w.limit - w.used
}

// Check says why the command must end; nil: it may go on. It is called all the time while the command runs.
func (w *Watch) Check(ctx context.Context) error {
	if w == nil {
		return nil
	}
	if err := w.quota.reserved(w.folder, w.bounds, 0); err != nil {
		return err
	}
	free, _, err := w.quota.disk(w.folder)
	if err != nil {
		return fmt.Errorf("read free space: %w", err)
	}
	// It is measured when the disk has lost what could fill half of the room, and now and then in any case.
	if w.free-free < (w.limit-w.used)/2 && w.quota.now().Sub(w.at) < max(time.Second, 20*w.took) {
		return nil
	}
	if err := w.measure(ctx); err != nil {
		return err
	}
	if w.used <= w.limit {
		return nil
	}
	return spaceError(fmt.Sprintf("the files of this conversation take %s: the maximum is %s for one conversation (limits.sessionBytes) and %s for all with the agent (limits.workspaceBytes); delete some of them", text(w.used), text(w.bounds.Session), text(w.bounds.Workspace)))
}

// measure measures the folder, and looks at the reserve in the meantime.
func (w *Watch) measure(ctx context.Context) error {
	began := w.quota.now()
	free, _, err := w.quota.disk(w.folder)
	if err != nil {
		return fmt.Errorf("read free space: %w", err)
	}
	used, err := measure(ctx, w.folder, func() error { return w.quota.reserved(w.folder, w.bounds, 0) })
	if err != nil {
		return err
	}
	w.used, w.free, w.at = used, free, w.quota.now()
	w.took = w.at.Sub(began)
	w.quota.learn(w.folder, used)
	return nil
}

// End tells the quota what the command has left behind.
func (w *Watch) End() {
	if w == nil {
		return
	}
	w.quota.mu.Lock()
	defer w.quota.mu.Unlock()
	delete(w.quota.used, w.folder) // it is measured when it is next asked about
	delete(w.quota.sums, filepath.Dir(w.folder))
}
