package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is the unit of /proc/<pid>/stat, which is the same on every Linux.
const ticksPerSecond = 100

// The fields of /proc/<pid>/stat after the command's name: the parent, and the user and kernel time of the process
// and of its children that have ended.
const (
	statParent     = 1
	statOwn        = 11
	statOfChildren = 13
)

// processorTime returns a process's user and kernel time.
func processorTime(pid int) (time.Duration, error) {
	fields, err := procStat(pid)
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return ticks(fields, statOwn)
}

// familyTime returns the processor time of a process and all its children, also of those that have ended.
func familyTime(pid int) (time.Duration, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, folder := range folders {
		member, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		fields, err := procStat(member)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has just ended
		}
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		if member != pid && fields[statParent] != strconv.Itoa(pid) {
			continue
		}
		own, err := ticks(fields, statOwn)
		if err != nil {
			return 0, err
		}
		sum += own
		if member == pid {
			ended, err := ticks(fields, statOfChildren)
			if err != nil {
				return 0, err
			}
			sum += ended
		}
	}
	return sum, nil
}

// procStat returns the fields of /proc/<pid>/stat after the command's name.
func procStat(pid int) ([]string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	// The command's name may contain anything, even a closing bracket, so the fields are counted from the last
	// bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= statOfChildren+1 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// ticks returns the sum of two fields that follow each other: a user and a kernel time.
func ticks(fields []string, from int) (time.Duration, error) {
	var sum int64
	for _, field := range fields[from : from+2] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read processor time: %w", err)
		}
		sum += n
	}
	return time.Duration(sum) * time.Second / ticksPerSecond, nil
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
