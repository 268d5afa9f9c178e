package workspace

import (
	"strings"

	"sluice/internal/glob"
)

// ParseGlob reads a pattern of the paths of a workspace, see [glob.ParsePath].
func ParseGlob(pattern string) (glob.Path, error) {
	return glob.ParsePath(strings.TrimPrefix(strings.TrimPrefix(pattern, mounted+"/"), "./"))
}
