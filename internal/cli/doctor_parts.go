package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
)

// health is what a gateway says of one of its parts.
type health struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// ready makes findings of what /readyz says.
func ready(status int, body []byte) []finding {
	var got struct {
		Parts []health `json:"parts"`
	}
	if err := json.Unmarshal(body, &got); err != nil || (len(got.Parts) == 0 && status != http.StatusOK) {
		return []finding{wrong("ready", fmt.Sprintf("the gateway is not ready (%d)", status), "sluice status")}
	}
	if len(got.Parts) == 0 {
		return []finding{sound("ready", "all parts")}
	}
	findings := make([]finding, len(got.Parts))
	for i, p := range got.Parts {
		detail := clean(p.Detail)
		if p.OK {
			findings[i] = sound(clean(p.Name), orText(detail, "works"))
		} else {
			findings[i] = wrong(clean(p.Name), orText(detail, "does not work"), remedy(p.Name))
		}
	}
	return findings
}

// remedy is the command for a part that the gateway says does not work.
func remedy(part string) string {
	switch {
	case part == "store", part == "bus":
		return "sluice config check (is " + part + ".url right, and the disk not full?); the gateway goes on by itself"
	case strings.HasPrefix(part, "mcp/"):
		return "edit mcp.servers." + strings.TrimPrefix(part, "mcp/") + " if it is not right there; the gateway tries again by itself, and its log says more"
	case strings.Contains(part, "/"):
		return "sluice status (what the platform says of the account)"
	}
	return "sluice status"
}

// mcp looks whether the configured MCP servers could be started or reached, where no gateway says how they do.
func (d *doctor) mcp(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(d.cfg.MCP.Servers)) {
		part, s := "mcp/"+name, d.cfg.MCP.Servers[name]
		if len(s.Command) == 0 {
			d.add(d.reach(ctx, part, s.URL.Reveal(), "443", remedy(part)))
			continue
		}
		program, err := exec.LookPath(s.Command[0])
		if err != nil {
			d.add(wrong(part, "its program is not there: "+err.Error(), "install it, or correct mcp.servers."+name+".command"))
			continue
		}
		d.add(sound(part, program+" (started with the gateway)"))
	}
}

// accounts asks the platforms whether they know each account.
func (d *doctor) accounts(ctx context.Context) {
	on := d.cfg.Channels.Webchat.Enabled
	for _, p := range d.cfg.Channels.Platforms() {
		on = on || len(p.Accounts) > 0
	}
	if !on {
		d.add(wrong("channels", "none is on: nobody can talk to the agents", "sluice init --force"))
	}
	for _, p := range d.Probe(ctx, d.cfg) {
		part := p.Channel + "/" + p.Account
		if p.Account == "" { // no adapter could be made
			d.add(wrong(p.Channel, clean(p.Err.Error()), "mend that in the configuration, then sluice doctor"))
			continue
		}
		if p.Err != nil {
			d.merge(wrong(part, clean(p.Err.Error()), "edit channels."+p.Channel+".accounts."+p.Account+", then sluice doctor"))
			continue
		}
		d.merge(sound(part, orText(clean(p.Name), "known to its platform")))
	}
}

// merge adds a finding of our own to what the gateway says of the same part: what is wrong counts, ours first.
func (d *doctor) merge(f finding) {
	i := slices.IndexFunc(d.findings, func(known finding) bool { return known.part == f.part })
	switch {
	case i < 0:
		d.add(f)
	case f.mend != "" || d.findings[i].mend == "":
		d.findings[i] = f
	}
}
