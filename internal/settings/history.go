package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HistoryMax is the maximum number of kept versions, and historyBytesMax of their bytes together. The oldest are removed first.
const (
	HistoryMax      = 100
	historyBytesMax = 20 << 20
)

// Version is the file after a change.
type Version struct {
	ID      int       `json:"id"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`               // empty: changed outside the gateway
	Back    int       `json:"back,omitempty"`   // the earlier version that was restored
	NoFile  bool      `json:"noFile,omitempty"` // there was no file; going back leaves an empty one
	Changes []Change  `json:"changes"`
	Text    []byte    `json:"text"`
}

// history keeps the versions in a folder, one file each. Only the gateway's user can read them, because they may have secrets.
type history struct{ folder string }

func (h history) path(id int) string {
	return filepath.Join(h.folder, fmt.Sprintf("%06d.json", id))
}

// ids returns the ids of the kept versions, oldest first.
func (h history) ids() ([]int, error) {
	files, err := os.ReadDir(h.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list versions of the configuration: %w", err)
	}
	var out []int
	for _, f := range files {
		if id, err := strconv.Atoi(strings.TrimSuffix(f.Name(), ".json")); err == nil && strings.HasSuffix(f.Name(), ".json") {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// get reads a version; fs.ErrNotExist if it is not kept.
func (h history) get(id int) (v Version, err error) {
	raw, err := os.ReadFile(h.path(id))
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("read version %d of the configuration: %w", id, err)
	}
	return v, nil
}

// list reads all versions, newest first.
func (h history) list() ([]Version, error) {
	ids, err := h.ids()
	if err != nil {
		return nil, err
	}
	var out []Version
	for _, id := range slices.Backward(ids) {
		v, err := h.get(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// add adds a version, and removes those beyond the limits.
func (h history) add(v Version) (Version, error) {
	ids, err := h.ids()
	if err != nil {
		return v, err
	}
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return v, fmt.Errorf("make folder for versions of the configuration: %w", err)
	}
	v.ID = 1
	if len(ids) > 0 {
		v.ID = ids[len(ids)-1] + 1
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("write version of the configuration: %w", err)
	}
	if err := writeFile(h.path(v.ID), raw); err != nil {
		return v, fmt.Errorf("keep version of the configuration: %w", err)
	}
	return v, h.prune(append(ids, v.ID))
}

func (h history) prune(ids []int) error {
	var bytes int64
	for i, id := range slices.Backward(ids) {
		info, err := os.Stat(h.path(id))
		if err != nil {
			continue
		}
		if bytes += info.Size(); len(ids)-i <= HistoryMax && (bytes <= historyBytesMax || i == len(ids)-1) {
			continue
		}
		if err := os.Remove(h.path(id)); err != nil {
			return fmt.Errorf("remove version %d of the configuration: %w", id, err)
		}
	}
	return nil
}

// writeFile writes a file completely or not at all. It replaces the target of a symbolic link, not the link.
func writeFile(path string, text []byte) error {
	mode := fs.FileMode(0o600)
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".sluice-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
