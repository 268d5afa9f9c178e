// Package setup writes a first configuration. It asks which channels and which
// model to use, keeps the secrets out of the configuration, and writes nothing
// that the gateway would refuse.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/internal/settings"
)

// SecretsDir is the folder next to the configuration that holds a file for each secret.
const SecretsDir = settings.SecretsDir

// Setup writes a configuration.
type Setup struct {
	Screen   terminal.Screen
	Input    io.Reader
	Terminal bool                   // input and output are a terminal
	Secret   func() (string, error) // reads a line without showing it; nil: from Input
	Typing   func() (Typing, error) // takes the terminal over for the questions; nil: Input and Secret are read
	Loader   config.Loader
	Path     string // of the configuration
	Force    bool   // files that exist are written over
	JSON     bool   // print the result as JSON; the questions are then on standard error
	// Probe asks a platform for the profile of the account on one channel; nil: tokens are not tried.
	Probe func(ctx context.Context, cfg *config.Config, channel string) (profile string, err error)
}

// wrote is what was written as JSON.
type wrote struct {
	Config  string   `json:"config"`
	Secrets []string `json:"secrets"` // a file for each
}

// Run asks the questions and writes the files. yes takes the default answers instead.
func (s *Setup) Run(ctx context.Context, yes bool) error {
	result := s.Screen
	if s.JSON {
		s.Screen.Out = s.Screen.Err
	}
	if _, err := os.Lstat(s.Path); err == nil && !s.Force {
		return fmt.Errorf("%s already exists: use --force to write over it", s.Path)
	}
	got := answers{Provider: config.OfflineProvider}
	if !yes {
		if !s.Terminal {
			return terminal.UsageError{Text: "init asks questions and needs a terminal: use --yes for the default answers"}
		}
		if err := s.interview(ctx, &got); err != nil {
			return err
		}
	}
	kept, err := s.write(got)
	if err != nil {
		for _, file := range kept {
			err = errors.Join(err, os.Remove(file))
		}
		return err
	}
	var text strings.Builder
	for _, file := range kept {
		fmt.Fprintf(&text, "Wrote %s, readable only by you.\n", file)
	}
	serve := "sluice serve"
	if s.Path != config.FileName {
		serve += " --config " + s.Path
	}
	fmt.Fprintf(&text, "Wrote %s. Start the gateway with: %s", s.Path, serve)
	return result.Result(s.JSON, wrote{Config: s.Path, Secrets: append([]string{}, kept...)}, text.String())
}

// write writes the secrets and the configuration. It returns the secrets' files that it wrote, also with an error.
func (s *Setup) write(got answers) (kept []string, err error) {
	if err := s.check(got); err != nil { // before any file is written
		return nil, err
	}
	kept, err = s.keepSecrets(got.secrets())
	if err != nil {
		return kept, err
	}
	if err := s.check(got); err != nil { // with the references to the files
		return kept, err
	}
	text, err := got.yaml()
	if err != nil {
		return kept, err
	}
	return kept, s.writeFile(s.Path, text)
}

// profile asks a platform for the profile of the bot. Empty: the platform was not asked.
func (s *Setup) profile(ctx context.Context, got answers, channel string) (string, error) {
	if s.Probe == nil {
		return "", nil
	}
	text, err := got.yaml()
	if err != nil {
		return "", err
	}
	cfg, err := s.Loader.Parse(s.Path, text)
	if err != nil {
		return "", err
	}
	return s.Probe(ctx, cfg, channel)
}

// check reports whether the gateway would take a configuration with these answers.
func (s *Setup) check(got answers) error {
	text, err := got.yaml()
	if err != nil {
		return err
	}
	_, err = s.Loader.Parse(s.Path, text)
	return err
}

// keepSecrets writes each secret to a file and puts a reference to the file in its place. An answer that is already a
// reference stays.
func (s *Setup) keepSecrets(secrets []secret) (written []string, err error) {
	dir := filepath.Dir(s.Path)
	for _, one := range secrets {
		if *one.value == "" || isReference(*one.value) {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, SecretsDir), 0o700); err != nil {
			return written, fmt.Errorf("make folder for secrets: %w", err)
		}
		name := filepath.Join(SecretsDir, one.file)
		path := filepath.Join(dir, name)
		if err := s.writeFile(path, []byte(*one.value+"\n")); err != nil {
			return written, err
		}
		written = append(written, path)
		*one.value = "${file:" + filepath.ToSlash(name) + "}"
	}
	return written, nil
}

// writeFile writes a file that only its owner can read.
func (s *Setup) writeFile(path string, text []byte) error {
	if s.Force {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replace file: %w", err)
		}
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists: use --force to write over it", path)
	}
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write file: %w", err), os.Remove(path))
	}
	return nil
}
