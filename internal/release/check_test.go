package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Code that does not compile for one system or processor is found for that target only, also in a test.
func TestCheckFindsWhatATargetLacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"small_test.go": "package main\n\nimport (\n\t\"syscall\"\n\t\"testing\"\n)\n\nfunc TestSmall(*testing.T) { syscall.Sync() }\n",
		"go.mod":        "module small\n\ngo 1.26\n",
		"main.go":       "package main\n\nimport (\n\t\"fmt\"\n\t\"syscall\"\n)\n\nfunc main() {\n\tfmt.Println(most, syscall.Umask(0))\n}\n",
		"most.go":       "package main\n\nvar most int = limit\n",
		"limit.go":      "package main\n\nconst limit = 1 << 40\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, fault := range map[string][]string{
		"linux/amd64": nil, "darwin/arm64": nil,
		"linux/armv7": {"most.go:3:16: "}, "windows/amd64": {"undefined: syscall.Umask", "small_test.go:8:38: undefined: syscall.Sync"},
	} {
		target, err := parseTarget(name)
		require.NoError(t, err)
		err = target.check(t.Context(), dir, ".")
		if len(fault) == 0 {
			require.NoError(t, err, name)
		}
		for _, f := range fault {
			require.ErrorContains(t, err, f, name)
		}
	}
}
