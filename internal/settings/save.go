package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Saved is the result of a save.
type Saved struct {
	Effects
	Print string // of the new file
	ID    int    // of the version
}

// Save writes a draft and puts it into effect. tag is the version of the file that the draft is based on; ErrChanged if the
// file has changed since. A draft with faults changes nothing: the faults are in the effects.
func (s *Settings) Save(ctx context.Context, d Draft, tag, by string) (out Saved, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, now, err := s.text()
	if err != nil {
		return out, err
	}
	if now != tag {
		return out, ErrChanged
	}
	if p, err := s.plan(d, false); err != nil || len(p.Faults) > 0 {
		return Saved{Effects: p.Effects}, err // before a file is written
	}
	p, err := s.plan(d, true)
	if err != nil || len(p.Faults) > 0 {
		return Saved{Effects: p.Effects}, errors.Join(err, removeAll(p.secrets))
	}
	before := s.path
	if s.path, err = s.write(before, p.text); err != nil {
		s.path = before
		return out, errors.Join(err, removeAll(p.secrets))
	}
	if err := s.gateway.Apply(ctx, p.config); err != nil { // it was checked; for example the new address is in use
		p.Faults = s.faults(err)
		err = errors.Join(s.undo(old, now), removeAll(p.secrets))
		s.path = before
		return Saved{Effects: p.Effects}, err
	}
	v, err := s.keep(old, now, Version{At: s.now(), By: by, Back: d.Version, Changes: p.Changes, Text: p.text})
	if err == nil {
		err = s.sweep(p.text)
	}
	out = Saved{Effects: p.Effects, Print: printOf(p.text), ID: v.ID}
	return out, errors.Join(err, s.gateway.Audit(ctx, by, "config.save", s.path, map[string]any{"version": v.ID, "back_to": d.Version, "keys": pathsOf(p.Changes)}))
}

func pathsOf(changes []Change) []string {
	const auditMax = 100
	out := []string{}
	for _, c := range changes {
		if len(out) == auditMax {
			return append(out, fmt.Sprintf("and %d more", len(changes)-auditMax))
		}
		out = append(out, c.Path)
	}
	return out
}

// write writes the file, or creates one at the first writable place.
func (s *Settings) write(path string, text []byte) (string, error) {
	places := s.places
	if path != "" {
		places = []string{path}
	}
	err := errors.New("there is no place to create a configuration file: start the gateway with --config FILE")
	for _, place := range places {
		if path == "" {
			if err = os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
				continue
			}
		}
		if err = writeFile(place, text); err == nil {
			return place, nil
		}
	}
	return "", &WriteError{fmt.Errorf("the gateway can't write its configuration file: %w; change the file yourself, or give the gateway's user write permission", err)}
}

// undo restores the old file.
func (s *Settings) undo(old []byte, tag string) error {
	if tag == NoFile {
		return os.Remove(s.path)
	}
	return writeFile(s.path, old)
}

// keep adds a version to the history. If the file was made or changed outside the gateway, or did not exist, keep first adds a
// version for that.
func (s *Settings) keep(old []byte, tag string, v Version) (Version, error) {
	ids, err := s.history.ids()
	if err != nil {
		return v, err
	}
	var last Version
	if len(ids) > 0 {
		if last, err = s.history.get(ids[len(ids)-1]); err != nil {
			return v, err
		}
	}
	if len(ids) == 0 || !bytes.Equal(last.Text, old) {
		found := Version{At: v.At, NoFile: tag == NoFile, Text: old, Changes: []Change{}}
		if info, err := os.Stat(s.path); err == nil && !found.NoFile {
			found.At = info.ModTime()
		}
		if _, err := s.history.add(found); err != nil {
			return v, err
		}
	}
	return s.history.add(v)
}
