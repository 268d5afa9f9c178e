package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// folderName is the folder of the skills in an agent's workspace.
	folderName = "skills"
	// skillsMax is how many skills an agent has at most.
	skillsMax = 100
)

// Folder is where an agent's skills are.
func Folder(workspace string) string { return filepath.Join(workspace, folderName) }

// shelf reads skills, and remembers what it has read while the files look unchanged. It is safe for concurrent use.
type shelf struct {
	mu   sync.Mutex
	seen map[string]*seen // by folder
}

// seen is a skill as it was read.
type seen struct {
	files   []File
	content Content
	problem error
}

// settled is how long a skill's files must have been unchanged before they are remembered: two changes within one tick of the file
// system's clock leave the same time.
const settled = 2 * time.Second

// has reports whether an agent may have skills: it costs one look at a folder.
func has(workspace string) bool {
	if workspace == "" {
		return false
	}
	_, err := os.Lstat(Folder(workspace))
	return err == nil
}

// names are the folders of an agent's skills, by name.
func names(workspace string) ([]string, error) {
	dir, err := os.Open(Folder(workspace))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read skills: %w", plainPath(err))
	}
	defer dir.Close() //nolint:errcheck // only read from
	var found []string
	for {
		entries, err := dir.ReadDir(skillsMax)
		for _, e := range entries {
			if e.IsDir() && CheckName(e.Name()) == nil {
				found = append(found, e.Name())
			}
		}
		if len(found) > skillsMax {
			return nil, fmt.Errorf("the folder %s has more than %d skills", folderName, skillsMax)
		}
		if err != nil || len(entries) == 0 { // io.EOF
			slices.Sort(found)
			return found, nil
		}
	}
}

// look reads a skill, unless its files look as they did when it was last read.
func (s *shelf) look(folder string) (Content, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return Content{}, fmt.Errorf("open skill: %w", plainPath(err))
	}
	defer root.Close() //nolint:errcheck // only read from
	files, err := listed(root)
	if err != nil {
		return Content{}, err
	}
	s.mu.Lock()
	last := s.seen[folder]
	s.mu.Unlock()
	if last != nil && slices.EqualFunc(last.files, files, func(a, b File) bool { return a.Path == b.Path && a.Size == b.Size && a.mod.Equal(b.mod) }) {
		return last.content, last.problem
	}
	content, problem := read(root, files)
	if !slices.ContainsFunc(files, func(f File) bool { return time.Since(f.mod) < settled }) { // the file system has no injected clock
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.seen == nil || len(s.seen) > 10*skillsMax {
			s.seen = map[string]*seen{}
		}
		s.seen[folder] = &seen{files, content, problem}
	}
	return content, problem
}

// put moves a new folder to a skill's place.
func put(draft, folder string) error {
	old := filepath.Join(filepath.Dir(folder), oldPrefix+filepath.Base(folder))
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("replace skill: %w", plainPath(err))
	}
	if err := os.Rename(folder, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace skill: %w", plainPath(err))
	}
	if err := os.Rename(draft, folder); err != nil {
		return errors.Join(fmt.Errorf("put skill: %w", plainPath(err)), os.Rename(old, folder))
	}
	return os.RemoveAll(old)
}

// The beginnings of the names of folders that are no skills: a new one that is being made, and a replaced one.
const draftPrefix, oldPrefix = ".draft-", ".old-"

// tidy removes what a gateway that died has left in the folder of the skills.
func tidy(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), draftPrefix) || strings.HasPrefix(e.Name(), oldPrefix) {
			_ = os.RemoveAll(filepath.Join(folder, e.Name())) // it is tried again
		}
	}
}
