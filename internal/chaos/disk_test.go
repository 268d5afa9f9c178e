package chaos_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/postgres"
)

// ownDisk gives a gateway's state a small disk of its own, where the test may make one.
func ownDisk(t *testing.T, folder string) (ok bool) {
	t.Helper()
	require.NoError(t, os.MkdirAll(folder, 0o700))
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=8m,mode=700"); err != nil {
		return false
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(folder, syscall.MNT_DETACH)) })
	return true
}

// fill writes a file until its disk is full.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("the disk is not full: %w", err)
	} else {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// fillDisk fills the disk of a gateway whose state has its own disk, and restarts the gateway.
func (c *cluster) fillDisk(i int) error {
	ballast := filepath.Join(c.configs[i].State, "ballast")
	if err := fill(ballast); err != nil {
		return err
	}
	c.pause(away() / 4)
	if code, err := c.each[i].Terminate(exitWithin); err != nil || code != 0 {
		return fmt.Errorf("exit code %d: %w", code, err)
	}
	if err := c.begin(i, c.binary); err != nil {
		return err
	}
	c.pause(away() / 4)
	return os.Remove(ballast)
}

// The disk of one of three gateways is full while people write and while it gets a request to a hook. The rows are in the database,
// so nothing is lost or refused, and the gateway can even start.
func TestFullDiskOfOne(t *testing.T) {
	t.Parallel()
	const secret = "secret-of-the-hook"
	c := newCluster(t, 3, options{extra: "hooks:\n  build: { preset: generic, classification: PUBLIC, secrets: [" + secret + "], prompt: \"build {{.payload.n}}\" }\n"})
	const full = 1
	if !ownDisk(t, c.configs[full].State) {
		t.Log("no disk of its own can be made here, so the disk is not full")
		require.NoError(t, os.MkdirAll(c.configs[full].State, 0o700))
	} else {
		require.NoError(t, fill(filepath.Join(c.configs[full].State, "ballast")))
	}
	c.runAll()
	messages := 40
	if *long {
		messages = 2000
	}
	c.talk(messages, ended)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.configs[full].Listen+"/hooks/build", strings.NewReader(`{"n":1}`))
	require.NoError(t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + secret}, "Content-Type": {"application/json"}, "Idempotency-Key": {"b1"}}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	c.awaitAnswers()
	verdict, unknown := c.judge()
	require.Empty(t, unknown)
	require.Empty(t, verdict.Repeats)
	require.Empty(t, c.rows("failed", "expired", "blocked"), "dead letters")
	db, err := postgres.Open(t.Context(), postgres.Config{URL: c.world.config.StoreURL})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	found, err := db.TriggersOf(t.Context(), []string{"hook/build/b1"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NotEmpty(t, found[0].Run, "%s: %s", found[0].Status, found[0].Why)
	c.process = nil
}
