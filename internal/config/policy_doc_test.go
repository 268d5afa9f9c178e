package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

func policyDocument(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "policy.md"))
	require.NoError(t, err)
	return string(data)
}

func TestTheExamplesOfThePolicyDocumentCompile(t *testing.T) {
	t.Parallel()
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(policyDocument(t), -1)
	require.Greater(t, len(examples), 6)
	rules := 0
	for i, example := range examples {
		text := strings.ReplaceAll(example[1], "${CRM_TOKEN}", "a-token-of-the-crm")
		c, err := loader(t).Parse(fmt.Sprintf("example %d", i+1), []byte(text))
		require.NoError(t, err, example[1])
		rules += len(c.Policy.Rules)
	}
	require.Greater(t, rules, 8)
}

// Each hook, each way to invoke an agent, and each field that an expression can name, stands in the document.
func TestThePolicyDocumentIsComplete(t *testing.T) {
	t.Parallel()
	document := policyDocument(t)
	for _, hook := range policy.Hooks() {
		require.Contains(t, document, "| `"+string(hook)+"` |")
	}
	row := regexp.MustCompile("(?m)^\\| `agent.kind`.*$").FindString(document)
	for _, kind := range []string{"sessions_send", "sessions_spawn", "reply", "announce", "report"} {
		require.Contains(t, row, "`"+kind+"`")
	}
	for name, typ := range map[string]reflect.Type{
		"session": reflect.TypeFor[policy.SessionInput](), "tool": reflect.TypeFor[policy.ToolInput](), "output": reflect.TypeFor[policy.OutputInput](),
		"secret": reflect.TypeFor[policy.SecretInput](), "agent": reflect.TypeFor[policy.AgentInput](),
	} {
		for i := range typ.NumField() {
			require.Contains(t, document, "`"+name+"."+typ.Field(i).Tag.Get("cel")+"`")
		}
	}
}
