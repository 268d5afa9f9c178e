// Package node is the program that is a node: it keeps what it sends and gets on the disk, so that nothing is lost or
// repeated over crashes and reconnects, and offers tools of its machine (docs/nodes.md).
//
// One goroutine of [Node.Run] reads from the gateway, one sends, one asks whether the gateway still answers, and one reads
// what people type.
package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sluice/internal/node/protocol"
)

const (
	// outboxMax is how many messages and events may wait for the gateway.
	outboxMax = 1000
	// seenMax is how many ids of shown messages are kept. The gateway repeats a message only while it waits for its
	// confirmation, and sends one at a time.
	seenMax   = 1000
	stateFile = "node.json"
)

// ErrFull means that too much waits for the gateway already.
var ErrFull = fmt.Errorf("%d messages and events wait for the gateway already; this one was not taken", outboxMax)

// State is what a node keeps.
type State struct {
	Gateway string           `json:"gateway"` // its address
	ID      string           `json:"id"`
	Name    string           `json:"name"`
	Token   string           `json:"token"`
	Outbox  []protocol.Frame `json:"outbox,omitempty"` // not acknowledged yet, in order
	Inbox   []Received       `json:"inbox,omitempty"`  // stored, but perhaps not shown yet
	Seen    []string         `json:"seen,omitempty"`   // ids of messages that were shown, the newest last
}

// Received is a message from the gateway.
type Received struct {
	ID     string    `json:"id"`
	Text   string    `json:"text"`
	At     time.Time `json:"at,omitzero"`
	Silent bool      `json:"silent,omitempty"`
}

// Disk keeps a State in a folder. It is safe for concurrent use by one process.
type Disk struct {
	path string

	mu    sync.Mutex
	state State
}

// ErrNotPaired means that a folder has no node.
var ErrNotPaired = errors.New("this machine is not paired: run `sluice node pair URL` first")

// Open reads the state in a folder.
func Open(dir string) (*Disk, error) {
	d := &Disk{path: filepath.Join(dir, stateFile)}
	text, err := os.ReadFile(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotPaired
	}
	if err != nil {
		return nil, fmt.Errorf("read the node's state: %w", err)
	}
	if err := json.Unmarshal(text, &d.state); err != nil {
		return nil, fmt.Errorf("read the node's state in %s: %w", d.path, err)
	}
	return d, nil
}

// Create stores the state of a new node. An existing node's folder is refused.
func Create(dir string, s State) (*Disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the node's folder: %w", err)
	}
	d := &Disk{path: filepath.Join(dir, stateFile), state: s}
	if _, err := os.Lstat(d.path); err == nil {
		return nil, fmt.Errorf("%s has a node already: use another folder with --state, or remove the file", d.path)
	}
	return d, d.save(s)
}

// save replaces the file. After an error the previous one is still there.
func (d *Disk) save(s State) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the node's state: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(d.path), stateFile+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("store the node's state: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), d.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("store the node's state: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// change stores a changed state.
func (d *Disk) change(with func(s *State) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.state
	next.Outbox, next.Inbox, next.Seen = slices.Clone(next.Outbox), slices.Clone(next.Inbox), slices.Clone(next.Seen)
	if err := with(&next); err != nil {
		return err
	}
	if err := d.save(next); err != nil {
		return err
	}
	d.state = next
	return nil
}

// State returns the current state.
func (d *Disk) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// Say stores a message or event for the gateway.
func (d *Disk) Say(f protocol.Frame) error {
	if err := f.Check(); err != nil {
		return err
	}
	return d.change(func(s *State) error {
		if len(s.Outbox) >= outboxMax {
			return ErrFull
		}
		s.Outbox = append(s.Outbox, f)
		return nil
	})
}

// Acknowledged removes what the gateway has stored or refused.
func (d *Disk) Acknowledged(id string) error {
	return d.change(func(s *State) error {
		s.Outbox = slices.DeleteFunc(s.Outbox, func(f protocol.Frame) bool { return f.ID == id })
		return nil
	})
}

// Take stores a message from the gateway; fresh is false if it was taken before.
func (d *Disk) Take(r Received) (fresh bool, err error) {
	s := d.State()
	if slices.Contains(s.Seen, r.ID) || slices.ContainsFunc(s.Inbox, func(old Received) bool { return old.ID == r.ID }) {
		return false, nil
	}
	return true, d.change(func(s *State) error {
		s.Inbox = append(s.Inbox, r)
		return nil
	})
}

// Shown notes that a message was shown.
func (d *Disk) Shown(id string) error {
	return d.change(func(s *State) error {
		s.Inbox = slices.DeleteFunc(s.Inbox, func(r Received) bool { return r.ID == id })
		s.Seen = append(s.Seen, id)
		s.Seen = s.Seen[max(0, len(s.Seen)-seenMax):]
		return nil
	})
}
