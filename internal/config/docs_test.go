package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
)

var yamlExample = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// topKeys are the keys that a configuration begins with.
func topKeys() map[string]bool {
	keys := map[string]bool{}
	typ := reflect.TypeFor[config.Config]()
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
		keys[name] = true
	}
	return keys
}

// isConfiguration tells an example of a configuration from another program's file.
func isConfiguration(text string) bool {
	var value map[string]any
	if yaml.Unmarshal([]byte(text), &value) != nil {
		return true // so that it is looked at
	}
	keys := topKeys()
	for key := range value {
		if keys[key] {
			return true
		}
	}
	return false
}

// Every example in the documentation is taken as it stands.
func TestExamplesInTheDocumentation(t *testing.T) {
	t.Parallel()
	files := []string{filepath.Join("..", "..", "README.md")}
	require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", "docs"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}))
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("a-secret-of-some-length"), 0o600))
	n := 0
	var wrong []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range yamlExample.FindAllStringSubmatch(string(raw), -1) {
			if !isConfiguration(found[1]) {
				continue
			}
			n++
			text := regexp.MustCompile(`\$\{file:[^}]*\}`).ReplaceAllString(found[1], "${file:"+secret+"}")
			_, err := loader(t, placeholders(text)...).Parse(filepath.Base(file), []byte(text))
			if err != nil {
				wrong = append(wrong, err.Error())
			}
		}
	}
	require.Empty(t, wrong)
	require.Greater(t, n, 10)
}

// placeholders gives each variable of an example a value of the right shape.
func placeholders(text string) []string {
	var env []string
	for _, v := range regexp.MustCompile(`\$\{([A-Z0-9_]+)\}`).FindAllStringSubmatch(text, -1) {
		value := strings.ToLower(v[1]) + "-of-some-length-0123456789"
		switch {
		case strings.Contains(v[1], "TELEGRAM") && strings.Contains(v[1], "TOKEN"):
			value = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		case strings.Contains(v[1], "APP_TOKEN"):
			value = "xapp-1-A-1-abc"
		case strings.Contains(v[1], "SLACK") && strings.Contains(v[1], "BOT"):
			value = "xoxb-1-abc"
		case v[1] == "SLUICE_STORE":
			value = "postgres://db/sluice"
		case v[1] == "SLUICE_BUS":
			value = "nats://bus:4222"
		case strings.Contains(v[1], "URL"):
			value = "https://example.org"
		}
		env = append(env, v[1]+"="+value)
	}
	return env
}
