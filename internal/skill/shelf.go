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
	info, err := os.Lstat(Folder(workspace))
	return err == nil && info.IsDir()
}

// CheckFolder says why the folder of an agent's skills can't be used: it is a link, which may lead to where sessions write, or no folder.
func CheckFolder(workspace string) error {
	if workspace == "" {
		return nil
	}
	root, err := openFolder(workspace)
	if err != nil || root == nil {
		return err
	}
	return root.Close()
}

// openFolder opens the folder of an agent's skills; nil: it has none.
func openFolder(workspace string) (*os.Root, error) {
	root, err := openIn(os.Lstat, os.OpenRoot, Folder(workspace))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // an agent without skills
	case err != nil:
		return nil, fmt.Errorf("open the folder %s of the agent's workspace: %w", folderName, err)
	}
	return root, nil
}

// makeFolder opens the folder of an agent's skills. If it is missing, makeFolder creates it.
func makeFolder(workspace string) (*os.Root, error) {
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of skills: %w", plainPath(err))
	}
	if err := os.Mkdir(Folder(workspace), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create the folder of skills: %w", plainPath(err))
	}
	root, err := openFolder(workspace)
	if err == nil && root == nil {
		err = errors.New("create the folder of skills: it has just been removed")
	}
	return root, err
}

// openIn opens a folder. A link is an error, even if it replaces the folder during the call.
func openIn(look func(string) (fs.FileInfo, error), open func(string) (*os.Root, error), name string) (*os.Root, error) {
	info, err := look(name)
	if err != nil {
		return nil, plainPath(err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%w: it is a link or a file, and must be a folder", ErrRefused)
	}
	root, err := open(name)
	if err != nil {
		return nil, plainPath(err)
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(fmt.Errorf("%w: its folder has just been replaced", ErrRefused), root.Close())
	}
	return root, nil
}

// openSkill opens the folder of a skill.
func openSkill(folder *os.Root, name string) (*os.Root, error) {
	root, err := openIn(folder.Lstat, folder.OpenRoot, name)
	if err != nil {
		return nil, fmt.Errorf("open skill: %w", err)
	}
	return root, nil
}

// names are the folders of an agent's skills, by name.
func names(folder *os.Root) ([]string, error) {
	dir, err := folder.Open(".")
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
func (s *shelf) look(shelf *os.Root, name string) (Content, error) {
	root, err := openSkill(shelf, name)
	if err != nil {
		return Content{}, err
	}
	folder := root.Name()
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
func put(folder *os.Root, draft, name string) error {
	old := oldPrefix + name
	if err := folder.RemoveAll(old); err != nil {
		return fmt.Errorf("replace skill: %w", plainPath(err))
	}
	if err := folder.Rename(name, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace skill: %w", plainPath(err))
	}
	if err := folder.Rename(draft, name); err != nil {
		return errors.Join(fmt.Errorf("put skill: %w", plainPath(err)), folder.Rename(old, name))
	}
	return folder.RemoveAll(old)
}

// The beginnings of the names of folders that are no skills: a new one that is being made, and a replaced one.
const draftPrefix, oldPrefix = ".draft-", ".old-"

// tidy removes what a gateway that died has left in the folder of the skills.
func tidy(folder *os.Root) {
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), draftPrefix) || strings.HasPrefix(e.Name(), oldPrefix) {
			_ = folder.RemoveAll(e.Name()) // it is tried again
		}
	}
}
