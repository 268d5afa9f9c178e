package attacks_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// reportDir is where `make security-report` collects what the tests found out.
var reportDir = flag.String("report", "", "write results into this folder")

// attackRow is the result of an attack.
type attackRow struct {
	Path, Name       string
	Blocked, Advised bool
}

// keep writes results for the report, if one is made.
func keep(t *testing.T, name string, v any) {
	t.Helper()
	if *reportDir == "" {
		return
	}
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*reportDir, name), text, 0o600))
}

// benignRow is the result of ordinary work.
type benignRow struct {
	Name string
	Done bool
}

// twoRunRow is how much was compared of two runs.
type twoRunRow struct{ Calls, Programs int }
