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
	"strings"
	"time"

	"sluice/internal/freeport"
	"sluice/internal/pause"
)

// nats is a NATS server with JetStream, or a cluster of several. Each is a process of its own.
type nats struct {
	servers []*natsServer
	url     string // of all servers
}

type natsServer struct {
	cmd     *exec.Cmd
	monitor string
}

// startNATS builds the server, unless that is done, and starts it n times, in new folders below dir.
func startNATS(ctx context.Context, dir string, n int) (*nats, error) {
	binary := filepath.Join(dir, "nats-server")
	if _, err := os.Stat(binary); err != nil {
		out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "github.com/nats-io/nats-server/v2").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("build NATS: %w\n%s", err, out)
		}
	}
	clients, monitors, routes := make([]string, n), make([]string, n), make([]string, n)
	for _, addrs := range [][]string{clients, monitors, routes} {
		for i := range addrs {
			var err error
			if addrs[i], err = freeport.Addr(); err != nil {
				return nil, err
			}
		}
	}
	all := &nats{url: "nats://" + strings.Join(clients, ",nats://")}
	for i := range n {
		config := fmt.Sprintf("server_name: node%d\nlisten: %q\nhttp: %q\n", i, clients[i], monitors[i])
		if n > 1 {
			config += fmt.Sprintf("cluster { name: bench, listen: %q, routes: [\"nats://%s\"] }\n", routes[i], strings.Join(routes, `", "nats://`))
		}
		s, err := startNATSServer(dir, binary, config)
		if err != nil {
			all.stop()
			return nil, err
		}
		s.monitor = "http://" + monitors[i]
		all.servers = append(all.servers, s)
	}
	if err := all.waitReady(ctx); err != nil {
		all.stop()
		return nil, err
	}
	return all, nil
}

// startNATSServer starts a server that keeps its streams in a new folder.
func startNATSServer(dir, binary, config string) (*natsServer, error) {
	store, err := os.MkdirTemp(dir, "nats-")
	if err != nil {
		return nil, fmt.Errorf("make folder of NATS: %w", err)
	}
	config += fmt.Sprintf("jetstream { store_dir: %q }\n", store)
	if err := os.WriteFile(store+".conf", []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("write configuration of NATS: %w", err)
	}
	s := &natsServer{cmd: exec.Command(binary, "-c", store+".conf")}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start NATS: %w", err)
	}
	return s, nil
}

// waitReady waits for each server. Those of a cluster are ready once they have a leader.
func (n *nats) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for _, s := range n.servers {
		for {
			var health struct {
				Status string `json:"status"`
			}
			if s.get(ctx, "/healthz", &health) == nil && health.Status == "ok" {
				break
			}
			if err := pause.Wait(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("wait for NATS: %w", err)
			}
		}
	}
	return nil
}

// processorTime returns what all servers have used.
func (n *nats) processorTime() (all time.Duration, err error) {
	for _, s := range n.servers {
		used, err := processorTime(s.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		all += used
	}
	return all, nil
}

// traffic returns how many messages the servers have received and sent so far. In a cluster, those between the servers count.
func (n *nats) traffic(ctx context.Context) (received, sent float64, err error) {
	for _, s := range n.servers {
		var figures struct {
			In  float64 `json:"in_msgs"`
			Out float64 `json:"out_msgs"`
		}
		if err := s.get(ctx, "/varz", &figures); err != nil {
			return 0, 0, err
		}
		received, sent = received+figures.In, sent+figures.Out
	}
	return received, sent, nil
}

func (s *natsServer) get(ctx context.Context, path string, into any) (err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.monitor+path, http.NoBody)
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

// stop ends the servers at once. Their folders stay.
func (n *nats) stop() {
	for _, s := range n.servers {
		_ = s.cmd.Process.Kill() // it may have ended already
		_ = s.cmd.Wait()         // says that it was killed
	}
}
