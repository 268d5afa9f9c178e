package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// packageArchs are the names of the processors in packages: nfpm knows them by Go's names.
var packageArchs = map[string]string{"amd64": "amd64", "arm64": "arm64", "armv7": "arm7"}

// packages makes the .deb and the .rpm of a target.
func (r *release) packages(ctx context.Context, t target, dir, shared string) error {
	if r.nfpm == "" || t.os != "linux" {
		return nil
	}
	config, err := json.Marshal(r.packageOf(t, dir, shared)) // JSON is YAML
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		to := filepath.Join(r.out, "sluice_"+r.version()+"_"+t.String()+"."+kind)
		cmd := exec.CommandContext(ctx, r.nfpm, "package", "-f", file, "-p", kind, "-t", to) //nolint:gosec // the Makefile names it
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.at.Unix(), 10))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make %s: %w: %s", kind, err, out)
		}
	}
	return nil
}

// packageOf is nfpm's description of a package.
func (r *release) packageOf(t target, dir, shared string) map[string]any {
	file := func(from, to string, mode int) map[string]any {
		return map[string]any{"src": from, "dst": to, "file_info": map[string]any{"mode": mode, "owner": "root", "group": "root", "mtime": r.at}}
	}
	config := file("deploy/systemd/sluice.yaml", "/etc/sluice/sluice.yaml", 0o640)
	config["type"] = "config|noreplace"
	contents := []map[string]any{
		file(filepath.Join(dir, t.binary()), "/usr/bin/sluice", 0o755),
		file("deploy/systemd/sluice.service", "/usr/lib/systemd/system/sluice.service", 0o644),
		file("deploy/systemd/sandbox.conf", "/usr/share/doc/sluice/sandbox.conf", 0o644),
		file("deploy/systemd/sluice.sysusers", "/usr/lib/sysusers.d/sluice.conf", 0o644),
		config,
		file("LICENSE", "/usr/share/doc/sluice/copyright", 0o644),
		file(filepath.Join(dir, "LICENSES"), "/usr/share/doc/sluice/LICENSES", 0o644),
		file("README.md", "/usr/share/doc/sluice/README.md", 0o644),
		file("CHANGELOG.md", "/usr/share/doc/sluice/CHANGELOG.md", 0o644),
		file(filepath.Join(shared, "completions", "sluice.bash"), "/usr/share/bash-completion/completions/sluice", 0o644),
		file(filepath.Join(shared, "completions", "_sluice"), "/usr/share/zsh/site-functions/_sluice", 0o644),
		file(filepath.Join(shared, "completions", "sluice.fish"), "/usr/share/fish/vendor_completions.d/sluice.fish", 0o644),
	}
	pages, _ := filepath.Glob(filepath.Join(shared, "man", "*.1")) // the pattern is right
	for _, page := range pages {
		contents = append(contents, file(page, "/usr/share/man/man1/"+filepath.Base(page), 0o644))
	}
	version, prerelease, _ := strings.Cut(r.version(), "-")
	return map[string]any{
		"name": "sluice", "arch": packageArchs[t.arch], "platform": "linux", "version": version, "prerelease": strings.ReplaceAll(prerelease, "-", "."), "version_schema": "none",
		"section": "net", "priority": "optional", "maintainer": "The Sluice developers <sluice@localhost>", "vendor": "Sluice", "license": "Apache-2.0",
		"description": "Gateway between chat channels and AI agents\nPeople write on Telegram, Slack, Discord or a web page, and an agent replies there.",
		"contents":    contents, "mtime": r.at,
		"recommends": []string{"bubblewrap", "poppler-utils"},
		"scripts": map[string]string{
			"postinstall": "deploy/systemd/postinstall.sh", "preremove": "deploy/systemd/preremove.sh", "postremove": "deploy/systemd/postremove.sh",
		},
		"rpm": map[string]any{"group": "Applications/Internet", "buildhost": "sluice"},
		"deb": map[string]any{"compression": "gzip"},
	}
}

// images makes a container image for each Linux target, and one index of them for registries.
func (r *release) images(ctx context.Context, work string) error {
	if r.image == "" {
		return nil
	}
	args := []string{"-out", r.out, "-version", r.version(), "-commit", r.commit, "-time", strconv.FormatInt(r.at.Unix(), 10)}
	linux := 0
	for _, t := range r.targets {
		if t.os == "linux" {
			linux++
			args = append(args, t.arch+"="+filepath.Join(work, t.String()))
		}
	}
	if linux == 0 {
		return nil
	}
	cmd := exec.CommandContext(ctx, r.image, args...) //nolint:gosec // the Makefile names it
	cmd.Stdout = os.Stdout
	var failed strings.Builder
	cmd.Stderr = &failed
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("make images: %w", err), errors.New(failed.String()))
	}
	return nil
}
