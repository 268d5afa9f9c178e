package configfile_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/configfile"
)

// soon is after the next look at the files.
const soon = 3 * time.Second

// A file that the configuration names is watched as the configuration itself: its new content is in use without anything
// else. While it is missing, the last valid configuration stays in effect.
func TestASecretsFileThatChangesIsInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path, secret, other := filepath.Join(dir, "sluice.yaml"), filepath.Join(dir, "token"), filepath.Join(dir, "other-token")
		write := func(file, text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
		write(secret, "first\n")
		write(path, "gateway: { token: \"${file:token}\" }\n")
		loader := config.Loader{Home: dir, Getenv: func(name string) (string, bool) { return dir, name == config.EnvState }}
		started, err := loader.Load(path)
		require.NoError(t, err)
		var tokens []string
		var log bytes.Buffer
		f := configfile.New(configfile.Source{Loader: loader, Path: path}, started, configfile.Gateway{
			Apply: func(c *config.Config) error { tokens = append(tokens, c.Gateway.Token.Reveal()); return nil },
			Warn:  func(context.Context, *config.Config) {},
			Now:   time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)), Redact: func(text string) string { return text },
			Audit: func(context.Context, string, string, string, any) error { return nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { f.Watch(ctx, configfile.StampsOf(path, started.FilesRead()...)) })
		look := func() { time.Sleep(soon); synctest.Wait() }

		look()
		require.Empty(t, tokens, "nothing has changed")
		write(secret, "the-second\n")
		look()
		require.Equal(t, []string{"the-second"}, tokens, log.String())
		require.Equal(t, "the-second", f.Running().Gateway.Token.Reveal())
		look()
		require.Len(t, tokens, 1, "it is applied once")

		require.NoError(t, os.Remove(secret))
		look()
		require.Len(t, tokens, 1)
		require.Contains(t, log.String(), "the last valid one stays in effect")
		require.Contains(t, log.String(), "cannot be read")
		write(secret, "the-third-one\n")
		look()
		require.Equal(t, []string{"the-second", "the-third-one"}, tokens)

		for _, text := range []string{"", "\n \n"} {
			write(path, text)
			look()
			require.Len(t, tokens, 2, "an empty file is a truncated file")
		}
		require.Contains(t, log.String(), "the file is empty")

		write(other, "another\n")
		write(path, "gateway: { token: \"${file:other-token}\" } # from now on\n")
		look()
		write(secret, "nobody reads this any more\n")
		look()
		require.Equal(t, []string{"the-second", "the-third-one", "another"}, tokens)
		write(other, "and-another\n")
		look()
		require.Equal(t, "and-another", f.Running().Gateway.Token.Reveal(), "the files that the new configuration names are watched")
		for _, token := range tokens {
			require.NotContains(t, log.String(), token)
		}
		cancel()
		watching.Wait()
	})
}
