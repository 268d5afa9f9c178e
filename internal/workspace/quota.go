package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"sluice/internal/hostos"
)

// Bounds limit the disk space for the files of sessions, in bytes. 0 means no limit.
type Bounds struct {
	Workspace int64 // the files of all sessions of an agent
	Session   int64 // the files of one session
	Reserve   int64 // free space that is reserved for messages and the store, see Quota
}

const (
	// entryCost is the cost of each file and folder besides its content, so that their number is limited, too.
	entryCost = 4 << 10
	// freshFor is how long the measured size of a folder is valid; own writes are added to it in the meantime.
	freshFor = 10 * time.Minute
	// sumFor is the same for the sum of a workspace.
	sumFor = 30 * time.Second
	// commandSpare is what a command may write in a session without space: otherwise it could not even tidy up.
	commandSpare = 1 << 20
	// othersSteps is the number of steps in which the space of other sessions counts, rounded up. A session that
	// probes the remaining space therefore learns no more about the files of others, whose level may be above its
	// own.
	othersSteps = 16
	// reserveShare is the part of a small disk that is reserved.
	reserveShare = 10
)

// ErrNoSpace is the error when a quota refuses or the disk is full; it is wrapped with the reason.
var ErrNoSpace = errors.New("no space for files")

type spaceError string

func (e spaceError) Error() string { return string(e) }

func (spaceError) Is(target error) bool { return target == ErrNoSpace }

// Disk returns how much of a folder's disk is free for an unprivileged user, and the size of the disk.
type Disk func(folder string) (free, total int64, err error)

// Quota keeps the files of sessions within their limits, and the disk's reserve free. It is safe for concurrent use.
//
// The size of a folder is measured when it is first needed, and again when the folder seems to be full or the value
// is too old; own writes are added to it. A folder is <workspace>/sessions/<session>, or the shared folder of a workspace, for
// which the limit of a session does not hold.
type Quota struct {
	bounds func() Bounds
	disk   Disk
	now    func() time.Time

	mu   sync.Mutex
	used map[string]size // by folder
	sums map[string]size // by workspace
}

// size is the measured size of a folder, plus what was written since.
type size struct {
	bytes int64
	at    time.Time
}

// workspaceOf is the workspace that has a folder.
func workspaceOf(folder string) string {
	if isShared(folder) {
		return filepath.Dir(folder)
	}
	return filepath.Dir(filepath.Dir(folder))
}

// isShared reports whether a folder is the shared one of its workspace, and not that of a session.
func isShared(folder string) bool { return filepath.Base(folder) == sharedName }

// NewQuota creates a Quota. bounds returns the current limits; a nil disk means the machine's.
func NewQuota(bounds func() Bounds, disk Disk, now func() time.Time) *Quota {
	if disk == nil {
		disk = hostos.Space
	}
	return &Quota{bounds: bounds, disk: disk, now: now, used: map[string]size{}, sums: map[string]size{}}
}

// Admit reserves n more bytes in a session's folder, or says why there is not enough space. A nil Quota has no
// limits.
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
	add(q.used, folder, n)
	add(q.sums, workspaceOf(folder), n)
	return nil
}

// add adds to a size that is known.
func add(sizes map[string]size, of string, n int64) {
	if s, ok := sizes[of]; ok {
		s.bytes += n
		sizes[of] = s
	}
}

// Reserve says why a file of n bytes, in a folder without session limits, would use the disk's reserve; nil if it
// would not. A nil Quota has no limits.
func (q *Quota) Reserve(folder string, n int64) error {
	if q == nil {
		return nil
	}
	return q.reserved(folder, q.bounds(), n)
}

// reserved returns an error if n more bytes would use the disk's reserve.
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

// fits returns an error if a session's folder or the workspace has no space for n more bytes.
func (q *Quota) fits(ctx context.Context, folder string, b Bounds, n int64) error {
	for _, remeasure := range []bool{false, true} {
		used, err := q.usedBy(ctx, folder, remeasure)
		if err != nil {
			return err
		}
		sum, err := q.sumOf(ctx, workspaceOf(folder), remeasure)
		if err != nil {
			return err
		}
		full := error(nil)
		switch {
		case b.Session > 0 && used+n > b.Session && !isShared(folder):
			full = spaceError(fmt.Sprintf("the files of this conversation take %s, and this would take %s more: the maximum is %s (limits.sessionBytes); delete some of them first", text(used), text(n), text(b.Session)))
		case b.Workspace > 0 && b.others(sum-used)+used+n > b.Workspace:
			// The session must not learn how much others use.
			full = spaceError(fmt.Sprintf("the files of all conversations with this agent may take %s together, and this would be more (limits.workspaceBytes); delete some, or ask the owner of this gateway", text(b.Workspace)))
		}
		if full == nil || remeasure {
			return full
		}
	}
	return nil
}

// others returns how much the files of other sessions count.
func (b Bounds) others(held int64) int64 {
	step := max(b.Workspace/othersSteps, 1)
	return (max(held, 0) + step - 1) / step * step
}

func text(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// usedBy returns the size of a session's folder.
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

// learn stores the measured size of a folder.
func (q *Quota) learn(folder string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	add(q.sums, workspaceOf(folder), bytes-q.used[folder].bytes)
	q.used[folder] = size{bytes, q.now()}
}

// sumOf returns the size of the shared folder and of all session folders in a workspace.
func (q *Quota) sumOf(ctx context.Context, all string, remeasure bool) (int64, error) {
	q.mu.Lock()
	known, ok := q.sums[all]
	q.mu.Unlock()
	if age := q.now().Sub(known.at); ok && age < sumFor && (!remeasure || age < time.Second) {
		return known.bytes, nil
	}
	folders, err := foldersIn(ctx, all)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	there := map[string]bool{}
	for _, folder := range folders {
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
		if workspaceOf(folder) == all && !there[folder] {
			delete(q.used, folder) // deleted from the disk
		}
	}
	q.sums[all] = size{sum, q.now()}
	return sum, nil
}

// Nearly returns the workspaces in which the files of sessions use nearly all of the space that they may use. It looks only
// at workspaces that were used since the quota was made.
func (q *Quota) Nearly(ctx context.Context) (workspaces []string, err error) {
	most := q.bounds().Workspace
	if most == 0 {
		return nil, nil
	}
	q.mu.Lock()
	folders := slices.Sorted(maps.Keys(q.sums))
	q.mu.Unlock()
	for _, folder := range folders {
		sum, err := q.sumOf(ctx, folder, false)
		if err != nil {
			return nil, err
		}
		if NearlyAll(sum, most) {
			workspaces = append(workspaces, folder)
		}
	}
	return workspaces, nil
}

// NearlyAll reports whether so much of a limit is used that somebody should be told.
func NearlyAll(used, most int64) bool { return used >= most/10*8 }

// foldersIn are the folders of a workspace that have files of sessions.
func foldersIn(ctx context.Context, workspace string) ([]string, error) {
	names, err := subfolders(ctx, filepath.Join(workspace, "sessions"))
	if err != nil {
		return nil, err
	}
	folders := []string{SharedFolder(workspace)} // nothing is measured where it is missing
	for _, name := range names {
		folders = append(folders, filepath.Join(workspace, "sessions", name))
	}
	return folders, nil
}

// Watch tracks the use of a folder by one command. It is for one goroutine.
type Watch struct {
	quota  *Quota
	folder string
	bounds Bounds
	limit  int64 // for the folder
	others int64 // the space of the rest of the workspace

	used, free int64 // at the last measurement
	at         time.Time
	took       time.Duration
}

// Watch starts to watch a command in a folder, or says why it may not run: the disk's reserve is used up. A
// session without space may run commands, which can delete files.
func (q *Quota) Watch(ctx context.Context, folder string) (*Watch, error) {
	if q == nil {
		return nil, nil //nolint:nilnil // a nil watch has no bounds
	}
	b := q.bounds()
	if err := q.reserved(folder, b, 0); err != nil {
		return nil, err
	}
	sum, err := q.sumOf(ctx, workspaceOf(folder), false)
	if err != nil {
		return nil, err
	}
	w := &Watch{quota: q, folder: folder, bounds: b}
	if err := w.measure(ctx); err != nil {
		return nil, err
	}
	w.others = b.others(sum - w.used)
	w.limit = 1 << 62
	if b.Session > 0 && !isShared(folder) {
		w.limit = b.Session
	}
	if b.Workspace > 0 {
		w.limit = min(w.limit, b.Workspace-w.others)
	}
	w.limit = max(w.limit, w.used+commandSpare)
	return w, nil
}

// Room returns the maximum size of a file that the command may write.
func (w *Watch) Room() int64 {
	if w == nil {
		return 0
	}
	return w.limit - w.used
}

// Check says why the command must end; nil if it may continue. It is called repeatedly while the command runs.
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
	// The folder is measured when the disk has lost half of the remaining space, and now and then in any case.
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

// measure measures the folder and checks the reserve in the meantime.
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

// End tells the quota that the command has ended.
func (w *Watch) End() {
	if w == nil {
		return
	}
	w.quota.mu.Lock()
	defer w.quota.mu.Unlock()
	delete(w.quota.used, w.folder) // measured again when it is next needed
	delete(w.quota.sums, workspaceOf(w.folder))
}
