// Package checks has the part of the configuration for checks, which need no model.
package checks

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/internal/check"
	"sluice/internal/config/scalar"
	"sluice/internal/expr"
	"sluice/internal/pattern"
	"sluice/policy/flow"
)

// Checks are things to look at, by their names.
type Checks map[string]Check

// Check is something to look at.
type Check struct {
	HTTP    adapters.Secret            `yaml:"http" doc:"Address to GET. Redirects are not followed. Each check has one of http, mcp, file and gateway."`
	Headers map[string]adapters.Secret `yaml:"headers" doc:"Headers of the request, for example Authorization."`
	Private bool                       `yaml:"private" doc:"The address may be on this machine or in a private network."`
	MCP     string                     `yaml:"mcp" doc:"Tool of an MCP server to call: <server>/<tool>, by the server's own name of the tool."`
	Args    string                     `yaml:"args" doc:"The tool's arguments, as a JSON object."`
	File    string                     `yaml:"file" doc:"Absolute path of a file. Its value has exists, size and hash."`
	Gateway string                     `yaml:"gateway" doc:"Count of the gateway's own rows: deadLetters, heldDeliveries, queuedDeliveries or waitingApprovals (up to 200)."`
	Value   string                     `yaml:"value" doc:"What is compared: a CEL expression over body (parsed if it is JSON), status and headers (names in lower case). Default: body; then an answer other than 2xx is a failure."`
	When    string                     `yaml:"when" doc:"Only changes for which this holds are news: a CEL expression over value and before (null at first). With it, the first value is news too."`
	Every   scalar.Duration            `yaml:"every" doc:"Minimum time between two readings, at least 1s. Default: 1m."`

	Classification flow.Level `yaml:"classification,omitempty" doc:"Level of what the check finds. Default: INTERNAL; for mcp at least the server's."`
}

// Compiled is a compiled check.
type Compiled = check.Check

// serverOf is the MCP server in the name of a tool; false if the name has none.
func serverOf(tool string) (string, bool) {
	server, _, is := strings.Cut(tool, "/")
	return server, is
}

var name = pattern.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// Reader compiles the checks.
type Reader struct {
	Checks Checks
	Server func(name string) (flow.Level, bool) // the level of an MCP server
	Report Report                               // nil: faults are not reported
}

// Report gets each fault with the key where it is; inside is where in the key's expression, or nil.
type Report func(path, text string, inside *expr.Fault)

// Expression is the expression of a key; empty for other keys.
func (c Checks) Expression(path string) string {
	called, field, _ := strings.Cut(strings.TrimPrefix(path, "checks."), ".")
	return map[string]string{"value": c[called].Value, "when": c[called].When}[field]
}

// Compile compiles all checks, in the order of their names. Faulty ones are reported and left out.
func (r Reader) Compile() []*check.Check {
	if r.Report == nil {
		r.Report = func(string, string, *expr.Fault) {}
	}
	var all []*check.Check
	for _, called := range slices.Sorted(maps.Keys(r.Checks)) {
		path := "checks." + called
		c := r.Checks[called]
		if !name.MatchString(called) {
			r.Report(path, fmt.Sprintf("%q: want a name of a-z 0-9 _ -", called), nil)
		}
		if field, text := c.fault(); text != "" {
			r.Report(path+field, text, nil)
			continue
		}
		level, ok := r.level(&c)
		if !ok {
			server, _ := serverOf(c.MCP)
			r.Report(path+".mcp", fmt.Sprintf("no MCP server %q: add it to mcp.servers, or correct the name", server), nil)
			continue
		}
		compiled, err := check.New(c.definition(called, level))
		if err != nil {
			r.report(path, err)
			continue
		}
		all = append(all, compiled)
	}
	return all
}

// report locates the error of a definition.
func (r Reader) report(path string, err error) {
	if at, ok := errors.AsType[*check.FieldError](err); ok {
		if at.Field != "" {
			path += "." + at.Field
		}
		err = at.Err
	}
	inside, _ := errors.AsType[*expr.Fault](err)
	r.Report(path, err.Error(), inside)
}

// fault is what the definition itself does not check: the key with a dot, and what is wrong.
func (c *Check) fault() (field, text string) {
	if c.HTTP != "" {
		u, err := url.Parse(c.HTTP.Reveal())
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return ".http", "want an http or https address"
		}
		if u.User != nil {
			return ".http", "contains a user name or password: put it into headers.Authorization"
		}
	}
	if c.File != "" && !filepath.IsAbs(c.File) {
		return ".file", fmt.Sprintf("%q: want an absolute path", c.File)
	}
	if c.Every != 0 && c.Every.Std() < time.Second {
		return ".every", fmt.Sprintf("%s: want at least 1s", c.Every)
	}
	return "", ""
}

// level is the level of what a check finds; false if its MCP server is not configured.
func (r Reader) level(c *Check) (flow.Level, bool) {
	level := c.Classification
	if !level.Valid() {
		level = flow.Internal
	}
	server, is := serverOf(c.MCP)
	if !is {
		return level, true
	}
	least, ok := r.Server(server)
	if ok && flow.CanFlow(level, least) {
		level = least
	}
	return level, ok
}

func (c *Check) definition(called string, level flow.Level) check.Definition {
	trust := flow.Untrusted
	if c.Gateway != "" {
		trust = flow.Trusted // a number that the gateway has counted
	}
	headers := make(map[string]string, len(c.Headers))
	for key, value := range c.Headers {
		headers[key] = value.Reveal()
	}
	return check.Definition{
		Name: called, HTTP: c.HTTP.Reveal(), Headers: headers, Private: c.Private, MCP: c.MCP, Args: c.Args, File: c.File, Gateway: c.Gateway,
		Value: c.Value, When: c.When, Every: cmp.Or(c.Every.Std(), check.EveryDefault), Label: flow.NewLabel(level, trust),
	}
}
