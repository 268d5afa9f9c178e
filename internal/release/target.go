package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// allTargets are what a release has binaries for.
var allTargets = []string{
	"linux/amd64", "linux/arm64", "linux/armv7", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// target is an operating system and a processor.
type target struct{ os, arch string }

func parseTarget(name string) (target, error) {
	if !slices.Contains(allTargets, name) {
		return target{}, fmt.Errorf("unknown target %q: use some of %s", name, strings.Join(allTargets, ", "))
	}
	system, arch, _ := strings.Cut(name, "/")
	return target{system, arch}, nil
}

// String is the target as it stands in file names.
func (t target) String() string { return t.os + "_" + t.arch }

// binary is the name of the program.
func (t target) binary() string {
	if t.os == "windows" {
		return "sluice.exe"
	}
	return "sluice"
}

// goarch is Go's name of the processor.
func (t target) goarch() string {
	if t.arch == "armv7" {
		return "arm"
	}
	return t.arch
}

// environment chooses the target for the compiler.
func (t target) environment() []string {
	env := []string{"CGO_ENABLED=0", "GOOS=" + t.os, "GOARCH=" + t.goarch(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOTOOLCHAIN=local", "GOEXPERIMENT="}
	switch t.arch {
	case "armv7":
		return append(env, "GOARM=7")
	case "amd64":
		return append(env, "GOAMD64=v1")
	case "arm64":
		return append(env, "GOARM64=v8.0")
	}
	return env
}

// compile builds the program without anything that depends on this machine.
func (r *release) compile(ctx context.Context, t target, to string) error {
	set := fmt.Sprintf("-s -w -buildid= -X main.version=%s -X main.commit=%s -X main.stamp=%s", r.tag, r.commit, r.at.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", set, "-o", to, "./cmd/sluice")
	cmd.Env = append(os.Environ(), t.environment()...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	return nil
}
