package service

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// label is the service's name.
const label = "sluice.gateway"

// launchd is the [manager] of macOS.
type launchd struct {
	run    run
	user   string // folder of this person's services
	system string // folder of the machine's services
	logs   string // folder of this person's logs
	shared string // folder of the machine's logs
	person string // who has called sudo; empty: nobody
}

func newLaunchd(home, person string, run run) *launchd {
	return &launchd{run: run, person: person, shared: "/Library/Logs", user: filepath.Join(home, "Library", "LaunchAgents"), system: "/Library/LaunchDaemons", logs: filepath.Join(home, "Library", "Logs")}
}

func (m *launchd) file(system bool) string {
	if system {
		return filepath.Join(m.system, label+".plist")
	}
	return filepath.Join(m.user, label+".plist")
}

func (m *launchd) log(system bool) string {
	if system {
		return filepath.Join(m.shared, "sluice.log")
	}
	return filepath.Join(m.logs, "sluice.log")
}

// domain is where launchd keeps the service.
func domain(system bool) string {
	if system {
		return "system"
	}
	return "gui/" + strconv.Itoa(os.Getuid())
}

func (m *launchd) install(ctx context.Context, s Spec) ([]string, error) {
	user := ""
	if s.System {
		user = m.person
		if err := m.own(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := replace(m.file(s.System), Plist(s, user, m.log(s.System))); err != nil {
		return nil, err
	}
	_, _ = m.run(ctx, "launchctl", "bootout", domain(s.System)+"/"+label) // it may not be there
	if _, err := m.run(ctx, "launchctl", "bootstrap", domain(s.System), m.file(s.System)); err != nil {
		return nil, err
	}
	return []string{"The service runs. Its log: " + m.log(s.System)}, nil
}

// own gives the files of the machine's service to the person who runs it: agents' commands must not run as root.
func (m *launchd) own(ctx context.Context, s Spec) error {
	if m.person == "" || m.person == "root" {
		return errors.New("the gateway must not run as root: log in as the user who will own it, and run the command with sudo")
	}
	log := m.log(true)
	owned := []string{"chown", "-R", m.person, s.State, log}
	if s.Created {
		owned = append(owned, s.Config)
	}
	for _, call := range [][]string{{"mkdir", "-p", "-m", "700", s.State}, {"touch", log}, owned} {
		if _, err := m.run(ctx, call[0], call[1:]...); err != nil {
			return err
		}
	}
	if _, err := m.run(ctx, "sudo", "-u", m.person, "test", "-r", s.Config); err != nil {
		return fmt.Errorf("the service runs as %[1]s, who can't read %[2]s: give them the right, for example with chown %[1]s %[2]q, and let them enter the folders above (%[3]w)", m.person, s.Config, err)
	}
	return nil
}

func (m *launchd) uninstall(ctx context.Context, system bool) error {
	_, stopped := m.run(ctx, "launchctl", "bootout", domain(system)+"/"+label)
	existed, err := remove(m.file(system))
	if err != nil || !existed {
		return err
	}
	return stopped
}

func (m *launchd) status(ctx context.Context, system bool) (string, bool, error) {
	switch _, err := os.Stat(m.file(system)); {
	case errors.Is(err, fs.ErrNotExist):
		return "The service is not installed: sluice service install", false, nil
	case err != nil:
		return "", false, fmt.Errorf("look for the service: %w", err)
	}
	out, failed := m.run(ctx, "launchctl", "print", domain(system)+"/"+label)
	if failed != nil { // launchd knows no such service, or it is not loaded
		return "The service does not run: " + failed.Error(), false, nil //nolint:nilerr // this is the state that was asked for
	}
	if pid := regexp.MustCompile(`(?m)^\s*pid = (\d+)`).FindStringSubmatch(out); pid != nil {
		return "The service runs (process " + pid[1] + ").", true, nil
	}
	return "The service does not run. Its log: " + m.log(system), false, nil
}

// Plist is the description of the service for launchd. It runs as a user, or as whose it is if user is empty.
func Plist(s Spec, user, log string) string {
	escape := func(text string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
		return b.String()
	}
	var env strings.Builder
	for _, v := range [][2]string{{"SLUICE_CONFIG", s.Config}, {"SLUICE_STATE", s.State}} {
		if v[1] != "" {
			env.WriteString("\t\t<key>" + v[0] + "</key><string>" + escape(v[1]) + "</string>\n")
		}
	}
	as := ""
	if user != "" {
		as = "\t<key>UserName</key><string>" + escape(user) + "</string>\n"
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key><string>` + label + `</string>
` + as + `	<key>ProgramArguments</key>
	<array><string>` + escape(s.Program) + `</string><string>serve</string></array>
	<key>EnvironmentVariables</key>
	<dict>
` + env.String() + `	</dict>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
	<key>ThrottleInterval</key><integer>2</integer>
	<key>ExitTimeOut</key><integer>20</integer>
	<key>Umask</key><integer>63</integer>
	<key>StandardOutPath</key><string>` + escape(log) + `</string>
	<key>StandardErrorPath</key><string>` + escape(log) + `</string>
</dict>
</plist>
`
}
