package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
)

// fileBytesMax is the limit of the configuration for its file, and editsMax how many keys one change may have, with those of
// the sections in it.
const (
	fileBytesMax = 1 << 20
	editsMax     = 1000
)

// Draft is a wanted configuration: edits of the file, a whole text, or a version of the history.
type Draft struct {
	Edits   []Edit
	Text    *string
	Version int
}

// Account is what a change does to an account.
type Account struct {
	Channel, Account string
	Effect           string // starts, stops or restarts
}

// Effects are what a draft would change.
type Effects struct {
	Print    string // version of the file that the draft changes
	Faults   Faults
	Changes  []Change
	Entries  []EntryChange
	Accounts []Account
	Waiting  []string // keys that would need a restart
}

// Check says what a draft would do; nothing changes.
func (s *Settings) Check(d Draft) (Effects, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.plan(d, false)
	if err != nil {
		return Effects{}, err
	}
	return p.Effects, nil
}

// plan is a checked draft.
type plan struct {
	Effects
	text    []byte
	config  any
	secrets []string // files that were written for it
}

// plan checks a draft. With keep, it stores the secrets of the draft in files of their own.
func (s *Settings) plan(d Draft, keep bool) (p plan, err error) {
	old, tag, err := s.text()
	if err != nil {
		return p, err
	}
	p.Print = tag
	switch {
	case d.Text != nil:
		p.text = []byte(*d.Text)
	case d.Version > 0:
		v, err := s.history.get(d.Version)
		if errors.Is(err, fs.ErrNotExist) {
			return p, ErrNoVersion
		}
		if err != nil {
			return p, err
		}
		p.text = v.Text
	default:
		edits := ordered(flat(d.Edits))
		if len(edits) > editsMax {
			p.Faults = Faults{{Text: fmt.Sprintf("the change has %d keys, the maximum is %d: change the file, or make several changes", len(edits), editsMax)}}
			return p, nil
		}
		if keep {
			if edits, p.secrets, err = s.keepSecrets(edits); err != nil {
				return p, err
			}
		}
		if p.text, err = edited(old, edits); err != nil {
			p.Faults = Faults{{Text: s.gateway.Redact(err.Error())}}
			return p, nil
		}
	}
	if len(p.text) > fileBytesMax {
		p.Faults = Faults{{Text: fmt.Sprintf("the file would have %d bytes, the maximum is %d", len(p.text), fileBytesMax)}}
		return p, nil
	}
	if p.config, err = s.gateway.Parse(s.file(), p.text); err != nil {
		p.Faults = s.faults(err)
		return p, nil
	}
	keys, running := KeysOf(p.config), KeysOf(s.gateway.Running())
	if err := errors.Join(Locate(keys, p.text, s.gateway.Overrides(p.config)), locateOld(running, old, s.gateway)); err != nil {
		return p, err
	}
	var moved moves
	p.Entries, moved = compare(EntriesOf(s.gateway.Running()), EntriesOf(p.config), running, keys)
	p.Changes = moved.diff(running, keys)
	p.Accounts = accounts(running, keys, p.Changes)
	for _, c := range p.Changes {
		if s.gateway.Waits(c) {
			p.Waiting = append(p.Waiting, c.Path)
		}
	}
	return p, nil
}

// locateOld hides values from the environment in the running configuration. If the file has faults now, the running
// configuration does not come from it.
func locateOld(keys []Key, text []byte, g Gateway) error {
	if _, err := document(text); err != nil {
		return nil //nolint:nilerr // the draft repairs the file
	}
	return Locate(keys, text, g.Overrides(g.Running()))
}

var accountPath = regexp.MustCompile(`^channels\.([a-z]+)\.accounts\.([A-Za-z0-9_-]+)\.`)

// accounts says what happens to the accounts whose keys change.
func accounts(before, after []Key, changes []Change) []Account {
	had, has := accountsOf(before), accountsOf(after)
	var out []Account
	for _, c := range changes {
		m := accountPath.FindStringSubmatch(c.Path)
		if m == nil {
			continue
		}
		one := Account{Channel: m[1], Account: m[2], Effect: "restarts"}
		switch at := [2]string{m[1], m[2]}; {
		case !had[at]:
			one.Effect = "starts"
		case !has[at]:
			one.Effect = "stops"
		}
		if !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out
}

func accountsOf(keys []Key) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, k := range keys {
		if m := accountPath.FindStringSubmatch(k.Path); m != nil {
			out[[2]string{m[1], m[2]}] = true
		}
	}
	return out
}
