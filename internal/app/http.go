package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sluice/adapters"
	"sluice/adapters/webchat"
	"sluice/internal/console"
	"sluice/internal/httpapi"
	"sluice/policy"
	"sluice/sessions"
)

// bodySpare is what a request's body may have besides its text: JSON's escapes at their worst, and names.
const bodySpare = 64 << 10

func (a *App) newHTTP() error {
	hosts, err := a.hosts()
	if err != nil {
		return err
	}
	credentials, err := a.credentials()
	if err != nil {
		return err
	}
	a.http = httpapi.New(httpapi.Config{
		Router: a.router, Store: a.store, Events: a.bus, Parts: a.parts, Accounts: a.supervisor.States,
		Callback:  a.callback,
		ModelName: a.loop.ModelName, Folder: a.loop.Folder, Quota: a.quota, FileLevel: a.loop.FileLevel,
		CheckModel: a.loop.CheckModel,
		Simulate: func(ctx context.Context, c httpapi.Simulated) (policy.Simulation, error) {
			return a.loop.Simulate(ctx, c.Session, sessions.Caller{Route: c.Session.Route, User: c.Speaker, Owner: c.Owner, Reader: c.Reader}, c.Tool, c.Args)
		},
		Page: console.Handler(a.cfg.Channels.Webchat.Enabled), PageRoute: webchat.Route(), PagePerson: sessions.Peer{ID: webchat.Person, Name: "You"},
		Metrics: promhttp.HandlerFor(a.registry, promhttp.HandlerOpts{}),
		Tokens:  credentials, SinkLevel: a.gate.SinkLevel, Hosts: hosts, MaxBody: int64(a.cfg.Limits.MaxMessageBytes)*6 + bodySpare,
		MaxUpload: int64(a.cfg.Limits.MaxMessageBytes)*6 + 2*int64(a.cfg.Limits.MaxMediaBytes)*4/3 + bodySpare, // files come in base64
		Version:   a.version, Now: a.now, Log: a.log, Registerer: a.registry,
	})
	return nil
}

// hosts are the names under which others may call the gateway.
func (a *App) hosts() ([]string, error) {
	hosts := append([]string(nil), a.cfg.Gateway.AllowedHosts...)
	if host, _, err := net.SplitHostPort(a.cfg.Gateway.Listen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if public := a.cfg.Gateway.PublicURL; public != "" {
		u, err := url.Parse(public)
		if err != nil {
			return nil, fmt.Errorf("read gateway.publicURL: %w", err)
		}
		hosts = append(hosts, u.Hostname())
	}
	return hosts, nil
}

// callback takes what a platform posts for an account.
func (a *App) callback(channel, account string) (http.Handler, bool) {
	found, ok := a.channels.find(channel, account)
	if !ok {
		return nil, false
	}
	c, ok := found.(adapters.Callback)
	in := a.supervisor.Acceptor(channel, account)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.ServeCallback(w, r, in) }), ok && in != nil
}

// errStarting: the server answers already, but nobody works yet.
var errStarting = errors.New("it is starting: its partitions and channels are being taken")

// parts say how the gateway's parts do. An account that another replica runs is all right here.
func (a *App) parts(ctx context.Context) []httpapi.Health {
	parts := []httpapi.Health{part("store", a.store.Ready(ctx)), part("bus", a.bus.Ready())}
	if !a.up.Load() {
		parts = append(parts, part("gateway", errStarting))
	}
	for _, s := range a.supervisor.States() {
		p := httpapi.Health{Kind: "channels", Level: a.gate.SinkLevel(sessions.Route{Channel: s.Channel, Account: s.Account}), Name: s.Channel + "/" + s.Account, OK: s.Status == adapters.Connected || s.Status == adapters.Standby}
		if p.Detail = s.Detail; !p.OK && p.Detail == "" {
			p.Detail = string(s.Status)
		}
		parts = append(parts, p)
	}
	return append(parts, a.mcpParts()...)
}

func part(name string, err error) httpapi.Health {
	if err != nil {
		return httpapi.Health{Name: name, Detail: err.Error()}
	}
	return httpapi.Health{Name: name, OK: true}
}
