package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/internal/config/agents"
	"sluice/internal/config/alerts"
	"sluice/internal/config/budgets"
	"sluice/internal/config/hint"
	"sluice/internal/config/tags"
	"sluice/internal/pattern"
	"sluice/policy"
	"sluice/sessions"
)

// checker checks relations between keys.
type checker struct {
	*report
	c *Config
}

func check(r *report, c *Config) {
	k := checker{r, c}
	k.gateway()
	k.tokens()
	k.stores()
	k.owners()
	k.channels()
	k.c.Models.Check(k.fault)
	k.agents()
	k.media()
	k.c.Skills.Settings(func(path, text string) { k.must(false, path, "%s", text) })
	k.c.Agents.CheckPrograms(agents.Bus{Cluster: k.c.Bus.URL.Reveal() != "", Listens: k.c.Bus.Listen != ""}, k.fault)
	k.bindings()
	k.session()
	k.tools()
	k.mcp()
	k.vault()
	k.rules()
	c.CompiledChecks(k.expressionFault)
	fault := func(path, text string) { k.must(false, path, "%s", text) }
	c.Gateway.Proxy.Check("gateway.proxy", fault)
	c.Telemetry.Check(fault)
	automation := c.automation(fault)
	automation.Jobs()
	c.ReadHooks(fault)
	alerts.Plan(c.Alerts, automation)
}

// must records a fault unless ok is true or the path already has one.
func (k checker) must(ok bool, path, format string, args ...any) {
	if !ok && !k.faulty[path] {
		k.add(path, format, args...)
	}
}

func (k checker) gateway() {
	g := k.c.Gateway
	k.must(isAddress(g.Listen), "gateway.listen", "%q: want address:port, for example %s", g.Listen, DefaultListen)
	k.must(g.Token == "" || printable(g.Token.Reveal()), "gateway.token", "has a space or an unprintable character, which a header can't contain")
	k.longEnough("gateway.token", g.Token)
	k.must(g.PublicURL == "" || isURL(g.PublicURL, "http", "https"), "gateway.publicURL", "%q: want an http or https address", g.PublicURL)
	for i, host := range g.AllowedHosts {
		k.must(hostShape.MatchString(host), fmt.Sprintf("gateway.allowedHosts[%d]", i), "%q: want a host name without scheme, path or port", host)
	}
}

// tokens checks that each additional API token is unique.
func (k checker) tokens() {
	named, borne := map[string]bool{}, map[Secret]string{k.c.Gateway.Token: "gateway.token"}
	for i, t := range k.c.Gateway.Tokens {
		path := fmt.Sprintf("gateway.tokens[%d]", i)
		k.must(t.Name != "", path+".name", "is missing")
		k.must(t.Name == "" || accountShape.MatchString(t.Name), path+".name", "%q: want A-Z a-z 0-9 _ -", t.Name)
		k.must(!named[t.Name], path+".name", "%q is used twice: give each token its own name", t.Name)
		named[t.Name] = true
		k.must(t.Token != "", path+".token", "is missing: generate one, for example with `openssl rand -base64 32`")
		k.must(printable(t.Token.Reveal()), path+".token", "has a space or an unprintable character, which a header can't contain")
		k.longEnough(path+".token", t.Token)
		other, twice := borne[t.Token]
		k.must(t.Token == "" || !twice, path+".token", "is the same as %s: use different ones", other)
		borne[t.Token] = path
	}
}

// TokenLengthMin is the minimum length of an API token, in characters, if other machines can try to guess it.
const TokenLengthMin = 16

// longEnough rejects a token that can be guessed if other machines can reach the gateway.
func (k checker) longEnough(path string, token Secret) {
	k.must(token == "" || !Guessable(token) || policy.CheckToken.Skipped() || (k.c.Gateway.local() && (k.c.Bus.Listen == "" || loopback(k.c.Bus.Listen))), path,
		"is too short: want at least %d characters, because gateway.listen, gateway.publicURL, gateway.allowedHosts or bus.listen lets other machines reach the gateway. Generate one, for example with `openssl rand -base64 32`", TokenLengthMin)
}

// Guessable reports whether an API token can be guessed.
func Guessable(token Secret) bool { return utf8.RuneCountInString(token.Reveal()) < TokenLengthMin }

// local reports whether only this machine can reach the gateway: it listens on a loopback address, and no setting
// suggests a proxy.
func (g Gateway) local() bool {
	if g.PublicURL != "" || len(g.AllowedHosts) > 0 {
		return false
	}
	return loopback(g.Listen)
}

// loopback reports whether only this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback())
}

var hostShape = pattern.New(`^[A-Za-z0-9._-]+$|^[0-9A-Fa-f:]+$`)

func (k checker) stores() {
	k.retention()
	budgets.Check(k.c.Budgets, func(path, format string, args ...any) { k.must(false, path, format, args...) })
	store, bus := k.c.Store.URL.Reveal(), k.c.Bus.URL.Reveal()
	k.must(store == "" || isPostgres(store), "store.url", "want postgres://user@host/database, or nothing for the embedded database")
	for address := range strings.SplitSeq(bus, ",") {
		k.must(bus == "" || isURL(strings.TrimSpace(address), "nats", "tls", "ws", "wss"), "bus.url", "want nats://host:port (several with commas), or nothing for the embedded bus")
	}
	if listen := k.c.Bus.Listen; listen != "" {
		k.must(isAddress(listen), "bus.listen", "%q: want address:port, for example 127.0.0.1:4222", listen)
		k.must(bus == "", "bus.listen", "opens the embedded bus, and bus.url names another one: remove one of the two")
	}
	_, tilde := trimHome(k.c.State)
	k.must(k.c.State != "" && !tilde, "state", "has no default, because there is no home folder: set state or $%s", EnvState)
}

func (k checker) owners() {
	for i, owner := range k.c.Owners {
		k.principal(fmt.Sprintf("owners[%d]", i), owner)
	}
}

// principal checks the name of a person: a channel and the person's id there.
func (k checker) principal(path, who string) {
	channel, id, ok := sessions.ParsePrincipal(who)
	k.must(ok && printable(who), path, "%q: want <channel>:<user id>, for example telegram:1001", who)
	if ok && !k.faulty[path] {
		k.channel(path, channel)
		shape := idShapes[channel]
		k.must(shape.isUser(string(id)), path, "%q: want a user id such as %q after %s:", who, shape.userLike, channel)
	}
}

// channel checks a reference to a channel.
func (k checker) channel(path, name string) {
	known := tags.Of(reflect.TypeFor[Channels]()).Names()
	k.must(name == "" || slices.Contains(known, name), path, "no channel %q: %s", name, hint.For(name, known))
}

var (
	accountShape = pattern.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	personShape  = pattern.New(`^[a-z][a-z0-9_-]{0,63}$`)
	agentShape   = pattern.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)
)

// model checks a reference to a model or a chain of them.
func (k checker) model(path, ref string) { k.c.Models.Reference(path, ref, k.fault) }

// fault reports a fault at a path that has none yet.
func (k checker) fault(path, format string, args ...any) { k.must(false, path, format, args...) }

func (k checker) media() {
	k.c.Media.Check(func(ok bool, key, format string, args ...any) { k.must(ok, "media."+key, format, args...) }, func(provider string) bool {
		p, ok := k.c.Models.Providers[provider]
		return ok && p.Kind == "openai"
	})
}

func (k checker) agents() {
	seen, defaults := map[string]bool{}, 0
	if k.c.Agents.Defaults.Model != k.c.Models.Default {
		k.model("agents.defaults.model", k.c.Agents.Defaults.Model)
	}
	summarizer(k, "agents.defaults", k.c.Agents.Defaults.Compaction.Model, "")
	k.effort("agents.defaults", k.c.Agents.Defaults.Effort, k.c.Agents.Defaults.Thinking)
	k.prompt("agents.defaults", k.c.Agents.Defaults.SystemPrompt)
	k.workspace("agents.defaults", k.c.Agents.Defaults.Workspace)
	for i, a := range k.c.Agents.List {
		path := fmt.Sprintf("agents.list[%d]", i)
		k.must(a.ID != "", path+".id", "is missing")
		k.must(agentShape.MatchString(a.ID), path+".id", "%q: want a-z 0-9 _ -", a.ID)
		k.must(!seen[a.ID], path+".id", "%q is used twice: give each agent its own id", a.ID)
		seen[a.ID] = true
		if a.Default {
			defaults++
		}
		k.must(defaults < 2, path+".default", "another agent is already the default: keep one")
		if a.Model != k.c.Agents.Defaults.Model {
			k.model(path+".model", a.Model)
		}
		summarizer(k, path, a.Compaction.Model, k.c.Agents.Defaults.Compaction.Model)
		k.temperature(path, a)
		k.effort(path, a.Effort, a.Thinking)
		k.workspace(path, a.Workspace)
		_, err := a.FileAccess.Sessions()
		k.must(err == nil, path+".fileAccess", "%v", err)
		k.must(a.Memory.Namespace == a.ID || agentShape.MatchString(a.Memory.Namespace), path+".memory.namespace", "%q: want a-z 0-9 _ -", a.Memory.Namespace)
		if a.SystemPrompt != k.c.Agents.Defaults.SystemPrompt {
			k.prompt(path, a.SystemPrompt)
		}
	}
}

// summarizer checks the model of summaries, unless it is the one that was checked already.
func summarizer(k checker, path, ref, checked string) {
	if ref != "" && ref != checked {
		k.model(path+".compaction.model", ref)
	}
}

// effort rejects two values for the one setting that has two names.
func (k checker) effort(path, effort, thinking string) {
	k.must(effort == "" || effort == thinking, path+".effort", "is %s, and thinking is %s: they are the same setting; remove one", effort, thinking)
}

// temperature rejects a temperature that the agent's provider does not accept.
func (k checker) temperature(path string, a Agent) {
	if a.Temperature == k.c.Agents.Defaults.Temperature {
		path = "agents.defaults"
	}
	first, _, _ := strings.Cut(a.Model, ",") // the others of a chain get what they take
	provider, _, _ := strings.Cut(first, "/")
	t := a.Temperature.Value()
	k.must(t == nil || *t <= 1 || k.c.Models.Providers[provider].Kind != "anthropic", path+".temperature",
		"%s is too high for %s: want a number from 0 to 1, because models.providers.%s is of kind anthropic", a.Temperature, first, provider)
}

// prompt checks that a system prompt is a valid template.
func (k checker) prompt(path, text string) {
	_, err := sessions.ParsePrompt(text)
	k.must(err == nil, path+".systemPrompt", "%v", err)
}

func (k checker) workspace(path, folder string) {
	_, tilde := trimHome(folder)
	k.must(filepath.IsAbs(folder) && !tilde, path+".workspace", "%q: there is no home folder, so use an absolute path", folder)
}

// agent checks a reference to an agent.
func (k checker) agent(path, id string) {
	err := k.c.automation(nil).Agent(id)
	k.must(err == nil, path, "%s", err)
}

// identityLinks checks that a person's name does not look like an id, and that no id belongs to two people.
func (k checker) identityLinks() {
	whose := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(k.c.Session.IdentityLinks)) {
		path := join("session.identityLinks", name)
		k.must(personShape.MatchString(name), path, "want a name of a-z 0-9 _ - that begins with a letter")
		for i, id := range k.c.Session.IdentityLinks[name] {
			at := fmt.Sprintf("%s[%d]", path, i)
			channel, _, ok := sessions.ParsePrincipal(id)
			k.must(ok && printable(id), at, "%q: want <channel>:<user id>, for example telegram:1001", id)
			if ok && !k.faulty[at] {
				k.channel(at, channel)
			}
			k.must(whose[id] == "", at, "%s is already %s: keep one", id, whose[id])
			whose[id] = name
		}
	}
}

func (k checker) session() {
	s := k.c.Session
	k.identityLinks()
	k.must(agentShape.MatchString(s.MainKey), "session.mainKey", "%q: want a-z 0-9 _ -", s.MainKey)
	for _, word := range []string{"global", "unknown", "direct", "subagent", "http"} {
		k.must(s.MainKey != word, "session.mainKey", "%q is a reserved word: choose another", word)
	}
	k.resets()
	for i, rule := range s.SendPolicy.Rules {
		path := fmt.Sprintf("session.sendPolicy.rules[%d]", i)
		k.must(rule.Action != "", path+".action", "is missing: want allow or deny")
		k.channel(path+".match.channel", rule.Match.Channel)
		if rule.Match.Agent != "" {
			k.agent(path+".match.agent", rule.Match.Agent)
		}
	}
}

// isPostgres accepts a URL of PostgreSQL, also with a socket's folder:
// postgres://user@/database?host=/run/postgresql.
func isPostgres(s string) bool {
	u, err := url.Parse(s)
	return isURL(s, "postgres", "postgresql") || (err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && u.Query().Get("host") != "")
}

// isAddress reports whether a text is address:port, with a number as the port.
func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	_, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil
}

func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && slices.Contains(schemes, u.Scheme)
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

func trimSlash(s string) string { return strings.TrimSuffix(s, "/") }

// retention checks the retention settings.
func (k checker) retention() {
	k.must(k.c.Retention.Audit == "", "retention.audit", "the audit trail is kept forever, because a chain without its start could not be verified: leave it empty")
	spans := reflect.ValueOf(k.c.Retention)
	for _, f := range tags.Of(spans.Type()).Fields {
		if f.Name == "audit" {
			continue
		}
		_, err := Age(spans.FieldByIndex(f.Index).String())
		k.must(err == nil, "retention."+f.Name, "%v", err)
	}
}

// resets checks when sessions start over.
func (k checker) resets() {
	s := k.c.Session
	k.reset("session.reset", s.Reset)
	types := []string{"direct", "group", "thread"}
	for name, r := range s.ResetByType {
		path := join("session.resetByType", name)
		k.must(slices.Contains(types, name), path, "no type %q: %s", name, hint.For(name, types))
		k.reset(path, r)
	}
	for name, r := range s.ResetByChannel {
		path := join("session.resetByChannel", name)
		k.channel(path, name)
		k.reset(path, r)
	}
}

func (k checker) reset(path string, r Reset) {
	k.must(r.Mode != "idle" || r.IdleMinutes > 0, path+".idleMinutes", "is missing: mode idle needs a number of minutes")
}
