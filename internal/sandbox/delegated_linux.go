package sandbox

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// delegated reports whether a control group was given to the gateway: systemd marks such groups (Delegate=yes), and the root group of a
// container belongs to it. Other groups of systemd must be left alone.
func delegated(folder string) bool {
	if unix.Access(filepath.Join(folder, "cgroup.subtree_control"), unix.W_OK) != nil {
		return false
	}
	if folder == groupRoot {
		_, err := os.Stat(filepath.Join(folder, "cgroup.type")) // the machine's own root has none
		return err == nil
	}
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		var value [1]byte
		if n, err := unix.Getxattr(folder, name, value[:]); err == nil && n == 1 && value[0] == '1' {
			return true
		}
	}
	return false
}
