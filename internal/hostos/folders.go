package hostos

import (
	"path/filepath"
	"runtime"
)

// DataFolder is where the gateway of a person keeps its state, below the home folder ~.
func DataFolder() string { return dataFolder(runtime.GOOS) }

func dataFolder(system string) string {
	switch system {
	case "darwin":
		return "~/Library/Application Support/sluice"
	case "windows":
		return "~/AppData/Local/sluice"
	}
	return "~/.local/share/sluice"
}

// ConfigFolder is where a person's configuration is. It is empty if it is unknown.
func ConfigFolder(getenv func(string) (string, bool), home string) string {
	return configFolder(runtime.GOOS, getenv, home)
}

func configFolder(system string, getenv func(string) (string, bool), home string) string {
	if dir, _ := getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "sluice")
	}
	if home == "" {
		return ""
	}
	switch system {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "sluice")
	case "windows":
		return filepath.Join(home, "AppData", "Roaming", "sluice")
	}
	return filepath.Join(home, ".config", "sluice")
}

// SystemFolders are where a gateway that belongs to the machine has its configuration and keeps its state.
func SystemFolders(getenv func(string) (string, bool)) (config, state string) {
	return systemFolders(runtime.GOOS, getenv)
}

func systemFolders(system string, getenv func(string) (string, bool)) (config, state string) {
	switch system {
	case "darwin":
		return "/Library/Application Support/sluice", "/Library/Application Support/sluice/state"
	case "windows":
		dir, _ := getenv("ProgramData")
		if dir == "" {
			dir = `C:\ProgramData`
		}
		return filepath.Join(dir, "sluice"), filepath.Join(dir, "sluice", "state")
	}
	return "/etc/sluice", "/var/lib/sluice"
}
