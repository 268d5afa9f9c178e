package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/internal/sandbox"
	"sluice/router/ledger"
	"sluice/router/place"
)

const otherPort = "sluice serve --listen 127.0.0.1:8485"

// gateway reports whether a gateway answers. Where none does, it also checks whether one could listen.
func (d *Doctor) gateway(ctx context.Context, cfg *config.Config, found *findings) bool {
	base := d.Locator.Address(cfg)
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	status, _, err := api.Fetch(ctx, d.HTTP, base+"/healthz", "")
	switch {
	case err == nil && status == http.StatusOK:
		found.add(healthy("gateway", "running at "+base))
		return true
	case err == nil:
		found.add(problem("gateway", fmt.Sprintf("another program answers at %s (HTTP status %d)", base, status), otherPort))
		return false
	}
	found.add(note("gateway", "not running at "+base, "sluice serve"), port(ctx, cfg.Gateway.Listen))
	return false
}

// port checks whether a gateway could listen.
func port(ctx context.Context, address string) finding {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		var s *os.SyscallError
		if errors.As(err, &s) {
			err = s.Err
		}
		return problem("port", fmt.Sprintf("cannot listen on %s: %s", address, err), otherPort)
	}
	if err := listener.Close(); err != nil {
		return problem("port", err.Error(), otherPort)
	}
	return healthy("port", address+" is free")
}

// components asks a running gateway for the state of its components.
func (d *Doctor) components(ctx context.Context, cfg *config.Config) []finding {
	ctx, cancel := context.WithTimeout(ctx, 2*probeTimeout)
	defer cancel()
	c, err := d.Locator.Connect()
	if err != nil {
		return []finding{problem("api", err.Error(), "export "+api.EnvToken+"=...")}
	}
	var found []finding
	status, body, err := c.Ready(ctx)
	if err != nil {
		found = append(found, problem("ready", err.Error(), "sluice status"))
	} else {
		found = append(found, ready(status, body)...)
	}
	answer, err := c.Call(ctx, api.Request{Path: "/v1/status"})
	if err != nil {
		return append(found, problem("api", err.Error(), "export "+api.EnvToken+"=$(cat "+api.TokenPath(cfg)+")"))
	}
	found = append(found, healthy("api", "the access token works"))
	if s, err := api.Decode[api.Status](answer); err == nil {
		found = append(found, together(s.Commands)...)
		found = append(found, limited(s.Limited)...)
	}
	return append(found, resting(ctx, c)...)
}

// together says whether the kernel limits all commands of a session together, as the gateway describes it; an older gateway does not.
func together(words string) []finding {
	switch words {
	case "":
		return nil
	case sandbox.Together:
		return []finding{healthy("groups", "the kernel limits memory, processes and processors of a session's commands together (cgroup v2)")}
	}
	return []finding{note("groups", "each command of a session has its own limits: "+words,
		"on Linux with cgroup v2, give the gateway its control group: Delegate=yes in its systemd unit (docs/operations.md), then restart it")}
}

// limited names who was limited lately.
func limited(all []api.Limited) []finding {
	found := make([]finding, len(all))
	for i, l := range all {
		found[i] = note("limits", fmt.Sprintf("%s was limited (%s refused): %s", l.Person, terminal.Plural(l.Count, "message or request", "messages or requests"), l.Reason),
			"raise the limit, unless this is abuse")
	}
	return found
}

// resting names the keys that are not used until a person acts.
func resting(ctx context.Context, c *api.Client) (found []finding) {
	answer, err := c.Call(ctx, api.Request{Path: "/v1/providers"})
	if err != nil {
		return nil // an older gateway
	}
	got, err := api.Decode[api.ProviderList](answer)
	if err != nil {
		return nil
	}
	for _, p := range got.Providers {
		for _, k := range p.Keys {
			if k.Problem != nil {
				found = append(found, problem("model/"+p.Name, k.Name+" is not used: "+k.Problem.Text, "sluice models clear "+p.Name+", when this is fixed"))
			}
		}
	}
	return found
}

// ready makes a finding of each component that /readyz names.
func ready(status int, body []byte) []finding {
	var got struct{ Parts []api.Component }
	if err := json.Unmarshal(body, &got); err != nil || (len(got.Parts) == 0 && status != http.StatusOK) {
		return []finding{problem("ready", fmt.Sprintf("the gateway is not ready (HTTP status %d)", status), "sluice status")}
	}
	if len(got.Parts) == 0 {
		return []finding{healthy("ready", "all components")}
	}
	found := make([]finding, len(got.Parts))
	for i, p := range got.Parts {
		if p.OK {
			found[i] = healthy(p.Name, cmp.Or(p.Detail, "works"))
		} else {
			found[i] = problem(p.Name, cmp.Or(p.Detail, "does not work"), remedy(p.Name))
		}
	}
	return found
}

// remedy is what to do about a component that does not work.
func remedy(part string) string {
	switch {
	case part == "store", part == "bus":
		return "check " + part + ".url and free disk space; the gateway reconnects automatically"
	case part == "disk":
		return "free space on the disk of the state folder, or shorten the times in retention; the gateway then continues automatically"
	case part == "replicas":
		return "docs/operations.md, \"Several replicas\""
	case strings.HasPrefix(part, "mcp/"):
		return "check mcp.servers." + strings.TrimPrefix(part, "mcp/") + " and the gateway's log; the gateway retries automatically"
	case strings.Contains(part, "/"):
		return "sluice status (shows what the platform says about the account)"
	}
	return "sluice status"
}

// accounts asks the platforms whether they know each account.
func (d *Doctor) accounts(ctx context.Context, cfg *config.Config, found *findings) {
	on := cfg.Channels.Webchat.Enabled
	for _, p := range cfg.Channels.Platforms() {
		on = on || len(p.Accounts) > 0
	}
	if !on {
		found.add(problem("channels", "no channel is turned on: nobody can talk to the agents", "sluice init --force"))
	}
	for _, p := range d.Probe(ctx, cfg) {
		part := p.Channel + "/" + p.Account
		switch {
		case p.Account == "":
			found.add(problem(p.Channel, p.Err.Error(), "edit channels."+p.Channel+", then run sluice doctor again"))
		case p.Err != nil:
			found.merge(problem(part, p.Err.Error(), "edit channels."+p.Channel+".accounts."+p.Account+", then run sluice doctor again"))
		default:
			found.merge(healthy(part, cmp.Or(p.Name, "the platform accepts the account")))
		}
	}
}

// sharedChats warns where people who are not owners share the owner's session. Only a running gateway knows who was
// admitted by a pairing code.
func (d *Doctor) sharedChats(ctx context.Context, cfg *config.Config, running bool) []finding {
	text := place.SharedMain(cfg.Session.Keyer())
	if text == "" {
		return nil
	}
	guests := cfg.Guests()
	if running {
		if n := d.paired(ctx, cfg); n > 0 {
			guests = append(guests, terminal.Plural(n, "person was", "people were")+" admitted by a pairing code")
		}
	}
	if len(guests) == 0 {
		return nil
	}
	return []finding{note("direct chats", strings.Join(guests, ", ")+".\n"+text, "change session.dmScope, then run sluice doctor again")}
}

// paired counts the people who were admitted by a code and may still talk. It is 0 where the gateway can't be asked:
// another finding says why.
func (d *Doctor) paired(ctx context.Context, cfg *config.Config) int {
	c, err := d.Locator.Connect()
	if err != nil {
		return 0
	}
	got, err := api.Get[api.PairingList](ctx, c, api.Request{Path: "/v1/pairings"})
	if err != nil {
		return 0
	}
	n := 0
	for _, p := range got.Pairings {
		if p.Status == string(ledger.PairingApproved) && cfg.LetsPair(p.Channel) {
			n++
		}
	}
	return n
}
