package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sluice/internal/httpapi/wire"
	"sluice/internal/schema"
	"sluice/sessions"
)

// Bounds of the functions of one request.
const (
	functionsMax   = 128
	functionsBytes = 256 << 10 // descriptions and parameters together
)

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// function is a function of the client.
type function struct {
	Name        string          `json:"name" doc:"letters, digits, _ and -; at most 64"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty" doc:"a JSON Schema of an object"`
}

// functionsOf are the functions in a list of tools. In chat completions they are below the key function.
func functionsOf(tools json.RawMessage, nested bool) (all []sessions.Function, err error) {
	if absent(tools) {
		return nil, nil
	}
	var list []struct {
		function
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	if json.Unmarshal(tools, &list) != nil {
		return nil, refuse("tools", codeInvalid, "want a list of functions")
	}
	if len(list) > functionsMax {
		return nil, refuse("tools", codeInvalid, "there are %d, and the limit is %d", len(list), functionsMax)
	}
	size := 0
	for i, tool := range list {
		at := fmt.Sprintf("tools[%d]", i)
		f := tool.function
		if nested {
			f, at = tool.Function, at+".function"
		}
		if tool.Type != "function" {
			return nil, refuse(at, codeUnsupported, "the type %.40q is not taken here; offer functions, or give the agent tools in agents.list[].tools or mcp.servers", tool.Type)
		}
		if err := f.check(at); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other sessions.Function) bool { return other.Name == f.Name }) {
			return nil, refuse(at+".name", codeInvalid, "another function has this name")
		}
		if size += len(f.Description) + len(f.Parameters); size > functionsBytes {
			return nil, refuse("tools", codeInvalid, "the descriptions and parameters are longer than %d KiB together", functionsBytes>>10)
		}
		all = append(all, sessions.Function{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
	}
	return all, nil
}

func (f *function) check(at string) error {
	if !functionName.MatchString(f.Name) {
		return refuse(at+".name", codeInvalid, "want 1 to 64 letters, digits, _ and -")
	}
	var given any
	_ = json.Unmarshal(f.Parameters, &given) // it was parsed with the request; without parameters nothing is given
	params, err := schema.AsObject(given)
	if err == nil {
		_, _, err = schema.Parse(params)
	}
	if err != nil {
		return refuse(at+".parameters", codeInvalid, "%v", err)
	}
	f.Parameters = params
	return nil
}

// result is what a function of the client has returned.
type result struct {
	call string // id of the call
	text string
}

// runOfCall is the run that has made a call; false: the id is not one of this gateway.
func runOfCall(call string) (sessions.RunID, bool) {
	digits, _, ok := strings.Cut(strings.TrimPrefix(call, "call_"), "_")
	id, err := sessions.ParseRunID("run_" + digits)
	return id, ok && err == nil && strings.HasPrefix(call, "call_")
}

// calling finds the run whose calls have the results of a turn. All must be of one run.
func (a *API) calling(ctx context.Context, agent Agent, t *turn) (run sessions.Run, err error) {
	for _, r := range t.results {
		of, ok := runOfCall(r.call)
		switch {
		case !ok:
			err = sessions.ErrNotFound
		case run.ID == "":
			var by string
			if run, by, err = a.Face.Run(ctx, of); err == nil && by != agent.ID {
				err = wire.ErrNotFound
			}
		case run.ID != of:
			return run, refuse(t.at, codeInvalid, "the results are of calls in different replies; send those of the last reply")
		}
		if err != nil {
			return run, notFound(err, t.at, "there is no call "+wire.Printable(r.call)+" of this model that your token may see; start a new conversation")
		}
	}
	return run, nil
}

// report makes the results of a turn what the agent is told. A call without a result is named as such.
func (t *turn) report(run sessions.Run) error {
	for _, call := range run.Calls {
		i := slices.IndexFunc(t.results, func(r result) bool { return r.call == call.ID })
		text := "(no result: the program has sent none)"
		if i >= 0 {
			text = cmp.Or(t.results[i].text, "(an empty result)")
		}
		t.quotations = append(t.quotations, sessions.Quotation{Kind: sessions.QuoteResult, From: sessions.Peer{ID: sessions.UserID(call.ID), Name: call.Name}, Text: text})
	}
	for _, r := range t.results {
		if !slices.ContainsFunc(run.Calls, func(c sessions.ClientCall) bool { return c.ID == r.call }) {
			return refuse(t.at, codeInvalid, "%s is not a call of the reply", wire.Printable(r.call))
		}
	}
	return nil
}
