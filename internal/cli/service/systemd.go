package service

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// unitName is the service's name.
const unitName = "sluice.service"

// hardening is what the machine's service may do: nothing that the gateway does not need. Commands of agents and
// programs of MCP servers need more: sandbox.conf.
//
//go:embed hardening.conf
var hardening string

// systemd is the [manager] of most Linux systems.
type systemd struct {
	run    run
	user   string // folder of this person's units
	system string // folder of the machine's units
	users  string // folder of system users
}

func newSystemd(config string, run run) *systemd {
	return &systemd{run: run, user: filepath.Join(config, "systemd", "user"), system: "/etc/systemd/system", users: "/etc/sysusers.d"}
}

func (m *systemd) file(system bool) string {
	if system {
		return filepath.Join(m.system, unitName)
	}
	return filepath.Join(m.user, unitName)
}

// control calls systemctl.
func (m *systemd) control(ctx context.Context, system bool, args ...string) (string, error) {
	if !system {
		args = append([]string{"--user"}, args...)
	}
	out, err := m.run(ctx, "systemctl", args...)
	if err != nil && strings.Contains(err.Error(), "Failed to connect to bus") {
		err = fmt.Errorf("systemd does not answer: log in as this user (su and sudo are not enough), or start `sluice serve` another way where systemd does not run: %w", err)
	}
	return out, err
}

func (m *systemd) install(ctx context.Context, s Spec) ([]string, error) {
	if s.System {
		if err := replace(filepath.Join(m.users, "sluice.conf"), SystemUser); err != nil {
			return nil, err
		}
		if _, err := m.run(ctx, "systemd-sysusers", "sluice.conf"); err != nil {
			return nil, err
		}
		if s.Created {
			if _, err := m.run(ctx, "chown", "root:sluice", s.Config); err != nil {
				return nil, err
			}
		}
		if _, err := m.run(ctx, "runuser", "-u", "sluice", "--", "test", "-r", s.Config); err != nil {
			return nil, fmt.Errorf("the service runs as the user sluice, who can't read %[1]s: give it the right, for example with chgrp sluice %[1]s && chmod g+r %[1]s, and let it enter the folders above (%[2]w)", s.Config, err)
		}
	}
	_, err := os.Stat(m.file(s.System))
	existed := err == nil
	if err := replace(m.file(s.System), Unit(s)); err != nil {
		return nil, err
	}
	if _, err := m.control(ctx, s.System, "daemon-reload"); err != nil {
		if !existed { // nothing is installed
			err = errors.Join(err, os.Remove(m.file(s.System)))
		}
		return nil, err
	}
	if _, err := m.control(ctx, s.System, "enable", unitName); err != nil {
		return nil, err
	}
	if _, err := m.control(ctx, s.System, "restart", unitName); err != nil {
		return nil, err
	}
	if s.System {
		return []string{"The service runs and starts with the machine. Its log: journalctl -u sluice"}, nil
	}
	return []string{
		"The service runs and starts when you log in. Its log: journalctl --user -u sluice",
		"To keep it running without a login: loginctl enable-linger",
	}, nil
}

func (m *systemd) uninstall(ctx context.Context, system bool) error {
	_, stopped := m.control(ctx, system, "disable", "--now", unitName)
	existed, err := remove(m.file(system))
	if err != nil || !existed {
		return err
	}
	_, err = m.control(ctx, system, "daemon-reload")
	return errors.Join(stopped, err)
}

func (m *systemd) status(ctx context.Context, system bool) (string, bool, error) {
	out, err := m.control(ctx, system, "show", "--property=LoadState,ActiveState,SubState,MainPID,Result", unitName)
	if err != nil {
		return "", false, err
	}
	has := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		has[name] = value
	}
	switch {
	case has["LoadState"] == "not-found":
		return "The service is not installed: sluice service install", false, nil
	case has["ActiveState"] == "active":
		return "The service runs (process " + has["MainPID"] + ").", true, nil
	}
	return "The service does not run: " + has["ActiveState"] + " (" + has["SubState"] + ", " + has["Result"] + ").", false, nil
}

// SystemUser is the description of the user that the machine's service runs as, for systemd-sysusers.
const SystemUser = `u sluice - "Sluice" /var/lib/sluice /usr/sbin/nologin
`

// Unit is the text of the service's unit.
func Unit(s Spec) string {
	var u strings.Builder
	line := func(text string) { u.WriteString(text + "\n") }
	line("[Unit]")
	line("Description=Sluice, a gateway between chat channels and AI agents")
	line("Documentation=man:sluice(1)")
	if s.System {
		line("Wants=network-online.target")
		line("After=network-online.target postgresql.service nats-server.service")
	}
	line("StartLimitIntervalSec=0\n")
	line("[Service]")
	line("Type=exec")
	line("ExecStart=" + quote(s.Program) + " serve")
	if s.Config != "" {
		line("Environment=" + quote("SLUICE_CONFIG="+s.Config))
	}
	if s.State != "" {
		line("Environment=" + quote("SLUICE_STATE="+s.State))
	}
	line("Restart=on-failure")
	line("RestartSec=2")
	line("TimeoutStopSec=20")
	line("OOMPolicy=continue")
	line("UMask=0077")
	line("NoNewPrivileges=yes")
	line("LockPersonality=yes")
	line("RestrictRealtime=yes")
	line("RestrictSUIDSGID=yes")
	if !s.System {
		line("\n[Install]\nWantedBy=default.target")
		return u.String()
	}
	line("User=sluice")
	line("Group=sluice")
	line("EnvironmentFile=-/etc/sluice/env")
	if s.State == "/var/lib/sluice" {
		line("StateDirectory=sluice\nStateDirectoryMode=0700")
	} else if s.State != "" {
		line("ReadWritePaths=" + quote(s.State))
	}
	u.WriteString(hardening)
	line("\n[Install]\nWantedBy=multi-user.target")
	return u.String()
}

// quote writes a program's path or a value of Environment= and ReadWritePaths= as systemd reads it. In none of these it
// expands variables.
func quote(value string) string {
	value = strings.ReplaceAll(value, "%", "%%")
	if !strings.ContainsAny(value, " \t\"'\\") {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
