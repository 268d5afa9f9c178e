package deploy_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// releaseFolder makes a release with a program that is a script, and returns its folder and the name of its archive.
func releaseFolder(t *testing.T, program string) (dir, archive string) {
	t.Helper()
	arch := map[string]string{"arm": "armv7"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	name := "sluice_1.2.3_" + runtime.GOOS + "_" + arch
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	for file, text := range map[string]string{
		"sluice": program, "man/sluice.1": "manual", "completions/sluice.bash": "bash", "completions/_sluice": "zsh", "completions/sluice.fish": "fish",
		"LICENSE": "licence", "LICENSES": "licences",
	} {
		require.NoError(t, out.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o755, Size: int64(len(text))}))
		_, err := out.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	require.NoError(t, zip.Close())
	dir, archive = t.TempDir(), name+".tar.gz"
	require.NoError(t, os.WriteFile(filepath.Join(dir, archive), packed.Bytes(), 0o600))
	sums := fmt.Sprintf("%x  %s\n", sha256.Sum256(packed.Bytes()), archive)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o600))
	return dir, archive
}

// install runs install.sh for a release, with further variables.
func install(t *testing.T, dir, prefix string, env ...string) (said string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "install.sh")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PREFIX=" + prefix, "SLUICE_VERSION=v1.2.3", "SLUICE_BASE_URL=file://" + dir + "/"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

const runs = "#!/bin/sh\necho sluice 1.2.3\n"

func TestInstallScript(t *testing.T) {
	t.Parallel()
	dir, _ := releaseFolder(t, runs)
	prefix := filepath.Join(t.TempDir(), "new")
	for range 2 { // the second time, it replaces the program
		said, ok := install(t, dir, prefix)
		require.True(t, ok, said)
		require.Contains(t, said, "Installed sluice 1.2.3 as "+prefix+"/bin/sluice")
		require.Contains(t, said, prefix+"/bin/sluice serve")
	}
	for _, file := range []string{"bin/sluice", "share/man/man1/sluice.1", "share/bash-completion/completions/sluice", "share/zsh/site-functions/_sluice", "share/doc/sluice/LICENSES"} {
		require.FileExists(t, filepath.Join(prefix, file))
	}
	left, err := filepath.Glob(filepath.Join(prefix, "bin", ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// What goes wrong is said with what to do, and installs nothing.
func TestInstallScriptRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		program, prefix string
		env             []string
		change          func(archive string) // the archive, after its checksum was made
		says            string
	}{
		"no version":         {env: []string{"SLUICE_VERSION="}, says: "set SLUICE_VERSION"},
		"no address":         {env: []string{"SLUICE_BASE_URL="}, says: "set SLUICE_BASE_URL"},
		"no TLS":             {env: []string{"SLUICE_BASE_URL=http://host/dist"}, says: "only https:// and file:// addresses"},
		"no such release":    {env: []string{"SLUICE_BASE_URL=file:///nowhere"}, says: "can't be read"},
		"another version":    {env: []string{"SLUICE_VERSION=1.2.4"}, says: "sluice_1.2.4"},
		"wrong checksum":     {change: func(archive string) { require.NoError(t, os.WriteFile(archive, []byte("x"), 0o600)) }, says: "is wrong (want "},
		"does not run":       {program: "#!/bin/sh\nexit 1\n", says: "does not run on this machine: nothing was installed"},
		"prefix is no place": {prefix: filepath.Join(file, "below"), says: "set PREFIX to a folder of yours"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.program == "" {
				c.program = runs
			}
			if c.prefix == "" {
				c.prefix = t.TempDir()
			}
			dir, archive := releaseFolder(t, c.program)
			if c.change != nil {
				c.change(filepath.Join(dir, archive))
			}
			said, ok := install(t, dir, c.prefix, c.env...)
			require.False(t, ok, said)
			require.Contains(t, said, "install.sh: ")
			require.Contains(t, said, c.says)
			require.NotContains(t, said, "Installed")
			require.NoFileExists(t, filepath.Join(c.prefix, "bin", "sluice"))
		})
	}
}
