package footprint

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// UnmapProgram takes the pages of the program out of this process's memory. A start runs through much more code than a
// gateway that waits for messages, and the system counts all of that code as used. Pages that are used again come back
// from the system's cache of the file, 16 at a time. Only code and constants are unmapped, which nothing can have changed.
// A program that the loader has relocated keeps all its memory: some of its constants differ from the file.
func UnmapProgram() error {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	if yes, err := isRelocated("/proc/self/exe"); yes || err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("read what is mapped: %w", err)
	}
	parts := readOnly(bytes.NewReader(maps), path)
	if len(parts) == 0 {
		return fmt.Errorf("%s is not mapped", path)
	}
	for _, m := range parts {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("unmap the program: %w", errno)
		}
	}
	return nil
}

// isRelocated reports whether the loader changes parts of a program and then makes them read-only.
func isRelocated(path string) (bool, error) {
	file, err := elf.Open(path)
	if err != nil {
		return false, fmt.Errorf("read the program's headers: %w", err)
	}
	relocated := file.Type != elf.ET_EXEC ||
		slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_GNU_RELRO || p.Type == elf.PT_INTERP })
	return relocated, file.Close()
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// readOnly are the ranges that show a file and that can't be written to.
func readOnly(maps io.Reader, path string) []mapping {
	var found []mapping
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		// from-to permissions offset device inode path
		line := lines.Text()
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasSuffix(line, " "+path) || fields[1] != "r-xp" && fields[1] != "r--p" {
			continue
		}
		var m mapping
		if _, err := fmt.Sscanf(fields[0], "%x-%x", &m.from, &m.to); err == nil {
			found = append(found, m)
		}
	}
	return found
}
