package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/schema"
)

type row struct {
	Label string `json:"label" jsonschema:"a name" bounds:"minLength=1,maxLength=3"`
	Size  *int   `json:"size,omitempty"`
}

type place struct {
	City string `json:"city,omitempty" bounds:"enum=a|b"`
}

type shared struct {
	Size int `json:"size,omitempty" bounds:"minimum=1"`
}

type params struct {
	shared
	Place *place        `json:"place,omitempty"`
	Name  string        `json:"name" jsonschema:"who" bounds:"minLength=2"`
	Kind  string        `json:"kind,omitempty" bounds:"enum=a|b|c"`
	Limit *int          `json:"limit,omitempty" bounds:"minimum=1,maximum=10,lowered"`
	Share *float64      `json:"share,omitempty" bounds:"minimum=0,maximum=0.5"`
	Words []string      `json:"words,omitempty" bounds:"minItems=1,maxItems=2,each.enum=x|y"`
	Rows  []row         `json:"rows,omitempty" bounds:"maxItems=2"`
	Many  []int         `json:"many,omitempty" bounds:"minItems=2"`
	Mode  string        `json:"mode,omitempty" bounds:"enum=a|b,empty"`
	When  string        `json:"when,omitempty" bounds:"format=date-time"`
	On    bool          `json:"on,omitempty"`
	Any   schema.Object `json:"any,omitempty"`
	Kept  string        `json:"-"`
}

func TestTheSchemaOfAStruct(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"required":["name"],"properties":{
"name":{"type":"string","description":"who","minLength":2},
"kind":{"type":"string","enum":["a","b","c"]},"mode":{"type":"string","enum":["a","b"]},
"limit":{"type":"integer","minimum":1,"maximum":10},
"share":{"type":"number","minimum":0,"maximum":0.5},
"words":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["x","y"]}},
"rows":{"type":"array","maxItems":2,"items":{"type":"object","additionalProperties":false,"required":["label"],"properties":{
"label":{"type":"string","description":"a name","minLength":1,"maxLength":3},"size":{"type":"integer"}}}},
"many":{"type":"array","minItems":2,"items":{"type":"integer"}},
"when":{"type":"string","format":"date-time"},"on":{"type":"boolean"},"size":{"type":"integer","minimum":1},
"place":{"type":"object","additionalProperties":false,"properties":{"city":{"type":"string","enum":["a","b"]}}},"any":{"type":"object"}}}`, string(schema.Of[params]().Text()))
	require.JSONEq(t, `{"type":"object","additionalProperties":false,"properties":{}}`, string(schema.Of[struct{}]().Text()))
	first := schema.Of[params]()
	require.Same(t, first, schema.Of[params](), "a schema is inferred once")
}

func TestAWrongTagIsAProgrammingError(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]func(){
		`unknown bound "most=1"`: func() {
			schema.Of[struct {
				A int `json:"a" bounds:"most=1"`
			}]()
		},
		`bound "minimum=x"`: func() {
			schema.Of[struct {
				A int `json:"a" bounds:"minimum=x"`
			}]()
		},
		"each. without an array": func() {
			schema.Of[struct {
				A int `json:"a" bounds:"each.minimum=1"`
			}]()
		},
		`unknown bound "lowered"`: func() {
			schema.Of[struct {
				A int `json:"a" bounds:"lowered"`
			}]()
		},
	} {
		func() {
			defer func() { require.Contains(t, recover(), want) }()
			of()
		}()
	}
}

func TestArgumentsAreCheckedAndDecoded(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"name":"ok"}`: "",
		`{"name":"ok","kind":null,"limit":null,"rows":null}`:                                   "",
		`{"name":"ok","limit":11,"share":0.5,"words":["y"],"mode":""}`:                         "",
		`{"name":"ok","rows":[{"label":"a","size":3}],"any":{"x":[1]},"on":true,"many":[1,2]}`: "",

		``:                                    "arguments: ",
		`[]`:                                  "arguments: ",
		`{"name":"ok"} {}`:                    "arguments: ",
		`null`:                                "name: is required",
		`{}`:                                  "name: is required",
		`{"name":null}`:                       "name: is required",
		`{"name":""}`:                         "name: is required",
		`{"name":"x"}`:                        "name: has 1 characters, the minimum is 2",
		`{"nonsense":1}`:                      "nonsense: unknown parameter",
		`{"name":"ok","Kept":"x"}`:            "Kept: unknown parameter",
		`{"Name":"ok"}`:                       "Name: unknown parameter",
		`{"name":"ok","size":"x"}`:            "size: want a whole number, got a JSON string",
		`{"name":7}`:                          "name: want a string, got a JSON number",
		`{"name":"ok","kind":"d"}`:            `kind: "d" is not a, b or c`,
		`{"name":"ok","kind":""}`:             `kind: "" is not a, b or c`,
		`{"name":"ok","mode":"c"}`:            `mode: "c" is not a or b`,
		`{"name":"ok","limit":0}`:             "limit: 0 is less than 1",
		`{"name":"ok","limit":1.5}`:           "limit: want a whole number, got a JSON number 1.5",
		`{"name":"ok","limit":"1"}`:           "limit: want a whole number, got a JSON string",
		`{"name":"ok","share":0.6}`:           "share: 0.6, want 0 to 0.5",
		`{"name":"ok","words":[]}`:            "words: want 1 to 2 of them, got 0",
		`{"name":"ok","words":["x","y","x"]}`: "words: want 1 to 2 of them, got 3",
		`{"name":"ok","words":["x","z"]}`:     `words[1]: "z" is not x or y`,
		`{"name":"ok","many":[1]}`:            "many: want at least 2 of them, got 1",
		`{"name":"ok","rows":[{},{},{}]}`:     "rows: want at most 2 of them, got 3",
		`{"name":"ok","rows":[{"label":"a"},{}]}`:           "rows[1].label: is required",
		`{"name":"ok","rows":[{"label":"long"}]}`:           "rows[0].label: has 4 characters, the maximum is 3",
		`{"name":"ok","rows":[{"label":"ääää"}]}`:           "rows[0].label: has 4 characters, the maximum is 3",
		`{"name":"ok","rows":[{"label":"a","colour":"x"}]}`: "unknown parameter",
		`{"name":"ok","any":[]}`:                            "any: want an object",
		`{"name":"ok","on":"yes"}`:                          "on: want true or false",
	} {
		got, err := schema.Decode[params](json.RawMessage(args))
		if want == "" {
			require.NoError(t, err, args)
			require.Equal(t, "ok", got.Name, args)
			continue
		}
		require.ErrorContains(t, err, want, args)
	}
}

// A foreign schema may come from anybody. What it makes the gateway do is bounded.
func TestSchemasOfOthers(t *testing.T) {
	t.Parallel()
	nested := func(n int) string {
		return strings.Repeat(`{"properties":{"a":`, n) + `{}` + strings.Repeat(`}}`, n)
	}
	doubling := `{"allOf":[{"$ref":"#/$defs/a0"}],"$defs":{`
	for i := range 30 {
		name, next := string(rune('a'))+string(rune('0'+i)), string(rune('a'))+string(rune('0'+i+1))
		doubling += `"` + strings.ReplaceAll(name, `\`, "~") + `":{"allOf":[{"$ref":"#/$defs/` + next + `"},{"$ref":"#/$defs/` + next + `"}]},`
	}
	doubling += `"a` + string(rune('0'+30)) + `":{}}}`
	for name, c := range map[string]struct{ schema, refused, unchecked string }{
		"plain":                      {schema: `{"type":"object"}`},
		"any":                        {schema: `true`},
		"a local reference":          {schema: `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`},
		"an escaped reference":       {schema: `{"properties":{"a":{"$ref":"#/%24defs/x~1y"}},"$defs":{"x/y":{"type":"string"}}}`},
		"a property named $ref":      {schema: `{"properties":{"$ref":{"type":"string"}}}`},
		"draft 7":                    {schema: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`},
		"deep enough":                {schema: nested(31)},
		"another document":           {schema: `{"$ref":"https://example.org/x.json"}`, refused: schema.ErrRemote.Error()},
		"a file":                     {schema: `{"properties":{"a":{"$ref":"x.json#/a"}}}`, refused: schema.ErrRemote.Error()},
		"another document, unused":   {schema: `{"$defs":{"a":{"$ref":"//x"}}}`, refused: schema.ErrRemote.Error()},
		"too deep":                   {schema: nested(40), refused: "nested more than 64 deep"},
		"no JSON":                    {schema: `{`, refused: "read schema"},
		"itself":                     {schema: `{"$ref":"#"}`, unchecked: "leads back to itself"},
		"a circle":                   {schema: `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, unchecked: "leads back to itself"},
		"a circle, escaped":          {schema: `{"$ref":"#/%24defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, unchecked: "leads back to itself"},
		"a circle below a property":  {schema: `{"properties":{"title":{"allOf":[{"$ref":"#/properties/title"}]}}}`, unchecked: "leads back to itself"},
		"a circle in other letters":  {schema: `{"ALLOF":[{"$REF":"#"}]}`, unchecked: "leads back to itself"},
		"a circle in a second place": {schema: `{"$defs":{"a":{"$id":"http://x/y","$ref":"#"}},"$ref":"#/$defs/a"}`, unchecked: "$id"},
		"nowhere":                    {schema: `{"$ref":"#/$defs/none"}`, unchecked: "nowhere"},
		"an anchor":                  {schema: `{"$anchor":"a"}`, unchecked: "$anchor"},
		"dynamic":                    {schema: `{"$dynamicRef":"#a"}`, unchecked: "$dynamicRef"},
		"two to the thirtieth":       {schema: doubling, unchecked: "expands to more than 2000 subschemas"},
		"another dialect":            {schema: `{"$schema":"http://json-schema.org/draft-03/schema#"}`, unchecked: "dialect"},
		"a pattern that Go lacks":    {schema: `{"properties":{"a":{"pattern":"(?=x)"}}}`, unchecked: "can't read it"},
		"no schema":                  {schema: `{"type":7}`, unchecked: "can't read it"},
		"a list":                     {schema: `[]`, unchecked: "can't read it"},
	} {
		s, unchecked, err := schema.Parse(json.RawMessage(c.schema))
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.schema, string(s.Text()), name)
		if c.unchecked == "" {
			require.Empty(t, unchecked, name)
		}
		require.Contains(t, unchecked, c.unchecked, name)
		require.NoError(t, s.Check(json.RawMessage(`{}`)), name)
	}
}

func TestForeignArguments(t *testing.T) {
	t.Parallel()
	s, unchecked, err := schema.Parse(json.RawMessage(`{"type":"object","required":["id"],"properties":{
"id":{"type":"integer","minimum":1},"tags":{"type":["array","null"],"items":{"$ref":"#/$defs/tag"}},"either":{"oneOf":[{"type":"string"},{"type":"integer"}]}},
"additionalProperties":true,"$defs":{"tag":{"type":"string","pattern":"^[a-z]+$"}}}`))
	require.NoError(t, err)
	require.Empty(t, unchecked)
	for args, want := range map[string]string{
		`{"id":1}`: "",
		`{"id":1,"tags":null,"more":true,"either":"x"}`: "",

		`{}`:                    "id: is required",
		`{"id":0}`:              "id: 0 is less than 1",
		`{"id":null}`:           `id: type: `, // for the schema of another, null is a value
		`{"id":"1"}`:            `id: type: 1 has type "string", want "integer"`,
		`{"id":1,"tags":["A"]}`: "pattern",
		`{"id":1,"either":[]}`:  "either: oneOf: ",
		`{"id":1,"tags":[` + strings.Repeat(`"`+strings.Repeat("A", 1000)+`",`, 9) + `"a"]}`: "pattern",
	} {
		err := s.Check(json.RawMessage(args))
		if want == "" {
			require.NoError(t, err, args)
			continue
		}
		require.ErrorContains(t, err, want, args)
		require.Less(t, len(err.Error()), 400, args)
	}
}

// The server of a tool writes its schema, and may get a model to call the tool with any arguments. A check takes a second at
// most; without the bound, these take minutes.
func TestNoCheckTakesLong(t *testing.T) {
	t.Parallel()
	list := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	enum := `"$defs":{"e":{"enum":[` + list(8000, `1`) + `]}}`
	for name, c := range map[string]struct{ schema, small, big string }{
		"enums":    {`{"properties":{"a":{"items":{"anyOf":[` + list(20, `{"$ref":"#/$defs/e"}`) + `]}}},` + enum + `}`, `{"a":[2]}`, `{"a":[` + list(5000, `2`) + `]}`},
		"patterns": {`{"properties":{"a":{"allOf":[` + list(10, `{"pattern":"^(x?){1000}y"}`) + `]}}}`, `{"a":"z"}`, `{"a":"` + strings.Repeat("x", 50_000) + `"}`},
		"names":    {`{"patternProperties":{"^(x?){1000}y":{"type":"integer"}}}`, `{"y":"z"}`, `{"` + strings.Repeat("x", 100_000) + `":"y"}`},
		"objects":  {`{"additionalProperties":{"allOf":[` + list(900, `{"minimum":3}`) + `]}}`, `{"a":2}`, `{"a":[` + list(5000, `2`) + `],"b":2}`},
	} {
		s, unchecked, err := schema.Parse(json.RawMessage(c.schema))
		require.NoError(t, err, name)
		require.Empty(t, unchecked, name)
		require.Error(t, s.Check(json.RawMessage(c.small)), name)
		require.NoError(t, s.Check(json.RawMessage(c.big)), "%s: its server checks it", name)
	}
	s, unchecked, err := schema.Parse(json.RawMessage(`{"properties":{"a":{"allOf":[` + list(900, `{"pattern":"^(x?){1000}y"}`) + `]}}}`))
	require.NoError(t, err)
	require.Equal(t, "its patterns are too big", unchecked)
	require.NoError(t, s.Check(json.RawMessage(`{"a":"z"}`)))
}

func FuzzParse(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"enum":[1,"a"]}}}`, `{"a":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Fuzz(func(_ *testing.T, text, args string) {
		if s, _, err := schema.Parse(json.RawMessage(text)); err == nil {
			_ = s.Check(json.RawMessage(args)) // ends, without a panic
		}
	})
}

// Of a parameter that stands twice, the last one counts, in the check as in what the tool gets: a null behind a value that
// the schema refuses leaves nothing of it.
func TestRepeatedParameters(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"name":"ok","limit":-7,"limit":null}`, `{"name":"ok","share":7,"share":null}`, `{"name":"ok","kind":"d","kind":null}`, `{"name":"ok","mode":"c","mode":""}`} {
		got, err := schema.Decode[params](json.RawMessage(args))
		require.NoError(t, err, args)
		require.Equal(t, params{Name: "ok"}, got, args)
	}
}

type renamed struct {
	shared
	Key  string `json:"sessionKey" bounds:"minLength=1" also:"session_id"`
	Text string `json:"text,omitempty" also:"content"`
}

// A second name is accepted and never told. Both names in one call are an error that says both.
func TestSecondNames(t *testing.T) {
	t.Parallel()
	s := schema.Of[renamed]()
	require.True(t, s.Aliased())
	require.False(t, schema.Of[params]().Aliased())
	require.NotContains(t, string(s.Text()), "session_id")
	for args, named := range map[string]string{
		`{"session_id":"a","content":"b","size":2}`:         `{"sessionKey":"a","text":"b","size":2}`,
		`{"session_id":"a","session_id":"b"}`:               `{"sessionKey":"b"}`,
		`{"sessionKey":"a","session_id":null}`:              `{"sessionKey":"a"}`,
		`{"sessionKey":null,"session_id":"a"}`:              `{"sessionKey":"a"}`,
		`{"sessionKey":"a","content":""}`:                   `{"sessionKey":"a","text":""}`,
		`{"sessionKey":"a","unknown":12345678901234567890}`: `{"sessionKey":"a","unknown":12345678901234567890}`,
	} {
		require.Equal(t, parsed(t, named), parsed(t, string(s.Named(json.RawMessage(args)))), args)
	}
	for _, same := range []string{`{"sessionKey": "a"}`, `{"sessionKey":"a","session_id":"b"}`, `{"sessionKey":"a","session_id":"a"}`, `7`, `{`, `null`} {
		require.Equal(t, same, string(s.Named(json.RawMessage(same))), "unchanged")
	}
	got, err := schema.Decode[renamed](json.RawMessage(`{"session_id":"a","content":"b"}`))
	require.NoError(t, err)
	require.Equal(t, renamed{Key: "a", Text: "b"}, got)
	_, err = schema.Decode[renamed](json.RawMessage(`{"sessionKey":"a","session_id":""}`))
	require.EqualError(t, err, "session_id: means the same as sessionKey; give only one of the two")
	_, err = schema.Decode[renamed](json.RawMessage(`{"Session_id":"a","sessionKey":"b"}`))
	require.EqualError(t, err, "Session_id: unknown parameter", "names are exact")
}

func parsed(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}
