package port

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sluice/sessions/address"
)

// MakeFolder makes the folder of a session in its agent's workspace if it is missing, and returns its path. The workspace
// is an absolute path. The folder is never outside of it: a link or file in its place is an error.
func MakeFolder(workspace string, id address.ID) (path string, err error) {
	if !filepath.IsAbs(workspace) {
		return "", fmt.Errorf("workspace %q: want an absolute path", workspace)
	}
	if _, err := address.ParseID(string(id)); err != nil {
		return "", err // it becomes a part of a path
	}
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return "", fmt.Errorf("make workspace: %w", err)
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", fmt.Errorf("open workspace: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	folder := filepath.Join("sessions", string(id))
	if err := root.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make folder of session: %w", err)
	}
	info, err := root.Lstat(folder)
	if err != nil {
		return "", fmt.Errorf("make folder of session: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("make folder of session: %s is not a folder", folder)
	}
	return filepath.Join(workspace, folder), nil
}
