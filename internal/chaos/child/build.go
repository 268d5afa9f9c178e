// Package child builds the gateway and runs it as a child process that can be
// killed, for the kill tests and the benchmarks.
package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildParams describe a build.
type BuildParams struct {
	Out  string   // the file that the binary becomes
	Tags []string // build tags
	// Stripped builds like a release: without symbols, paths and cgo.
	Stripped bool
}

// Build compiles cmd/sluice of the module that contains the working directory.
func Build(ctx context.Context, p BuildParams) error {
	args := []string{"build", "-o", p.Out}
	if len(p.Tags) > 0 {
		args = append(args, "-tags", strings.Join(p.Tags, ","))
	}
	if p.Stripped {
		args = append(args, "-trimpath", "-ldflags", "-s -w")
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/sluice")...)
	cmd.Dir = root
	if p.Stripped {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the gateway: %w\n%s", err, out)
	}
	return nil
}

// moduleRoot returns the folder with go.mod at or above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find the module: no go.mod above the working directory")
		}
		dir = parent
	}
}
