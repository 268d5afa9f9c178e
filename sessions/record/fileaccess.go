package record

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// pathsMax is the number of paths of one list: each is a mount for a command.
const pathsMax = 100

// WholeWorkspace is the default scope.
func WholeWorkspace() FileAccess {
	return FileAccess{Read: []string{""}, Write: []string{""}}
}

// Checked is a scope that somebody asks for, with each path in one spelling. Without any list it is the whole workspace. With
// one list alone, the other allows nothing more: what may be written may be read. An error names the entry and what is wrong.
func (a FileAccess) Checked() (FileAccess, error) {
	if a.Read == nil && a.Write == nil {
		return WholeWorkspace(), nil
	}
	checked := FileAccess{Read: []string{}, Write: []string{}}
	for _, list := range []struct {
		name  string
		paths []string
		clean *[]string
	}{{"read", a.Read, &checked.Read}, {"write", a.Write, &checked.Write}} {
		if len(list.paths) > pathsMax {
			return FileAccess{}, fmt.Errorf("%s has %d paths, the maximum is %d; name the folders above them", list.name, len(list.paths), pathsMax)
		}
		if list.paths != nil && len(list.paths) == 0 {
			return FileAccess{}, fmt.Errorf("%s is an empty list; leave it out, or name a path", list.name)
		}
		for i, p := range list.paths {
			if err := checkPath(p); err != nil {
				return FileAccess{}, fmt.Errorf("%s[%d] is %q: %w", list.name, i, p, err)
			}
			clean, _ := cleanPath(p)
			*list.clean = append(*list.clean, clean)
		}
	}
	return checked, nil
}

func checkPath(p string) error {
	switch {
	case strings.HasPrefix(p, "/"):
		return errors.New("paths are relative to the workspace, without a leading slash")
	case slices.Contains(strings.Split(p, "/"), ".."):
		return errors.New("paths cannot lead out of the workspace with \"..\"")
	case strings.ContainsRune(p, 0), !utf8.ValidString(p):
		return errors.New("paths are UTF-8 without a NUL character")
	case inside(path.Clean(p), ".sessions"):
		return errors.New(".sessions is reserved: a session always has its own folder there, and no other")
	}
	return nil
}

// Narrow is what both scopes allow. Of b, a path that is absolute or leads out of the workspace allows nothing.
func (a FileAccess) Narrow(b FileAccess) FileAccess {
	readable := append(slices.Clone(a.Read), a.Write...) // what may be written may be read
	return FileAccess{Read: narrowPaths(readable, b.Read), Write: narrowPaths(a.Write, b.Write)}
}

// narrowPaths are the paths of b that lie in one of a, and those of a that lie in one of b.
func narrowPaths(a, b []string) []string {
	both := []string{}
	for _, p := range b {
		for _, q := range a {
			x, okX := cleanPath(p)
			y, okY := cleanPath(q)
			switch {
			case !okX || !okY:
			case inside(x, y):
				both = append(both, x)
			case inside(y, x):
				both = append(both, y)
			}
		}
	}
	slices.Sort(both)
	return slices.Compact(both)
}

// cleanPath is a path in the workspace in one spelling; "" is all of it.
func cleanPath(p string) (clean string, ok bool) {
	if strings.HasPrefix(p, "/") {
		return "", false
	}
	clean = path.Clean(p)
	if clean == "." {
		return "", true
	}
	return clean, clean != ".." && !strings.HasPrefix(clean, "../")
}

func inside(p, folder string) bool {
	return folder == "" || p == folder || strings.HasPrefix(p, folder+"/")
}
