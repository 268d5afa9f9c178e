package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"sluice/internal/hostos"
)

// InstructionsMax is the size of an instruction file in bytes, at most.
const InstructionsMax = 32 << 10

// LocalAgentsFileNames are the files of a workspace in which its owner can instruct
// agents, in the order in which they are looked for.
func LocalAgentsFileNames() []string { return []string{"AGENT.md", "AGENTS.md", "CLAUDE.md"} }

// ReadInstructions reads the first of [LocalAgentsFileNames] that is in the workspace,
// and gives its name too. Both are empty if no such file exists. A file that is too big, is no
// regular file, or is a link that leads out of the workspace, is an error that names it.
func ReadInstructions(workspace string) (name, text string, err error) {
	return readFirst(workspace, LocalAgentsFileNames())
}

// SpineFileName is the file of a workspace in which its owner says what the agent is to remember, and how.
const SpineFileName = "SPINE.md"

// ReadSpine reads [SpineFileName] in the workspace, with the bounds of [ReadInstructions], or empty if the file does not exist.
func ReadSpine(workspace string) (string, error) {
	_, text, err := readFirst(workspace, []string{SpineFileName})
	return text, err
}

// HeartbeatFileName is the file of a workspace in which its owner says what the agent is to look at by itself.
const HeartbeatFileName = "HEARTBEAT.md"

// ReadHeartbeat reads [HeartbeatFileName] in the workspace, with the bounds of [ReadInstructions], or empty if the file does not exist.
func ReadHeartbeat(workspace string) (string, error) {
	_, text, err := readFirst(workspace, []string{HeartbeatFileName})
	return text, err
}

// readFirst reads the first file of some names that is in the workspace.
func readFirst(workspace string, names []string) (name, text string, err error) {
	if workspace == "" {
		return "", "", nil
	}
	root, err := os.OpenRoot(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read instructions: %w", err)
	}
	defer root.Close() //nolint:errcheck // only read from
	for _, name := range names {
		text, err := readInstructions(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return name, "", fmt.Errorf("read instructions in %s: %w", name, err)
		}
		return name, text, nil
	}
	return "", "", nil
}

func readInstructions(root *os.Root, name string) (string, error) {
	// Without O_NONBLOCK the opening of a FIFO would wait for somebody who writes into it.
	f, err := root.OpenFile(name, os.O_RDONLY|hostos.NonBlock, 0)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("it is a %s, want a regular file", kindOf(info.Mode()))
	}
	content, err := io.ReadAll(io.LimitReader(f, InstructionsMax+1))
	if err != nil {
		return "", err
	}
	if len(content) > InstructionsMax {
		return "", fmt.Errorf("it has more than %d bytes", InstructionsMax)
	}
	return strings.ToValidUTF8(string(content), "\uFFFD"), nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeNamedPipe != 0:
		return "FIFO"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
