//go:build !windows

package service

import (
	"cmp"
	"path/filepath"
	"runtime"
)

// newManager returns the manager of services of this system.
func newManager(home string, getenv func(string) (string, bool), run run) manager {
	if runtime.GOOS == "darwin" {
		person, _ := getenv("SUDO_USER")
		return newLaunchd(home, person, run)
	}
	config, _ := getenv("XDG_CONFIG_HOME")
	return newSystemd(cmp.Or(config, filepath.Join(home, ".config")), run)
}
