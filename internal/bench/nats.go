package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sluice/internal/freeport"
	"sluice/internal/pause"
)

// nats is a NATS server with JetStream as a process of its own.
type nats struct {
	cmd          *exec.Cmd
	url, monitor string
}

// startNATS builds the server, unless that is done, and starts it in a new folder below dir.
func startNATS(ctx context.Context, dir string) (*nats, error) {
	binary := filepath.Join(dir, "nats-server")
	if _, err := os.Stat(binary); err != nil {
		out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "github.com/nats-io/nats-server/v2").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("build NATS: %w\n%s", err, out)
		}
	}
	client, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	monitor, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	store, err := os.MkdirTemp(dir, "nats-")
	if err != nil {
		return nil, fmt.Errorf("make folder of NATS: %w", err)
	}
	config := fmt.Sprintf("listen: %q\nhttp: %q\njetstream { store_dir: %q }\n", client, monitor, store)
	if err := os.WriteFile(store+".conf", []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("write configuration of NATS: %w", err)
	}
	n := &nats{cmd: exec.Command(binary, "-c", store+".conf"), url: "nats://" + client, monitor: "http://" + monitor}
	if err := n.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start NATS: %w", err)
	}
	if err := n.waitReady(ctx); err != nil {
		n.stop()
		return nil, err
	}
	return n, nil
}

func (n *nats) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		var health struct {
			Status string `json:"status"`
		}
		if n.get(ctx, "/healthz", &health) == nil && health.Status == "ok" {
			return nil
		}
		if err := pause.Wait(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("wait for NATS: %w", err)
		}
	}
}

// traffic returns how many messages clients have published and the server has sent to clients so far.
func (n *nats) traffic(ctx context.Context) (published, sent float64, err error) {
	var figures struct {
		In  float64 `json:"in_msgs"`
		Out float64 `json:"out_msgs"`
	}
	err = n.get(ctx, "/varz", &figures)
	return figures.In, figures.Out, err
}

func (n *nats) get(ctx context.Context, path string, into any) (err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, n.monitor+path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("ask NATS: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("ask NATS for %s: %w", path, err)
	}
	return nil
}

// stop ends the server at once. Its folder stays.
func (n *nats) stop() {
	_ = n.cmd.Process.Kill() // it may have ended already
	_ = n.cmd.Wait()         // says that it was killed
}
