package storetest

import (
	"errors"
	"os/exec"
	"time"
)

// credential has no use on Windows: PostgreSQL for tests does not run there, and processor time is not measured.
type credential = any

func credentialOf(int, int) credential { return nil }

func detach(*exec.Cmd, credential) {}

func kill(int) error { return errors.ErrUnsupported }

func processor() time.Duration { return 0 }
