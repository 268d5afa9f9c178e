package port_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"

	"sluice/sessions/address"
	"sluice/sessions/message"
	"sluice/sessions/port"
)

func TestPermissionNarrows(t *testing.T) {
	t.Parallel()
	const deny, ask, auto = port.PermissionDeny, port.PermissionAsk, port.PermissionAuto
	for _, c := range []struct{ a, b, want port.PermissionMode }{
		{deny, auto, deny},
		{auto, ask, ask},
		{auto, auto, auto},
		{ask, "", ask},
		{"", ask, ask},
		{"", "", ""},
		{auto, "everything", deny},
		{"everything", auto, deny},
	} {
		require.Equal(t, c.want, c.a.Narrow(c.b), "%q and %q", c.a, c.b)
	}
}

func TestPermissionRules(t *testing.T) {
	t.Parallel()
	reads := port.Tool{Flow: port.ToolFlow{Reads: port.FlowSession, Writes: port.FlowNone}}
	writes := port.Tool{Flow: port.ToolFlow{Reads: port.FlowNone, Writes: port.FlowSession}}
	for _, c := range []struct {
		mode          port.PermissionMode
		reads, writes port.Ruling
	}{
		{port.PermissionDeny, port.RulingRun, port.RulingRefuse},
		{port.PermissionAsk, port.RulingRun, port.RulingAsk},
		{port.PermissionAuto, port.RulingRun, port.RulingRun},
		{"", port.RulingRun, port.RulingRefuse},
		{"everything", port.RulingRun, port.RulingRefuse},
	} {
		require.Equal(t, c.reads, c.mode.Ruling(reads), "%q of a tool that reads", c.mode)
		require.Equal(t, c.writes, c.mode.Ruling(writes), "%q of a tool that writes", c.mode)
		require.Equal(t, c.writes, c.mode.Ruling(port.Tool{}), "%q of a tool that declares nothing", c.mode)
	}
}

func TestParseModes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"deny", "ask", "auto"} {
		mode, err := port.ParsePermissionMode(text)
		require.NoError(t, err)
		require.Equal(t, port.PermissionMode(text), mode)
	}
	for _, text := range []string{"off", "optional", "required"} {
		mode, err := port.ParseSandboxMode(text)
		require.NoError(t, err)
		require.Equal(t, port.SandboxMode(text), mode)
	}
	for _, text := range []string{"", "Ask", "required ", "everything"} {
		permission, err := port.ParsePermissionMode(text)
		require.ErrorContains(t, err, "want one of [deny ask auto]")
		require.Empty(t, permission)
		sandbox, err := port.ParseSandboxMode(text)
		require.ErrorContains(t, err, "want one of [off optional required]")
		require.Empty(t, sandbox)
	}
}

func TestToolFlowCheck(t *testing.T) {
	t.Parallel()
	label := flow.NewLabel(flow.Public, flow.Untrusted)
	for name, c := range map[string]struct {
		flow    port.ToolFlow
		fault   string
		outside bool
	}{
		"nothing declared":           {port.ToolFlow{}, "what it reads and writes", false},
		"no writes":                  {port.ToolFlow{Reads: port.FlowSession}, "what it reads and writes", false},
		"an unknown end":             {port.ToolFlow{Reads: "moon", Writes: port.FlowNone}, "what it reads and writes", false},
		"inside":                     {port.ToolFlow{Reads: port.FlowMemory, Writes: port.FlowDelivery}, "", false},
		"reads outside":              {port.ToolFlow{Reads: port.FlowOutside, Writes: port.FlowNone, Source: label}, "", true},
		"reads outside, no label":    {port.ToolFlow{Reads: port.FlowOutside, Writes: port.FlowNone}, "label of its results", true},
		"writes outside":             {port.ToolFlow{Reads: port.FlowNone, Writes: port.FlowOutside, Sink: flow.Public, Setting: "x.level"}, "", true},
		"writes outside, no level":   {port.ToolFlow{Reads: port.FlowNone, Writes: port.FlowOutside, Setting: "x.level"}, "highest level", true},
		"writes outside, no setting": {port.ToolFlow{Reads: port.FlowNone, Writes: port.FlowOutside, Sink: flow.Public}, "setting of its level", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.outside, c.flow.Outside())
			if err := c.flow.Check(); c.fault == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.fault)
			}
		})
	}
}

func TestTermsAreTheSame(t *testing.T) {
	t.Parallel()
	terms := port.Terms{Approvers: [][]string{{"test:a", "test:b"}}, Level: flow.Internal}
	for name, c := range map[string]struct {
		change func(*port.Terms)
		same   bool
	}{
		"unchanged":              {func(*port.Terms) {}, true},
		"another time":           {func(t *port.Terms) { t.Timeout = time.Hour }, true},
		"another rule":           {func(t *port.Terms) { t.Rules = []string{"r"} }, true},
		"no level known":         {func(t *port.Terms) { t.Level = flow.Level{} }, true},
		"another level":          {func(t *port.Terms) { t.Level = flow.Restricted }, false},
		"silence allows":         {func(t *port.Terms) { t.AllowOnTimeout = true }, false},
		"another approver":       {func(t *port.Terms) { t.Approvers = [][]string{{"test:a", "test:c"}} }, false},
		"one approver less":      {func(t *port.Terms) { t.Approvers = [][]string{{"test:a"}} }, false},
		"a second list":          {func(t *port.Terms) { t.Approvers = [][]string{{"test:a", "test:b"}, {"test:a"}} }, false},
		"owners instead of list": {func(t *port.Terms) { t.Approvers = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := terms
			c.change(&other)
			require.Equal(t, c.same, terms.Same(other))
			require.Equal(t, c.same, other.Same(terms))
		})
	}
}

func TestModelError(t *testing.T) {
	t.Parallel()
	errCause := errors.New("cause")
	for kind, again := range map[port.ModelErrorKind]bool{
		port.ModelRateLimited: true, port.ModelOverloaded: true, port.ModelUnavailable: true, port.ModelCut: true,
		port.ModelOverflow: false, port.ModelAuth: false, port.ModelRefused: false, "": false,
	} {
		err := &port.ModelError{Kind: kind, Model: "m", Err: errCause}
		require.Equal(t, again, err.Retryable(), kind)
		require.ErrorIs(t, err, errCause)
		require.ErrorContains(t, err, "model m: "+string(kind)+": cause")
	}
}

// model has no optional ability; the others have one each.
type (
	model      struct{ port.Model }
	classified struct {
		model
		level flow.Level
	}
	tempered struct{ model }
)

func (c classified) Classification() flow.Level { return c.level }
func (tempered) MaxTemperature() float32        { return 1 }

func TestAbilitiesOfAModel(t *testing.T) {
	t.Parallel()
	require.Equal(t, flow.Public, port.ModelLevel(model{}))
	require.Equal(t, flow.Public, port.ModelLevel(nil), "a model that was removed")
	require.Equal(t, flow.Public, port.ModelLevel(classified{}), "a level that was lost")
	require.Equal(t, flow.Confidential, port.ModelLevel(classified{level: flow.Confidential}))
	require.InDelta(t, 2, port.MaxTemperature(model{}), 0)
	require.InDelta(t, 1, port.MaxTemperature(tempered{}), 0)
}

// form writes the messages' texts with commas between them, and counts what it has written.
type form struct{ written *int }

func (f form) Append(text []byte, open string, m message.Message) ([]byte, string, error) {
	*f.written++
	if m.Role == "broken" {
		return nil, "", errors.New("unknown role")
	}
	text = append(text, open...)
	return append(text, m.Text()...), ",", nil
}

func (form) Close(open string) string { return "end" + open }

func said(id, text string) message.Message {
	return message.Message{ID: address.MessageID(id), Role: message.RoleUser, Parts: []message.Part{{Type: message.PartText, Text: text}}}
}

// The kept text is always what writing the whole thread would give, and only what is new is written.
func TestEncoded(t *testing.T) {
	t.Parallel()
	one, two, three, four := said("1", "one"), said("2", "two"), said("3", "three"), said("4", "four")
	edited := said("2", "TWO")
	file := said("5", "file")
	file.Parts[0].Content = []byte("content")
	empty := message.Message{ID: address.MessageID("6"), Role: message.RoleUser}
	silent := message.Message{ID: address.MessageID("7"), Role: message.RoleAssistant}
	kept, written := &port.Encoded{}, 0
	for _, c := range []struct {
		name   string
		thread []message.Message
		writes int
	}{
		{"nothing", nil, 0},
		{"the first", []message.Message{one, two}, 2},
		{"the same", []message.Message{one, two}, 0},
		{"one more", []message.Message{one, two, three}, 1},
		{"an edit", []message.Message{one, edited, three}, 2},
		{"back again", []message.Message{one, two, three, four}, 3},
		{"shorter", []message.Message{one}, 0},
		{"another branch", []message.Message{one, four}, 1},
		{"a file", []message.Message{one, four, file, two}, 2},
		{"a file is written each time", []message.Message{one, four, file, two}, 2},
		{"a message without parts", []message.Message{one, empty, two}, 2},
		{"written each time, too", []message.Message{one, empty, two}, 2},
		{"an empty answer", []message.Message{one, silent, two}, 2},
		{"an empty answer is kept", []message.Message{one, silent, two}, 0},
	} {
		written = 0
		text, closed, err := kept.Text(form{&written}, c.thread)
		require.NoError(t, err, c.name)
		require.Equal(t, c.writes, written, c.name)
		whole, wholeClosed, err := (*port.Encoded)(nil).Text(form{&written}, c.thread)
		require.NoError(t, err)
		require.Equal(t, string(whole), string(text), c.name)
		require.Equal(t, wholeClosed, closed, c.name)
	}
	require.Positive(t, kept.Size())
	other := 0
	_, _, err := kept.Text(form{&other}, []message.Message{one, two})
	require.NoError(t, err)
	require.Equal(t, 2, other, "another form keeps nothing of the last one's text")
	_, _, err = kept.Text(form{&other}, []message.Message{one, {ID: address.MessageID("8"), Role: "broken", Parts: one.Parts}})
	require.ErrorContains(t, err, "unknown role")
}
