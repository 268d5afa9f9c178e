package sessions_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// recordFields says of each field of a record how it changes. A new field must be put into one of these groups, and the
// tests below then check that it survives.
var recordFields = map[string][]string{
	"setting":  {"SendPolicy", "Activation", "Model", "Title", "Metadata", "ThinkingLevel", "VerboseLevel", "Temperature", "MaxTokens", "Voice", "QueueMode", "Label", "TTL"},
	"saved":    {"Agent", "Taint", "Route", "Head", "Compacted", "Usage", "ContextSize", "AbortedLast", "LastActivity"},
	"identity": {"ID", "Key", "Partition", "SpawnedBy", "Revision", "Clearance", "FileAccess", "Persistent", "Created", "Ended", "Archived"},
}

func TestEveryFieldOfARecordHasAGroup(t *testing.T) {
	t.Parallel()
	var known, all, patched []string
	for _, fields := range recordFields {
		known = append(known, fields...)
	}
	record := reflect.TypeFor[sessions.Record]()
	for i := range record.NumField() {
		all = append(all, record.Field(i).Name)
	}
	require.ElementsMatch(t, all, known)
	patch := reflect.TypeFor[sessions.Patch]()
	for i := range patch.NumField() {
		if name := patch.Field(i).Name; name != "ID" {
			patched = append(patched, name)
		}
	}
	require.ElementsMatch(t, patched, recordFields["setting"], "what a patch sets")
}

// valueOf is a value of a setting that a session may have, the n-th.
func valueOf(field string, n int) any {
	switch field {
	case "SendPolicy":
		return []sessions.SendPolicy{sessions.SendAllow, sessions.SendDeny}[n]
	case "Activation":
		return []sessions.Activation{sessions.ActivationMention, sessions.ActivationAlways}[n]
	case "ThinkingLevel":
		return []sessions.ThinkingLevel{sessions.ThinkingLow, sessions.ThinkingHigh}[n]
	case "VerboseLevel":
		return []sessions.VerboseLevel{sessions.VerboseOn, sessions.VerboseFull}[n]
	case "Temperature":
		return []sessions.Temperature{"0", "1.25"}[n]
	case "MaxTokens":
		return []int{1, 4096}[n]
	case "Voice":
		return []bool{true, false}[n]
	case "QueueMode":
		return []sessions.QueueMode{sessions.QueueSteer, sessions.QueueCollect}[n]
	case "TTL":
		return []time.Duration{time.Hour, 2 * time.Hour}[n]
	case "Metadata":
		return []byte(fmt.Sprintf(`{"n":%d}`, n))
	}
	return flow.NewText(field, []flow.Label{flow.Bottom(), flow.Top()}[n]) // a text is another one with another label
}

// patchOf sets one field.
func patchOf(field string, n int) sessions.Patch {
	var p sessions.Patch
	f := reflect.ValueOf(&p).Elem().FieldByName(field)
	value := reflect.New(f.Type().Elem())
	value.Elem().Set(reflect.ValueOf(valueOf(field, n)).Convert(f.Type().Elem()))
	f.Set(value)
	return p
}

func setting(r sessions.Record, field string) any {
	value := reflect.ValueOf(r).FieldByName(field).Interface()
	if raw, ok := value.(json.RawMessage); ok {
		return []byte(raw)
	}
	return value
}

// Each setting outlives Patch, Persist and a load, also where others are patched before and after it; and a session
// that is kept open follows each that others have patched, but for those that it has patched itself.
func TestEverySettingSurvives(t *testing.T) {
	t.Parallel()
	for _, field := range recordFields["setting"] {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			require.NoError(t, b.Persist(t.Context()))
			for _, f := range recordFields["setting"] { // all of them, so that one that is lost in a join shows
				require.NoError(t, b.Patch(patchOf(f, 0)))
			}
			require.NoError(t, b.Patch(patchOf(field, 1)))
			require.NoError(t, b.Persist(t.Context()))
			require.False(t, b.Dirty())
			require.Equal(t, valueOf(field, 1), setting(b.load(t).Record(), field), "after Persist and a load")
			require.Equal(t, b.Record(), b.load(t).Record())

			theirs := b.load(t).Record()
			patchOf(field, 0).Apply(&theirs)
			b.Adopt(theirs)
			require.Equal(t, valueOf(field, 0), setting(b.Record(), field), "after Adopt")
			require.NoError(t, b.Patch(patchOf(field, 1)))
			b.Adopt(theirs)
			require.Equal(t, valueOf(field, 1), setting(b.Record(), field), "what it has patched itself stays")
		})
	}
}

// stored is the session's record as the store has it.
func stored(t *testing.T, b *bundle) sessions.Record {
	t.Helper()
	r, err := b.store.Session(t.Context(), b.Record().ID)
	require.NoError(t, err)
	return r
}

// A session that is given another agent has it after the next load, too.
func TestAnotherAgentIsStored(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.Persist(t.Context()))
	b.SetAgent(sessions.Agent{ID: "coder"})
	require.True(t, b.Dirty())
	require.NoError(t, b.Persist(t.Context()))
	require.False(t, b.Dirty())
	require.Equal(t, "coder", stored(t, b).Agent)

	b.SetAgent(sessions.Agent{ID: "writer"})
	b.store.FailAt(1, true)
	require.ErrorIs(t, b.Persist(t.Context()), sessiontest.ErrFault)
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, "writer", stored(t, b).Agent, "the answer to the commit was lost")

	b.SetAgent(sessions.Agent{ID: "coder"})
	b.store.FailAt(1, false)
	require.ErrorIs(t, b.Persist(t.Context()), sessiontest.ErrFault)
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, "coder", stored(t, b).Agent, "the commit was not made")
}
