package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of /proc/<pid>/stat, which is the same on every Linux.
const ticksPerSecond = 100

// processorTime returns a process's user and kernel time.
func processorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	// The command's name may contain anything, even a closing bracket, so the fields are counted from the last
	// bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, fmt.Errorf("read processor time: %d fields", len(fields))
	}
	var ticks int64
	for _, field := range []string{fields[utime], fields[stime]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// residentMemory returns a process's resident set in bytes.
func residentMemory(pid int) (float64, error) {
	size, err := procLine(fmt.Sprintf("/proc/%d/status", pid), "VmRSS")
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	kB, err := strconv.ParseFloat(strings.TrimSuffix(size, " kB"), 64)
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	return kB * 1024, nil
}

// procLine returns the value of the first "name: value" line of a file.
func procLine(path, name string) (string, error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s has no line %q", path, name)
}
