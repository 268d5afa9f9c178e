package agents

import (
	"fmt"
	"net/url"

	"github.com/nats-io/nkeys"

	"sluice/adapters"
	"sluice/internal/config/scalar"
	"sluice/policy/flow"
)

// The kinds of agents.
const (
	KindLoop    = "loop"
	KindNATS    = "nats"
	KindCommand = "command"
	KindA2A     = "a2a"
)

// Program says how a program works the runs of an agent.
type Program struct {
	Classification flow.Level      `yaml:"classification,omitempty" doc:"Only for a program: the highest level of a conversation that it may get. Default: PUBLIC."`
	Trust          string          `yaml:"trust,omitempty" enum:"trusted,untrusted" doc:"Only for a program: untrusted if its answers count as text of strangers. Default: untrusted for kind a2a, else trusted."`
	Timeout        scalar.Duration `yaml:"timeout,omitempty" doc:"Only for a program: maximum duration of a run, if it is shorter than session.runTimeout."`
	Nkey           string          `yaml:"nkey,omitempty" doc:"For kind nats with bus.listen: the public nkey of the program, U…. Make one with sluice agents key."`
	Command        []string        `yaml:"command,omitempty" doc:"For kind command: the program and its arguments."`
	URL            string          `yaml:"url,omitempty" doc:"For kind a2a: address of the remote agent: its host, whose agent card is at /.well-known/agent-card.json, or the card itself."`
	Auth           adapters.Secret `yaml:"auth,omitempty" doc:"For kind a2a: value of the header Authorization, for example Bearer …"`
}

func (p *Program) isZero() bool {
	return p.Classification == flow.Level{} && p.Trust == "" && p.Timeout == 0 && p.Nkey == "" && p.Command == nil && p.URL == "" && p.Auth.Reveal() == ""
}

// Bus is how programs reach the bus.
type Bus struct{ Cluster, Listens bool }

// CheckPrograms reports the faults of the agents that are programs, each with its key.
func (a *Agents) CheckPrograms(bus Bus, fault func(path, format string, args ...any)) {
	model := a.Defaults.Model
	keys := map[string]string{}
	for i, a := range a.List {
		path := fmt.Sprintf("agents.list[%d]", i)
		must := func(ok bool, key, format string, args ...any) {
			if !ok {
				fault(path+"."+key, format, args...)
			}
		}
		p := a.Program
		if a.Kind == KindLoop {
			must(p.isZero(), "kind", "is loop, but classification, trust, timeout, nkey, command, url or auth is set: these are for programs and remote agents")
			continue
		}
		must(a.Model == model, "model", "is set, but it is only for kind loop: remove it")
		must(p.Timeout >= 0, "timeout", "is negative")
		must((a.Kind == KindCommand) == (len(p.Command) > 0), "command", "want a program and its arguments for kind command, and nothing for other kinds")
		must((a.Kind == KindA2A) == (p.URL != ""), "url", "want the address of the remote agent for kind a2a, and nothing for other kinds")
		must(p.URL == "" || validURL(p.URL), "url", "%q: want http://… or https://… with a host, without user and query", p.URL)
		must(a.Kind == KindA2A || p.Auth.Reveal() == "", "auth", "is only for kind a2a")
		switch {
		case a.Kind != KindNATS:
			must(p.Nkey == "", "nkey", "is only for kind nats")
		case bus.Cluster:
			must(p.Nkey == "", "nkey", "is only for the embedded bus: with bus.url, the NATS cluster decides who may connect")
		default:
			must(bus.Listens, "kind", "is nats, but no program can connect to the bus: set bus.listen, for example 127.0.0.1:4222")
			must(nkeys.IsValidPublicUserKey(p.Nkey), "nkey", "%q: want the public nkey of the program, U…; make one with sluice agents key", p.Nkey)
			must(keys[p.Nkey] == "", "nkey", "is also that of agent %s: give each agent its own", keys[p.Nkey])
			keys[p.Nkey] = a.ID
		}
	}
}

func validURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == ""
}
