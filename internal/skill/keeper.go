package skill

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Pin is what the owner has said about a skill: which content it is about, how secret that is, and whether it is trusted.
type Pin struct {
	Agent, Name string
	Digest      string
	Label       flow.Label
	Source      string // where it comes from, for people
	By          string // who has added or last trusted it
	At          time.Time
}

// Pins stores pins.
type Pins interface {
	SkillPins(ctx context.Context, agent string) ([]Pin, error)
	PinSkill(ctx context.Context, p Pin, audit sessions.AuditEntry) error
	// UnpinSkill forgets the pin of a skill, which may not have one.
	UnpinSkill(ctx context.Context, agent, name string, audit sessions.AuditEntry) error
}

// Settings are those of the configuration.
type Settings struct {
	Keys    []Key
	Trusted []string // digests of trusted skills
}

// Agent is an agent as skills see it.
type Agent struct {
	ID        string
	Workspace string     // an absolute path; empty: it can have no skills
	Level     flow.Level // of what is put there by hand
}

// State says whether a skill can be used.
type State string

// The states. Changed and invalid skills are refused.
const (
	OK       State = "ok"       // it is as it was when it was pinned
	Unpinned State = "unpinned" // the folder was put there by hand, and nobody has said anything about it
	Changed  State = "changed"  // the content is not what was pinned
	Invalid  State = "invalid"  // it can't be read as a skill
	Missing  State = "missing"  // it has a pin and no folder
)

// Entry is a skill of an agent.
type Entry struct {
	Content
	Name    string // of its folder
	State   State
	Problem string // why it is refused; empty if it is not
	Label   flow.Label
	Signer  string // the name of the key that has signed it; empty for none that is configured
	Pin     Pin    // zero for none
}

// Usable reports whether sessions may use it.
func (e Entry) Usable() bool { return e.State == OK || e.State == Unpinned }

// Errors that callers distinguish.
var (
	ErrNotFound = errors.New("the agent has no such skill")
	ErrExists   = errors.New("the agent has a skill of this name already: replace it, or remove it first")
	ErrRefused  = errors.New("the skill can't be used")
)

// ArchiveError is what is wrong with an archive.
type ArchiveError struct{ Err error }

func (e *ArchiveError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *ArchiveError) Unwrap() error { return e.Err }

// Keeper keeps the skills of all agents. It is safe for concurrent use.
type Keeper struct {
	Pins     Pins
	Settings func() Settings
	Now      func() time.Time

	shelf    shelf
	changing sync.Mutex // one at a time
}

// Has reports whether an agent may have skills. It costs one look at the agent's workspace.
func (k *Keeper) Has(workspace string) bool { return has(workspace) }

// List gives the skills of an agent by name, also those that are refused.
func (k *Keeper) List(ctx context.Context, a Agent) ([]Entry, error) {
	folder, err := openFolder(a.Workspace)
	if err != nil {
		return nil, err
	}
	var found []string
	if folder != nil {
		defer folder.Close() //nolint:errcheck // only read from
		if found, err = names(folder); err != nil {
			return nil, err
		}
	}
	pins, err := k.Pins.SkillPins(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(found))
	for _, name := range found {
		content, err := k.shelf.look(folder, name)
		entries = append(entries, k.entry(a, name, pins, content, err))
	}
	for _, p := range pins {
		if !slices.Contains(found, p.Name) {
			entries = append(entries, Entry{Name: p.Name, State: Missing, Problem: "its folder is gone: add it again, or remove it", Label: p.Label, Pin: p})
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, nil
}

// Get reads a skill of an agent, all of its files: what it gives is what is on the disk now.
func (k *Keeper) Get(ctx context.Context, a Agent, name string) (Entry, error) {
	pins, err := k.Pins.SkillPins(ctx, a.ID)
	if err != nil {
		return Entry{}, err
	}
	var content Content
	var problem error
	err = within(a, name, func(root *os.Root) error {
		content, problem = readAll(root)
		return nil
	})
	if err != nil {
		return Entry{}, err
	}
	return k.entry(a, name, pins, content, problem), nil
}

// Text reads a file of a skill, as it was when [Keeper.Get] read it: a file that has been changed meanwhile is an error.
func (k *Keeper) Text(a Agent, e Entry, name string) (content []byte, err error) {
	f, err := e.file(name)
	if err != nil {
		return nil, err
	}
	err = within(a, e.Name, func(root *os.Root) error {
		content, err = f.load(root)
		return err
	})
	return content, err
}

// Copy copies the files of a skill, as they were when [Keeper.Get] read them, to a new folder of the gateway's own. So what runs is what
// was checked, whatever happens to the skill meanwhile. The caller removes the folder.
func (k *Keeper) Copy(a Agent, e Entry) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "sluice-skill-"); err != nil {
		return "", fmt.Errorf("copy skill: %w", plainPath(err))
	}
	err = within(a, e.Name, func(root *os.Root) error { return e.copyTo(root, folder) })
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	return folder, nil
}

// within opens the folder of a skill for a while.
func within(a Agent, name string, do func(root *os.Root) error) error {
	folder, err := openFolder(a.Workspace)
	if err != nil {
		return err
	}
	if folder == nil {
		return ErrNotFound
	}
	defer folder.Close() //nolint:errcheck // only read from
	if info, err := folder.Lstat(name); CheckName(name) != nil || err != nil || !info.IsDir() {
		return ErrNotFound
	}
	root, err := openSkill(folder, name)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read from
	return do(root)
}

// entry decides what may be done with a skill.
func (k *Keeper) entry(a Agent, name string, pins []Pin, content Content, err error) Entry {
	level := a.Level
	if !level.Valid() {
		level = flow.Public
	}
	e := Entry{Content: content, Name: name, State: Unpinned, Label: flow.NewLabel(level, flow.Untrusted)}
	pinned := slices.IndexFunc(pins, func(p Pin) bool { return p.Name == name })
	if pinned >= 0 {
		e.Pin = pins[pinned]
		e.State, e.Label = OK, e.Pin.Label
	}
	switch {
	case err != nil:
		e.State, e.Problem = Invalid, err.Error()
	case content.Document.Name != name:
		e.State, e.Problem = Invalid, fmt.Sprintf("%s: front matter: the name is %q, and the folder is %q", FileName, content.Document.Name, name)
	case pinned >= 0 && e.Pin.Digest != content.Digest:
		e.State, e.Problem = Changed, "its content has changed since it was added: look at it, then trust it or add it again"
	}
	if !e.Usable() {
		e.Label = flow.NewLabel(e.Label.Level(), flow.Untrusted)
		return e
	}
	settings := k.Settings()
	key, signed := content.signer(settings.Keys)
	if signed {
		e.Signer = key.Name
	}
	if signed && key.Trust || slices.Contains(settings.Trusted, content.Digest) {
		e.Label = flow.NewLabel(e.Label.Level(), flow.Trusted)
	}
	return e
}

// Addition is a skill to add.
type Addition struct {
	Archive []byte
	SHA256  string // in hexadecimal; empty, or what the archive or the content must have
	Remote  bool   // it was downloaded: it must have the hash or a known signature
	Replace bool
	Label   flow.Label // invalid: the agent's level, untrusted
	Source  string
	By      string
}

// Add adds a skill to an agent.
func (k *Keeper) Add(ctx context.Context, a Agent, add Addition) (Entry, error) {
	if a.Workspace == "" {
		return Entry{}, &ArchiveError{errors.New("this agent has no workspace")}
	}
	k.changing.Lock()
	defer k.changing.Unlock()
	folder, err := makeFolder(a.Workspace)
	if err != nil {
		return Entry{}, err
	}
	defer folder.Close() //nolint:errcheck // its files are closed
	tidy(folder)
	defer tidy(folder)
	content, err := k.unpack(folder, draftPrefix+"new", add)
	if err != nil {
		return Entry{}, &ArchiveError{err}
	}
	found, err := names(folder)
	if err != nil {
		return Entry{}, err
	}
	switch exists := slices.Contains(found, content.Name); {
	case exists && !add.Replace:
		return Entry{}, ErrExists
	case !exists && len(found) >= skillsMax:
		return Entry{}, &ArchiveError{fmt.Errorf("the agent has %d skills already, which is the maximum", skillsMax)}
	}
	if err := put(folder, draftPrefix+"new", content.Name); err != nil {
		return Entry{}, err
	}
	label := add.Label
	if !label.Valid() {
		label = k.entry(a, content.Name, nil, content, nil).Label
		label = flow.NewLabel(label.Level(), flow.Untrusted)
	}
	return k.pin(ctx, a, content, Pin{Label: label, Source: add.Source, By: add.By}, "skill.add")
}

// unpack unpacks and checks what is to be added.
func (k *Keeper) unpack(folder *os.Root, draft string, add Addition) (Content, error) {
	if err := unpack(add.Archive, folder, draft); err != nil {
		return Content{}, err
	}
	root, err := openSkill(folder, draft)
	if err != nil {
		return Content{}, err
	}
	defer root.Close() //nolint:errcheck // only read from
	content, err := readAll(root)
	if err != nil {
		return Content{}, err
	}
	sum := sha256.Sum256(add.Archive)
	archive := hex.EncodeToString(sum[:])
	_, signed := content.signer(k.Settings().Keys)
	switch {
	case add.SHA256 != "" && add.SHA256 != archive && "sha256:"+add.SHA256 != content.Digest:
		return Content{}, fmt.Errorf("the SHA-256 of the archive is %s, and that of the content %s: neither is the expected one", archive, content.Digest)
	case add.SHA256 == "" && add.Remote && !signed:
		return Content{}, fmt.Errorf("what was downloaded is not signed with a key of skills.keys, so say which content you expect: --sha256 %s if it is this archive (look at it first)", archive)
	}
	return content, nil
}

// pin pins the content of a skill.
func (k *Keeper) pin(ctx context.Context, a Agent, content Content, p Pin, action string) (Entry, error) {
	p.Agent, p.Name, p.Digest, p.At = a.ID, content.Name, content.Digest, k.Now()
	err := k.Pins.PinSkill(ctx, p, sessions.AuditEntry{
		At: p.At, Actor: p.By, Action: action, Object: a.ID + "/" + p.Name, Label: flow.NewLabel(p.Label.Level(), flow.Trusted),
		Detail: map[string]string{"digest": p.Digest, "trust": p.Label.Trust().String(), "source": p.Source},
	})
	if err != nil {
		return Entry{}, err
	}
	return k.entry(a, p.Name, []Pin{p}, content, nil), nil
}

// Trust pins a skill's content as it is now, as trusted or not. With a digest, the content must have it.
func (k *Keeper) Trust(ctx context.Context, a Agent, name string, label flow.Label, digest, by string) (Entry, error) {
	k.changing.Lock()
	defer k.changing.Unlock()
	e, err := k.Get(ctx, a, name)
	if err != nil {
		return Entry{}, err
	}
	if e.State == Invalid {
		return Entry{}, fmt.Errorf("%w: %s", ErrRefused, e.Problem)
	}
	if digest != "" && digest != e.Digest {
		return Entry{}, fmt.Errorf("%w: its content is %s now", ErrRefused, e.Digest)
	}
	action := "skill.trust"
	if label.Trust() != flow.Trusted {
		action = "skill.untrust"
	}
	source := e.Pin.Source
	if e.Pin.Name == "" {
		source = "put there by hand"
	}
	return k.pin(ctx, a, e.Content, Pin{Label: label, Source: source, By: by}, action)
}

// Remove deletes a skill of an agent, and forgets its pin.
func (k *Keeper) Remove(ctx context.Context, a Agent, name, by string) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	entries, err := k.List(ctx, a)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return ErrNotFound
	}
	folder, err := openFolder(a.Workspace)
	if err != nil {
		return err
	}
	if folder != nil {
		defer folder.Close() //nolint:errcheck // its files are closed
	}
	if gone := oldPrefix + name; folder != nil && entries[i].State != Missing {
		if err := errors.Join(folder.RemoveAll(gone), folder.Rename(name, gone)); err != nil {
			return fmt.Errorf("remove skill: %w", plainPath(err))
		}
	}
	err = k.Pins.UnpinSkill(ctx, a.ID, name, sessions.AuditEntry{
		At: k.Now(), Actor: by, Action: "skill.remove", Object: a.ID + "/" + name, Label: flow.NewLabel(entries[i].Label.Level(), flow.Trusted), Detail: map[string]string{"digest": entries[i].Digest},
	})
	if folder != nil {
		tidy(folder)
		_ = os.Remove(Folder(a.Workspace)) // only if it is empty: an agent without skills costs nothing
	}
	return err
}
