// Package build says which version of the program this is.
package build

import (
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Info describes the build of a program.
type Info struct {
	Version string     `json:"version"`          // a tag such as v1.2.3, or dev
	Commit  string     `json:"commit,omitempty"` // the revision of the source
	Dirty   bool       `json:"dirty,omitempty"`  // the source differed from the commit
	Time    *time.Time `json:"time,omitempty"`   // of the commit
	Module  string     `json:"module,omitempty"` // its import path
	Go      string     `json:"go"`               // the compiler
	OS      string     `json:"os"`
	Arch    string     `json:"arch"`
}

// Read completes what the linker has set with what the compiler has recorded. `go install` sets neither a version nor a
// commit, but records the version of the module.
func Read(version, commit, stamp string) Info {
	recorded, ok := debug.ReadBuildInfo()
	if !ok {
		recorded = &debug.BuildInfo{}
	}
	return read(version, commit, stamp, recorded)
}

func read(version, commit, stamp string, recorded *debug.BuildInfo) Info {
	i := Info{Version: version, Commit: commit, Module: recorded.Main.Path, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, s := range recorded.Settings {
		switch {
		case s.Key == "vcs.revision" && i.Commit == "":
			i.Commit = s.Value
		case s.Key == "vcs.time" && stamp == "":
			stamp = s.Value
		case s.Key == "vcs.modified" && commit == "":
			i.Dirty = s.Value == "true"
		}
	}
	if i.Version == "" {
		i.Version = "dev"
		if v := recorded.Main.Version; v != "" && v != "(devel)" {
			i.Version = v
		}
	}
	i.Dirty = i.Dirty || strings.HasSuffix(i.Version, "-dirty")
	if at, err := time.Parse(time.RFC3339, stamp); err == nil {
		at = at.UTC()
		i.Time = &at
	}
	return i
}

// Short is the version with the beginning of the commit, unless the version names it already.
func (i Info) Short() string {
	commit := i.Commit[:min(12, len(i.Commit))]
	if commit == "" || strings.Contains(i.Version, commit[:min(7, len(commit))]) {
		return i.Version
	}
	return i.Version + " (" + commit + ")"
}
