package sqlite

import (
	"errors"
	"os"
	"path/filepath"

	"sluice/internal/hostos"
	"sluice/store/engine"
)

// lockFolder makes sure that only one process uses the state folder. The lock ends with the process, even after a
// crash.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(filepath.Clean(dir), "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, explain(err, dir)
	}
	err = hostos.Lock(f)
	switch {
	case errors.Is(err, hostos.ErrLocked):
		return nil, errors.Join(&engine.Unavailable{
			Reason: "another sluice uses the state folder " + dir,
			Fix:    "stop it, or set state or $SLUICE_STATE to another folder",
		}, f.Close())
	case err != nil:
		return nil, errors.Join(explain(err, dir), f.Close())
	}
	return f, nil
}
