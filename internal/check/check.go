// Package check reads something outside of conversations, such as a web address or a file, and turns what it finds into a value.
//
// A [Check] is compiled from a [Definition] of the configuration. [Check.Look] reads its source, which is bounded in time and
// size, and computes the value with CEL. It stores nothing: package router/checks compares the value with the last one.
package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/internal/expr"
	"sluice/policy/flow"
)

const (
	// bodyMax bounds what is read of an answer or a tool's result, in bytes.
	bodyMax = 1 << 20
	// ExcerptMax is how much of a value is kept, in bytes.
	ExcerptMax = 2 << 10
	// Timeout bounds one look.
	Timeout = 30 * time.Second
	// EveryDefault is how old a value may be before a check looks again.
	EveryDefault = time.Minute
)

// Definition is a check as the configuration has it. Exactly one of HTTP, MCP, File and Gateway is set.
type Definition struct {
	Name    string
	HTTP    string            // an address
	Headers map[string]string // of the request to it
	Private bool              // it may be on this machine or in a private network
	MCP     string            // <server>/<tool>
	Args    string            // of the tool, as a JSON object; empty: none
	File    string            // an absolute path
	Gateway string            // one of [Counts]
	Value   string            // CEL over status, headers and body; empty: body
	When    string            // CEL over value and before; empty: always
	Every   time.Duration
	Label   flow.Label // of the value
}

// Source is what a check reads.
func (d *Definition) Source() string {
	switch {
	case d.HTTP != "":
		u, err := url.Parse(d.HTTP)
		if err != nil {
			return "http"
		}
		return u.Scheme + "://" + u.Host // the rest may contain a password
	case d.MCP != "":
		return "mcp " + d.MCP
	case d.File != "":
		return "file " + d.File
	}
	return "gateway " + d.Gateway
}

// Ways are how checks reach what they look at.
type Ways struct {
	// Fetch gets an address.
	Fetch func(ctx context.Context, d *Definition, most int) (Answer, error)
	// Tool calls a tool of an MCP server and gives its text.
	Tool func(ctx context.Context, server, tool string, args json.RawMessage) (string, error)
	// Count counts rows of the gateway.
	Count func(ctx context.Context, what string) (int, error)
}

// Answer is the answer of a web server.
type Answer struct {
	Status  int
	Headers map[string]string // by their names in lower case
	Body    []byte
}

// Check is a compiled check. It is safe for concurrent use.
type Check struct {
	Definition
	Plan        string // changes with everything that may change the value
	value, when *expr.Expression
}

// FieldError is a fault in one key of a definition.
type FieldError struct {
	Field string // empty: the definition itself
	Err   error
}

func (e *FieldError) Error() string { return strings.TrimPrefix(e.Field+": ", ": ") + e.Err.Error() }

func (e *FieldError) Unwrap() error { return e.Err }

func wrong(field, format string, args ...any) error {
	return &FieldError{field, fmt.Errorf(format, args...)}
}

var (
	values     = expr.WithVariables("status", "headers", "body")
	conditions = expr.WithVariables("value", "before")
)

// New compiles a definition. The error is a [*FieldError].
func New(d Definition) (*Check, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	c := &Check{Definition: d}
	var err error
	if d.Value != "" {
		if c.value, err = values.Compile(d.Value); err != nil {
			return nil, &FieldError{"value", err}
		}
	}
	if d.When != "" {
		if c.when, err = conditions.CompileCondition(d.When); err != nil {
			return nil, &FieldError{"when", err}
		}
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q %q %q %q %v", d.HTTP, d.MCP, d.Args, d.File, d.Gateway, d.Value, d.When, d.Label)
	c.Plan = hex.EncodeToString(sum.Sum(nil)[:8])
	return c, nil
}

func (d *Definition) check() error {
	set := 0
	for _, source := range []string{d.HTTP, d.MCP, d.File, d.Gateway} {
		if source != "" {
			set++
		}
	}
	if set != 1 {
		return wrong("", "has %d of http, mcp, file and gateway: want one", set)
	}
	server, tool, _ := strings.Cut(d.MCP, "/")
	switch {
	case d.HTTP == "" && len(d.Headers) > 0:
		return wrong("headers", "belong to http")
	case d.HTTP == "" && d.Private:
		return wrong("private", "belongs to http")
	case d.MCP != "" && (server == "" || tool == ""):
		return wrong("mcp", "%q: want <server>/<tool>", d.MCP)
	case d.MCP == "" && d.Args != "":
		return wrong("args", "belong to mcp")
	case d.Args != "" && !isObject(d.Args):
		return wrong("args", "want a JSON object, such as '{\"state\": \"open\"}'")
	case d.Gateway != "" && !known(d.Gateway):
		return wrong("gateway", "%q: want %s", d.Gateway, strings.Join(Counts(), ", "))
	}
	return nil
}

func isObject(text string) bool {
	var o map[string]any
	return json.Unmarshal([]byte(text), &o) == nil && o != nil
}

// Found is what a look found.
type Found struct {
	Hash  string // of the whole value
	Value string // its beginning, as JSON
	Holds bool   // the check's condition; true without one

	Conditional bool // the check has a condition
}

// errTimeout replaces the text of the context's error.
var errTimeout = fmt.Errorf("no result within %s", Timeout)

// Look reads the source and computes the value. Before is the beginning of the last value, as JSON, or empty.
func (c *Check) Look(ctx context.Context, ways Ways, before string) (Found, error) {
	looking, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	vars, err := c.read(looking, ways)
	if err == nil {
		return c.compute(looking, vars, before)
	}
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = errTimeout
	}
	return Found{}, err
}

func (c *Check) read(ctx context.Context, ways Ways) (map[string]any, error) {
	vars := map[string]any{"status": 0, "headers": map[string]string{}}
	var err error
	switch {
	case c.HTTP != "":
		var got Answer
		if got, err = ways.Fetch(ctx, &c.Definition, bodyMax); err != nil {
			return nil, err
		}
		if c.value == nil && (got.Status < 200 || got.Status > 299) {
			return nil, fmt.Errorf("the server answers %d", got.Status)
		}
		vars["status"], vars["headers"], vars["body"] = got.Status, got.Headers, parsed(got.Body)
	case c.MCP != "":
		server, tool, _ := strings.Cut(c.MCP, "/")
		args := json.RawMessage(c.Args)
		if c.Args == "" {
			args = json.RawMessage(`{}`)
		}
		var text string
		text, err = ways.Tool(ctx, server, tool, args)
		vars["body"] = parsed([]byte(text))
	case c.File != "":
		vars["body"], err = look(ctx, c.File)
	default:
		vars["body"], err = ways.Count(ctx, c.Gateway)
	}
	return vars, err
}

// parsed is JSON as CEL sees it, and anything else as text.
func parsed(body []byte) any {
	var v any
	if json.Unmarshal(body, &v) == nil {
		return v
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

// compute evaluates the expressions.
func (c *Check) compute(ctx context.Context, vars map[string]any, before string) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, expr.Deadline)
	defer cancel()
	var value []byte
	var err error
	if c.value == nil {
		value, err = json.Marshal(vars["body"])
	} else {
		value, err = c.value.JSON(ctx, vars)
	}
	if err != nil {
		return Found{}, fmt.Errorf("value: %w", err)
	}
	sum := sha256.Sum256(value)
	found := Found{Hash: hex.EncodeToString(sum[:]), Value: excerpt(value), Holds: true, Conditional: c.when != nil}
	if c.when != nil {
		found.Holds, err = c.when.Holds(ctx, map[string]any{"value": parsed(value), "before": earlier(before)})
		if err != nil {
			return Found{}, fmt.Errorf("when: %w", err)
		}
	}
	return found, nil
}

// earlier is the last value as CEL sees it: null if there was none.
func earlier(value string) any {
	if value == "" {
		return nil
	}
	return parsed([]byte(value))
}

// excerpt is the beginning of a value.
func excerpt(value []byte) string {
	if len(value) <= ExcerptMax {
		return string(value)
	}
	cut := value[:ExcerptMax-len("…")]
	for len(cut) > 0 && !utf8.Valid(cut[max(0, len(cut)-utf8.UTFMax):]) {
		cut = cut[:len(cut)-1]
	}
	return strings.ToValidUTF8(string(cut), "") + "…"
}
