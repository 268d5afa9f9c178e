package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/internal/leash"
	"sluice/internal/node/protocol"
)

const (
	fileMax    = 64 << 10 // bytes of a file that is read or written
	listMax    = 500      // names of one folder
	outputMax  = 32 << 10 // bytes of a command's output
	commandMax = time.Minute
	killWait   = 2 * time.Second
)

// Tools is what a node offers to agents.
type Tools struct {
	Version  string
	Platform string
	Folder   string     // whose files may be listed, read and written; empty: none
	Commands [][]string // commands that may be run, as words; a last word * allows more arguments
	Notify   bool       // a notification may be shown
}

// None reports whether there are no tools.
func (t Tools) None() bool { return t.Folder == "" && len(t.Commands) == 0 && !t.Notify }

// serve offers the tools on a connection until it ends.
func (t Tools) serve(ctx context.Context, link *protocol.Link) {
	s := sdk.NewServer(&sdk.Implementation{Name: "sluice-node", Version: t.Version}, nil)
	if t.Folder != "" {
		sdk.AddTool(s, &sdk.Tool{Name: "files_list", Description: "List the files of a folder on this node. Paths are relative; the node's folder is \".\"."}, tool(t.list))
		sdk.AddTool(s, &sdk.Tool{Name: "files_read", Description: "Read a text file of this node."}, tool(t.read))
		sdk.AddTool(s, &sdk.Tool{Name: "files_write", Description: "Write a text file on this node. An existing file is replaced."}, tool(t.write))
	}
	if len(t.Commands) > 0 {
		sdk.AddTool(s, &sdk.Tool{Name: "run", Description: "Run a command on this node, without a shell. Allowed: " + t.allowed()}, tool(t.run))
	}
	if t.Notify {
		sdk.AddTool(s, &sdk.Tool{Name: "notify", Description: "Show a notification on this node's screen."}, tool(func(ctx context.Context, in notice) (string, error) {
			return "shown", Notify(ctx, in.Title, in.Text)
		}))
	}
	session, err := s.Connect(ctx, link, nil)
	if err != nil {
		return // the connection has ended
	}
	stop := context.AfterFunc(ctx, func() { _ = link.Close() })
	defer stop()
	_ = session.Wait() // ends with the connection
}

// tool is a tool whose result is one text. An error is shown to the agent.
func tool[I any](do func(ctx context.Context, in I) (string, error)) sdk.ToolHandlerFor[I, any] {
	return func(ctx context.Context, _ *sdk.CallToolRequest, in I) (*sdk.CallToolResult, any, error) {
		text, err := do(ctx, in)
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	}
}

type place struct {
	Path string `json:"path" jsonschema:"relative path inside the node's folder"`
}

type content struct {
	Path string `json:"path" jsonschema:"relative path inside the node's folder"`
	Text string `json:"text"`
}

type command struct {
	Words []string `json:"words" jsonschema:"the program and its arguments"`
}

type notice struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// within does something inside the node's folder, which no path and no link can leave.
func (t Tools) within(path string, do func(root *os.Root, path string) error) error {
	root, err := os.OpenRoot(t.Folder)
	if err != nil {
		return errors.New("the node's folder can't be opened")
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	return do(root, filepath.FromSlash(path))
}

func (t Tools) list(_ context.Context, in place) (text string, err error) {
	err = t.within(in.Path, func(root *os.Root, path string) error {
		f, err := root.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		entries, err := f.ReadDir(listMax)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		var lines []string
		for _, e := range entries {
			name := e.Name()
			if e.IsDir() {
				name += "/"
			}
			lines = append(lines, name)
		}
		if len(entries) == listMax {
			lines = append(lines, fmt.Sprintf("[only the first %d are shown]", listMax))
		}
		text = strings.Join(lines, "\n")
		return nil
	})
	return text, err
}

func (t Tools) read(_ context.Context, in place) (text string, err error) {
	err = t.within(in.Path, func(root *os.Root, path string) error {
		info, err := root.Stat(path) // before opening: a pipe would wait
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() || info.Size() > fileMax {
			return fmt.Errorf("%s is not a file of at most %d bytes", in.Path, fileMax)
		}
		f, err := root.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		body, err := io.ReadAll(io.LimitReader(f, fileMax))
		if err != nil {
			return err
		}
		if !utf8.Valid(body) {
			return fmt.Errorf("%s is not a text", in.Path)
		}
		text = string(body)
		return nil
	})
	return text, err
}

func (t Tools) write(_ context.Context, in content) (string, error) {
	if len(in.Text) > fileMax {
		return "", fmt.Errorf("the text has %d bytes; the maximum is %d", len(in.Text), fileMax)
	}
	err := t.within(in.Path, func(root *os.Root, path string) error {
		if info, err := root.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", in.Path)
		}
		return root.WriteFile(path, []byte(in.Text), 0o600)
	})
	return "written", err
}

func (t Tools) allowed() string {
	var all []string
	for _, c := range t.Commands {
		all = append(all, strings.Join(c, " "))
	}
	return strings.Join(all, "; ")
}

// permits reports whether a command may be run.
func (t Tools) permits(words []string) bool {
	return len(words) > 0 && slices.ContainsFunc(t.Commands, func(c []string) bool {
		if n := len(c) - 1; n > 0 && c[n] == "*" {
			return len(words) >= n && slices.Equal(words[:n], c[:n])
		}
		return slices.Equal(words, c)
	})
}

func (t Tools) run(ctx context.Context, in command) (string, error) {
	if !t.permits(in.Words) {
		return "", fmt.Errorf("this command is not allowed; allowed are: %s", t.allowed())
	}
	ctx, cancel := context.WithTimeout(ctx, commandMax)
	defer cancel()
	out := &bounded{}
	c := exec.CommandContext(ctx, in.Words[0], in.Words[1:]...) //nolint:gosec // the node's owner has allowed it
	c.Stdout, c.Stderr, c.WaitDelay, c.Dir = out, out, killWait, t.Folder
	held, err := leash.Start(c)
	if err == nil {
		held.Release()
		err = held.Wait()
	}
	text := strings.ToValidUTF8(out.String(), "?")
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return text, nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

// Write implements [io.Writer].
func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), outputMax-b.Len())])
	return len(p), nil
}

// Notify shows a notification with the desktop's own program.
func Notify(ctx context.Context, title, text string) error {
	ctx, cancel := context.WithTimeout(ctx, killWait*5)
	defer cancel()
	c, err := notification(ctx, title, text)
	if err != nil {
		return err
	}
	if err := c.Run(); err != nil {
		return fmt.Errorf("show notification with %s: %w", filepath.Base(c.Path), err)
	}
	return nil
}

// notification is the command that shows a notification. Texts are arguments, never part of a script.
func notification(ctx context.Context, title, text string) (*exec.Cmd, error) {
	switch runtime.GOOS {
	case "linux":
		return exec.CommandContext(ctx, "notify-send", "--", title, text), nil
	case "darwin":
		return exec.CommandContext(ctx, "osascript", "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--", title, text), nil
	}
	return nil, fmt.Errorf("there are no notifications on %s", runtime.GOOS)
}
