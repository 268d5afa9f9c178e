package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"sluice/internal/cli/terminal"
)

// Name is the service's name.
const Name = "sluice"

// stopWait is how long the service may take to end.
const stopWait = 20 * time.Second

// windowsServices is the [manager] of Windows. Its services belong to the machine.
type windowsServices struct{}

func newManager(string, func(string) (string, bool), run) manager { return windowsServices{} }

// open calls do with the service; nil if it is not installed.
func (windowsServices) open(do func(m *mgr.Mgr, s *mgr.Service) error) (err error) {
	m, err := mgr.Connect()
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return errors.New("the service manager refuses this: run the command as an administrator")
	}
	if err != nil {
		return fmt.Errorf("connect to the service manager: %w", err)
	}
	defer func() { err = errors.Join(err, m.Disconnect()) }()
	s, err := m.OpenService(Name)
	switch {
	case errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST):
		return do(m, nil)
	case err != nil:
		return fmt.Errorf("open service: %w", err)
	}
	return errors.Join(do(m, s), s.Close())
}

func (w windowsServices) install(ctx context.Context, s Spec) ([]string, error) {
	if !s.System {
		return nil, terminal.UsageError{Text: "services of Windows belong to the machine: leave out --system=false"}
	}
	if err := w.uninstall(ctx, true); err != nil {
		return nil, err
	}
	return []string{"The service runs and starts with the machine. Its log: the application log of the event viewer"}, w.open(func(m *mgr.Mgr, _ *mgr.Service) error {
		created, err := m.CreateService(Name, s.Program, mgr.Config{
			DisplayName: "Sluice", Description: "A gateway between chat channels and AI agents", StartType: mgr.StartAutomatic,
			ServiceStartName: `NT AUTHORITY\LocalService`,
		}, "serve")
		if err != nil {
			return fmt.Errorf("create service: %w", err)
		}
		defer created.Close() //nolint:errcheck // a handle
		key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\`+Name, registry.SET_VALUE)
		if err != nil {
			return fmt.Errorf("set the service's environment: %w", err)
		}
		err = key.SetStringsValue("Environment", []string{"SLUICE_CONFIG=" + s.Config, "SLUICE_STATE=" + s.State})
		if err := errors.Join(err, key.Close()); err != nil {
			return fmt.Errorf("set the service's environment: %w", err)
		}
		again := mgr.RecoveryAction{Type: mgr.ServiceRestart, Delay: 2 * time.Second}
		if err := created.SetRecoveryActions([]mgr.RecoveryAction{again, again, again}, 60); err != nil {
			return fmt.Errorf("make the service start again after a crash: %w", err)
		}
		return created.Start()
	})
}

func (w windowsServices) uninstall(ctx context.Context, _ bool) error {
	return w.open(func(_ *mgr.Mgr, s *mgr.Service) error {
		if s == nil {
			return nil
		}
		if state, err := s.Control(svc.Stop); err == nil {
			for end := time.Now().Add(stopWait); state.State != svc.Stopped && time.Now().Before(end); {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(100 * time.Millisecond):
				}
				if state, err = s.Query(); err != nil {
					break
				}
			}
		}
		return s.Delete()
	})
}

func (w windowsServices) status(context.Context, bool) (text string, running bool, err error) {
	err = w.open(func(_ *mgr.Mgr, s *mgr.Service) error {
		if s == nil {
			text = "The service is not installed: sluice service install"
			return nil
		}
		state, err := s.Query()
		if err != nil {
			return fmt.Errorf("ask for the state of the service: %w", err)
		}
		running = state.State == svc.Running
		text = "The service does not run."
		if running {
			text = "The service runs (process " + strconv.Itoa(int(state.ProcessId)) + ")."
		}
		return nil
	})
	return text, running, err
}
