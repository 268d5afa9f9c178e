package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sluice/internal/config"
	"sluice/internal/hostos"
)

// Service says where the gateway that was installed as a service has its files, so that commands find it.
type Service struct {
	Config string `json:"config,omitempty"` // empty: none
	State  string `json:"state,omitempty"`  // overrides the configuration
}

// serviceFile is the name of a record of a service, beside the usual place of the configuration.
const serviceFile = "service.json"

// ServiceRecord is the file with the [Service] of a person or, with system, of the machine.
func ServiceRecord(l config.Loader, system bool) string {
	dir := hostos.ConfigFolder(l.Getenv, l.Home)
	if system {
		dir = l.System
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, serviceFile)
}

// Find returns the configuration of the gateway that commands talk to, and how it is read: the configuration that was
// named or is in one of the usual places; else that of the service that this person has installed; else, unless this
// person has run a gateway without a configuration, that of the machine's service. The path is empty if no configuration was found.
func (l *Locator) Find() (path string, loader config.Loader, err error) {
	path, err = l.Loader.Find(l.Config)
	if state, _ := l.Loader.Getenv(config.EnvState); path != "" || err != nil || state != "" {
		return path, l.Loader, err
	}
	own, err := l.serviceAt(ServiceRecord(l.Loader, false))
	if own != nil || err != nil {
		return l.of(own, err)
	}
	if cfg, err := l.Loader.Load(""); err == nil {
		if _, err := os.Stat(TokenPath(cfg)); err == nil {
			return "", l.Loader, nil
		}
	}
	machine, err := l.serviceAt(ServiceRecord(l.Loader, true))
	if machine == nil && err == nil && l.Loader.System != "" {
		file := filepath.Join(l.Loader.System, config.FileName)
		if _, missing := os.Stat(file); missing == nil {
			machine = &Service{Config: file}
		}
	}
	return l.of(machine, err)
}

// serviceAt reads a record; nil if the file does not exist.
func (l *Locator) serviceAt(file string) (*Service, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // no record is no error
	}
	data, err := os.ReadFile(filepath.Clean(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("read where the service is: %w", err)
	}
	var s Service
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read where the service is: %s: %w. Run sluice service install again", file, err)
	}
	return &s, nil
}

// of returns a service's configuration, and a loader that knows its state folder. Without a service, these are the
// defaults.
func (l *Locator) of(s *Service, err error) (string, config.Loader, error) {
	if s == nil || err != nil {
		return "", l.Loader, err
	}
	loader := l.Loader
	loader.Getenv = func(name string) (string, bool) {
		if name == config.EnvState && s.State != "" {
			return s.State, true
		}
		return l.Loader.Getenv(name)
	}
	return s.Config, loader, nil
}
