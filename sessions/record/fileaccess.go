package record

import (
	"path"
	"slices"
	"strings"
)

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
