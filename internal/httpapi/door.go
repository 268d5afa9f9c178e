package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"syscall"

	"sluice/router/request"
)

// doorsMax bounds the old addresses on which requests from before a move still run. Beyond it, the oldest address is closed and
// its requests end.
const doorsMax = 8

// door is the current or an old address of the server.
type door struct {
	listener net.Listener
	http     *http.Server
}

// Start serves on a listener, which Stop or Move closes.
func (s *Server) Start(l net.Listener) {
	s.denials.Start()
	s.keeper.Start()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open(l)
}

// open makes a listener the current one. The caller holds the lock.
func (s *Server) open(l net.Listener) {
	d := &door{l, &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerMax,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}}
	s.doors = append(s.doors, d)
	s.serving.Go(func() {
		if err := d.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.Error("http server ended", "err", err)
		}
	})
}

// Addr returns the current address.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doors[len(s.doors)-1].listener.Addr()
}

// Move serves on another address and closes the old one for new connections; its requests and streams continue. If the server
// can't listen on the new address, nothing changes.
func (s *Server) Move(ctx context.Context, address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending.Err() != nil { // Stop would not know the new door, and wait for it
		return request.ErrStopping
	}
	old := s.doors[len(s.doors)-1]
	l, err := listen(ctx, address)
	if errors.Is(err, syscall.EADDRINUSE) && samePort(old.listener.Addr(), address) { // the same port on more or fewer addresses
		if closed := old.listener.Close(); closed != nil {
			return errors.Join(err, closed)
		}
		if l, err = listen(ctx, address); err != nil {
			back, lost := listen(ctx, old.listener.Addr().String())
			if lost != nil {
				return errors.Join(err, lost)
			}
			l = back
		}
	}
	if l == nil {
		return err
	}
	s.open(l)
	s.serving.Go(func() { s.leave(old) })
	if len(s.doors) > doorsMax {
		err = errors.Join(err, s.doors[0].http.Close())
	}
	return err
}

// leave waits until the last request on an old address has ended, or the server stops.
func (s *Server) leave(d *door) {
	if err := d.http.Shutdown(s.ending); err != nil {
		return // Stop ends it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doors = slices.DeleteFunc(s.doors, func(o *door) bool { return o == d })
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s (is another program using it? change gateway.listen): %w", address, err)
	}
	return l, nil
}

func samePort(a net.Addr, address string) bool {
	_, one, err := net.SplitHostPort(a.String())
	_, other, failed := net.SplitHostPort(address)
	return err == nil && failed == nil && one == other
}

// Stop ends the streams, lets other requests finish within ctx, and waits for the end of the server.
func (s *Server) Stop(ctx context.Context) error {
	s.endStreams()
	s.mu.Lock()
	doors := slices.Clone(s.doors)
	s.mu.Unlock()
	var errs []error
	for _, d := range doors {
		if err := d.http.Shutdown(ctx); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, fmt.Errorf("stop http server: %w", err), d.http.Close())
		}
	}
	s.serving.Wait()
	s.tasks.Stop()
	s.keeper.Stop(ctx)
	s.denials.Stop(ctx)
	return errors.Join(errs...)
}
