package doctor

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"

	"sluice/internal/config"
	"sluice/internal/config/agents"
	"sluice/internal/model/anthropic"
	"sluice/internal/model/chain"
	"sluice/internal/model/openai"
)

// connections checks what a gateway would connect to.
func (d *Doctor) connections(ctx context.Context, cfg *config.Config) []finding {
	var found []finding
	if store := cfg.Store.URL.Reveal(); store == "" {
		found = append(found, healthy("store", "embedded SQLite in the state folder"))
	} else {
		found = append(found, reach(ctx, "store", target{store, "5432"}, "start PostgreSQL there, or correct store.url"))
	}
	if cfg.Bus.URL == "" {
		found = append(found, healthy("bus", "embedded NATS"))
	} else {
		for address := range strings.SplitSeq(cfg.Bus.URL.Reveal(), ",") {
			found = append(found, reach(ctx, "bus", target{strings.TrimSpace(address), "4222"}, "start NATS there, or correct bus.url"))
		}
	}
	if cfg.DefaultAgent().Kind == agents.KindLoop {
		found = append(found, models(ctx, cfg)...)
	}
	return append(found, servers(ctx, cfg)...)
}

// models checks the providers of the default agent's models.
func models(ctx context.Context, cfg *config.Config) (found []finding) {
	for _, ref := range chain.Names(cfg.DefaultAgent().Model) {
		found = append(found, model(ctx, cfg, ref))
	}
	return found
}

// model checks the provider of a model.
func model(ctx context.Context, cfg *config.Config, ref string) finding {
	name, _, _ := strings.Cut(ref, "/")
	provider, ok := cfg.Models.Providers[name]
	if !ok {
		return healthy("model", ref+" (a demo without AI; sluice init sets up a real model)")
	}
	base := cmp.Or(provider.BaseURL, map[string]string{"openai": openai.DefaultBaseURL, "anthropic": anthropic.DefaultBaseURL}[provider.Kind])
	f := reach(ctx, "model", target{base, "443"}, "start the model server, or correct models.providers."+name+".baseURL")
	f.text = ref + " " + f.text
	return f
}

// servers checks whether the MCP servers can be started or reached.
func servers(ctx context.Context, cfg *config.Config) []finding {
	var found []finding
	for _, name := range slices.Sorted(maps.Keys(cfg.MCP.Servers)) {
		part, s := "mcp/"+name, cfg.MCP.Servers[name]
		if len(s.Command) == 0 {
			found = append(found, reach(ctx, part, target{s.URL.Reveal(), "443"}, remedy(part)))
			continue
		}
		program, err := exec.LookPath(s.Command[0])
		if err != nil {
			found = append(found, problem(part, "program not found: "+err.Error(), "install it, or correct mcp.servers."+name+".command"))
			continue
		}
		found = append(found, healthy(part, program+" (starts with the gateway)"))
	}
	return found
}

// target is a URL, and the port where it names none.
type target struct{ address, port string }

// reach checks whether something listens at an address. The finding names only its host: a URL may hold a password.
func reach(ctx context.Context, part string, to target, fix string) finding {
	u, err := url.Parse(to.address)
	if err != nil || u.Host == "" {
		return problem(part, "the address is not a URL", "sluice config check")
	}
	port := to.port
	if p := u.Port(); p != "" {
		port = p
	} else if u.Scheme == "http" {
		port = "80"
	}
	host := net.JoinHostPort(u.Hostname(), port)
	conn, err := (&net.Dialer{Timeout: probeTimeout}).DialContext(ctx, "tcp", host)
	if err != nil {
		return problem(part, "cannot be reached at "+host, fix)
	}
	if err := conn.Close(); err != nil {
		return problem(part, err.Error(), fix)
	}
	return healthy(part, "reachable at "+host)
}
