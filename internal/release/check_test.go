package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What does not compile on one system or processor is found there and only there.
func TestCheckFindsWhatATargetLacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module small\n\ngo 1.26\n",
		"main.go":  "package main\n\nimport (\n\t\"fmt\"\n\t\"syscall\"\n)\n\nfunc main() {\n\tfmt.Println(most, syscall.Umask(0))\n}\n",
		"most.go":  "package main\n\nvar most int = limit\n",
		"limit.go": "package main\n\nconst limit = 1 << 40\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, fault := range map[string]string{
		"linux/amd64": "", "darwin/arm64": "",
		"linux/armv7": "most.go:3:16: ", "windows/amd64": "undefined: syscall.Umask",
	} {
		target, err := parseTarget(name)
		require.NoError(t, err)
		err = target.check(t.Context(), dir, ".")
		if fault == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, fault, name)
		}
	}
}
