package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
)

func TestTheDocumentsAreUpToDate(t *testing.T) {
	t.Parallel()
	schema, err := config.Schema()
	require.NoError(t, err)
	for name, want := range map[string][]byte{"sluice.schema.json": schema, "configuration.md": config.Reference()} {
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "docs/%s is not up to date: run make generate", name)
	}
}

// accepts asks a JSON Schema validator.
func accepts(t *testing.T, text string) error {
	t.Helper()
	data, err := config.Schema()
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("sluice.schema.json", document))
	schema, err := compiler.Compile("sluice.schema.json")
	require.NoError(t, err)

	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	require.NoError(t, err)
	return schema.Validate(value)
}

func TestTheSchemaAgreesWithTheLoader(t *testing.T) {
	t.Parallel()
	for _, sound := range []string{
		"{}", "channels: { webchat: }", "owners: [\"telegram:1\"]",
		"channels: { telegram: { allowFrom: [1001], accounts: { default: { token: \"1:a\" } } } }",
		"session: { queue: { cap: \"${CAP}\" } }",
		"alerts: { route: { receiver: us, group_wait: 0s }, receivers: [{ name: us, targets: [owner] }] }",
	} {
		require.NoError(t, accepts(t, sound), sound)
		parsed(t, sound, "CAP=3")
	}
	for _, wrong := range []string{
		"zzz: 1", "owners: a", "session: { queue: { cap: 0 } }", "session: { dmScope: all }", "channels: { telegram: { accounts: { default: { tokn: a } } } }",
		"log: []", "channels: { webchat: { enabled: maybe } }",
	} {
		require.Error(t, accepts(t, wrong), wrong)
		faults(t, wrong)
	}
}

func TestTheExamplesAreSound(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(filepath.Clean(file))
		require.NoError(t, err)
		require.NoError(t, accepts(t, string(data)), file)
		_, err = loader(t, placeholders(string(data))...).Parse(file, data)
		require.NoError(t, err)
	}
}
