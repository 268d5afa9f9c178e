package storetest

import (
	"errors"
	"os/exec"
	"time"
)

// There is no server for tests on Windows, so nothing is started as another user, and nothing is measured.
type credential = any

func credentialOf(int, int) credential { return nil }

func detach(*exec.Cmd, credential) {}

func kill(int) error { return errors.ErrUnsupported }

func processor() time.Duration { return 0 }
