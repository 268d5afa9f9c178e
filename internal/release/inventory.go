package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// module is a module that a binary contains.
type module struct {
	path, version, sum string
	dir                string            // its source
	licences           map[string]string // file → text
}

// purl is the module's name for programs that look for vulnerabilities.
func (m module) purl() string { return "pkg:golang/" + m.path + "@" + m.version }

// inventory reads which modules are in a binary, writes the list beside the archive, and returns the modules with their
// licences.
func (r *release) inventory(ctx context.Context, t target, binary string) ([]module, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read what is in the binary: %w", err)
	}
	modules, err := dependencies(ctx, info)
	if err != nil {
		return nil, err
	}
	data, err := r.bom(t, info, modules)
	if err != nil {
		return nil, err
	}
	return modules, create(filepath.Join(r.out, "sluice_"+r.version()+"_"+t.String()+".cdx.json"), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// dependencies are the modules of a binary with their sources and licences.
func dependencies(ctx context.Context, info *debug.BuildInfo) ([]module, error) {
	modules := make([]module, 0, len(info.Deps)+1)
	for _, dep := range info.Deps {
		m := dep
		if dep.Replace != nil {
			m = dep.Replace
		}
		modules = append(modules, module{path: m.Path, version: m.Version, sum: m.Sum})
	}
	if err := locate(ctx, modules); err != nil {
		return nil, err
	}
	goroot, err := output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	modules = append(modules, module{path: "std", version: strings.TrimPrefix(info.GoVersion, "go"), dir: goroot})
	for i := range modules {
		if modules[i].licences, err = licencesIn(modules[i].dir); err != nil {
			return nil, fmt.Errorf("licence of %s: %w", modules[i].path, err)
		}
	}
	return modules, nil
}

// locate finds the sources of modules.
func locate(ctx context.Context, modules []module) error {
	args := []string{"mod", "download", "-json"}
	for _, m := range modules {
		args = append(args, m.path+"@"+m.version)
	}
	var failed bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("find the sources of modules: %w: %s", err, failed.String())
	}
	dirs := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("find the sources of modules: %w", err)
		}
		dirs[m.Path+"@"+m.Version] = m.Dir
	}
	for i, m := range modules {
		if modules[i].dir = dirs[m.path+"@"+m.version]; modules[i].dir == "" {
			return fmt.Errorf("the source of %s %s was not found", m.path, m.version)
		}
	}
	return nil
}

// licenceName are the files that say under which terms a module may be given away.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)([-._].*)?$`)

// licencesIn reads the licences in the folder of a module.
func licencesIn(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found[e.Name()] = string(text)
	}
	if len(found) == 0 {
		return nil, errors.New("no license file in " + dir + ": it must not be published")
	}
	return found, nil
}

// writeLicences writes the licences of all modules into one file.
func writeLicences(name string, modules []module) error {
	var text strings.Builder
	text.WriteString("This program contains the following modules. Their licences follow.\n\n")
	for _, m := range modules {
		fmt.Fprintf(&text, "  %s %s (%s)\n", m.path, m.version, strings.Join(identify(m.licences), ", "))
	}
	for _, m := range modules {
		for _, file := range slices.Sorted(maps.Keys(m.licences)) {
			fmt.Fprintf(&text, "\n%s\n%s %s: %s\n%s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, file, strings.Repeat("=", 80), strings.TrimSpace(m.licences[file]))
		}
	}
	return os.WriteFile(name, []byte(text.String()), 0o644) //nolint:gosec // it is published
}

// known are sentences that only one licence has. The first one that fits names the licence.
var known = []struct {
	id   string
	text *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License\s+Version 2\.0`)},
	{"MPL-2.0", regexp.MustCompile(`Mozilla Public License,? [Vv](ersion )?\.? ?2\.0`)},
	{"BSD-3-Clause", regexp.MustCompile(`(?s)Redistributions? .*(Neither the names? of|may not be used to endorse|may be used to endorse)`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistributions? (in|of) source code`)},
	{"ISC", regexp.MustCompile(`(?s)Permission to use, copy, modify, and(/or)? distribute this software`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge, to any person`)},
}

// identify returns the SPDX names of licences that are recognized.
func identify(licences map[string]string) []string {
	var ids []string
	for _, file := range slices.Sorted(maps.Keys(licences)) {
		for _, k := range known {
			if k.text.MatchString(licences[file]) {
				ids = append(ids, k.id)
				break
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// bom is the list of what is in a binary, as CycloneDX 1.6.
func (r *release) bom(t target, info *debug.BuildInfo, modules []module) ([]byte, error) {
	type hash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	type licence struct {
		License struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	type property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type component struct {
		Ref        string     `json:"bom-ref"`
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Purl       string     `json:"purl"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []licence  `json:"licenses,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	main := component{Ref: "sluice", Type: "application", Name: "sluice", Version: r.tag, Purl: "pkg:golang/" + info.Main.Path + "@" + r.tag}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "GO") || s.Key == "CGO_ENABLED" {
			main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
		}
	}
	type dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
	on := dependency{Ref: "sluice", DependsOn: []string{}}
	components := []component{}
	for _, m := range modules {
		c := component{Ref: m.purl(), Type: "library", Name: m.path, Version: m.version, Purl: m.purl()}
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); m.sum != "" && err == nil {
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
		}
		for _, id := range identify(m.licences) {
			l := licence{}
			l.License.ID = id
			c.Licenses = append(c.Licenses, l)
		}
		components, on.DependsOn = append(components, c), append(on.DependsOn, c.Ref)
	}
	document := map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "serialNumber": "urn:uuid:" + r.serial(t),
		"metadata":     map[string]any{"timestamp": r.at.Format(time.RFC3339), "component": main},
		"components":   components,
		"dependencies": []dependency{on},
	}
	data, err := json.MarshalIndent(document, "", "  ")
	return append(data, '\n'), err
}

// serial is the id of a list: the same for the same commit and target.
func (r *release) serial(t target) string {
	sum := sha256.Sum256([]byte(r.tag + " " + r.commit + " " + t.String()))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
