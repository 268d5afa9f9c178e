package steps_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/sessions"
)

// published compiles the published schema, which here refuses members that it does not name.
func published(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "bus.schema.json"))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	closeObjects(document)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("bus.schema.json", document))
	schema, err := c.Compile("bus.schema.json")
	require.NoError(t, err)
	return schema
}

func closeObjects(at any) {
	object, ok := at.(map[string]any)
	if !ok {
		return
	}
	if _, ok := object["properties"]; ok {
		object["additionalProperties"] = false
	}
	for _, member := range object {
		closeObjects(member)
	}
}

// Each kind of step, and each of its two kinds of source, is as the published schema says.
func TestMessagesAreAsPublished(t *testing.T) {
	t.Parallel()
	schema := published(t)
	for _, kind := range []sessions.RunKind{sessions.KindAsk, sessions.KindReply, sessions.KindAnnounce, sessions.KindReport} {
		for _, from := range []announce.Party{{}, {Session: "sess_from", Key: "agent:main:main", Agent: "main"}} {
			s := newScene(t)
			s.change.Enqueue[0].Kind, s.change.Exchanges[0].Requester = kind, from
			s.change.Exchanges[0].Target = announce.Party{Session: "sess_to", Key: "agent:ops:main", Agent: "ops"}
			s.Changed(s.change)
			require.Len(t, s.texts, 1)
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.texts[0]))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(value), string(s.texts[0]))

			var broken map[string]any
			require.NoError(t, json.Unmarshal(s.texts[0], &broken))
			delete(broken, "id")
			require.Error(t, schema.Validate(broken))
		}
	}
}
