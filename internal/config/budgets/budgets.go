// Package budgets has the part of the configuration that limits what models may cost.
package budgets

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/internal/glob"
	"sluice/internal/pattern"
	"sluice/internal/spending"
)

// Budget is one limit.
type Budget struct {
	Name             string   `yaml:"name" doc:"Required. A name of your choice, of a-z 0-9 _ -."`
	Scope            string   `yaml:"scope" enum:"gateway,agent,person,session,job,provider" doc:"What has a limit of its own: the whole gateway, or each agent, person, session, job or provider that match names. Required."`
	Match            []string `yaml:"match" doc:"Names or patterns with *: ids of agents, <channel>:<user id>, ids of sessions, ids of jobs (hook:<name> for a hook), names of providers. Default: all of them, each with a limit of its own."`
	Limit            Limit    `yaml:"limit" doc:"Amount in unit, such as 5.00. Required. No call is made that could exceed it."`
	Unit             string   `yaml:"unit" doc:"A currency, as in models.prices, or tokens (in and out). Default: USD."`
	Per              string   `yaml:"per" enum:"day,week,month,total" doc:"Period after which the limit begins again. A week begins on Monday. Required."`
	Timezone         string   `yaml:"timezone" doc:"Where the days begin, such as Europe/Berlin. Default: UTC."`
	WarnAt           Percent  `yaml:"warnAt" doc:"Share of the limit at which the owner is notified once in each period, by an alert if alerts are configured. 0%: never. Default: 80%."`
	AtLimit          string   `yaml:"atLimit" enum:"stop,cheaper,ask" doc:"What happens to a call that does not fit. stop: the run ends with a sentence that says so. cheaper: the next model of the chain is asked if it fits. ask: the run waits, and an owner may raise the limit for the current period; jobs, heartbeats and sub-agents stop. Default: stop."`
	ReserveForPeople Percent  `yaml:"reserveForPeople" doc:"Share of the limit that jobs, heartbeats and sub-agents leave for people, such as 30%. Default: 0%."`
}

// Limit is an amount of money or tokens.
type Limit string

const limitMax = 1_000_000_000

// UnmarshalText reads an amount above 0.
func (l *Limit) UnmarshalText(text []byte) error {
	*l = Limit(text)
	if n, ok := l.billionths(); !ok || n <= 0 {
		return fmt.Errorf("want an amount above 0 and at most %d, with at most six decimals, such as 5.00", limitMax)
	}
	return nil
}

// billionths is the amount in billionths.
func (l Limit) billionths() (int64, bool) {
	const decimals = 6
	whole, part, _ := strings.Cut(string(l), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 || n > limitMax || len(part) > decimals || strings.Trim(part, "0123456789") != "" {
		return 0, false
	}
	rest, err := strconv.ParseInt("0"+part+strings.Repeat("0", 9-len(part)), 10, 64)
	return n*int64(spending.One) + rest, err == nil
}

// Percent is a share such as 80%; empty if it is not given.
type Percent string

// UnmarshalText reads a share from 0% to 100%.
func (p *Percent) UnmarshalText(text []byte) error {
	*p = Percent(text)
	if n, err := strconv.Atoi(strings.TrimSuffix(string(text), "%")); err != nil || n < 0 || n > 100 {
		return fmt.Errorf("want a share from 0%% to 100%%, such as 80%%")
	}
	return nil
}

func (p Percent) or(otherwise int) int {
	n, err := strconv.Atoi(strings.TrimSuffix(string(p), "%"))
	if err != nil {
		return otherwise
	}
	return n
}

var (
	nameShape = pattern.New(`^[a-z0-9][a-z0-9_-]{0,63}$`)
	unitShape = pattern.New(`^([A-Z]{3}|` + spending.Tokens + `)$`)
)

// Check reports the faults of budgets.
func Check(all []Budget, fault func(path, format string, args ...any)) {
	named := map[string]bool{}
	must := func(ok bool, path, format string, args ...any) {
		if !ok {
			fault(path, format, args...)
		}
	}
	must(len(all) <= spending.EntriesMax, "budgets", "has %d budgets: want at most %d", len(all), spending.EntriesMax)
	for i := range all {
		b, path := &all[i], fmt.Sprintf("budgets[%d]", i)
		must(b.Name != "", path+".name", "is missing")
		must(b.Name == "" || nameShape.MatchString(b.Name), path+".name", "%q: want a-z 0-9 _ -", b.Name)
		must(b.Name == "" || !named[b.Name], path+".name", "%q is used twice: give each budget its own name", b.Name)
		named[b.Name] = true
		must(b.Scope != "", path+".scope", "is missing: want gateway, agent, person, session, job or provider")
		must(b.Per != "", path+".per", "is missing: want day, week, month or total")
		must(b.Limit != "", path+".limit", "is missing: want an amount such as 5.00")
		must(b.Unit == "" || unitShape.MatchString(b.Unit), path+".unit", "%q: want a currency such as USD or EUR, or tokens", b.Unit)
		must(b.Scope != string(spending.ScopeGateway) || len(b.Match) == 0, path+".match", "has no effect: the scope gateway has one limit for everything")
		for n, m := range b.Match {
			must(glob.ValidName(m), fmt.Sprintf("%s.match[%d]", path, n), "%q: want a name, or a pattern with *", m)
		}
		_, err := time.LoadLocation(b.Timezone)
		must(err == nil, path+".timezone", "%q is not known: want a name such as Europe/Berlin", b.Timezone)
	}
}

// Compile returns checked budgets as they are kept.
func Compile(all []Budget) []*spending.Budget {
	var compiled []*spending.Budget
	for i := range all {
		b := &all[i]
		c := &spending.Budget{
			Name: b.Name, Scope: spending.Scope(b.Scope), Match: b.Match, Unit: b.Unit, Per: spending.Per(b.Per), AtLimit: spending.Rule(b.AtLimit), WarnAt: b.WarnAt.or(80),
		}
		if c.Unit == "" {
			c.Unit = spending.DefaultCurrency
		}
		if c.AtLimit == "" {
			c.AtLimit = spending.RuleStop
		}
		c.Limit, _ = b.Limit.billionths() // it was checked
		if c.Unit == spending.Tokens {
			c.Limit /= int64(spending.One)
		}
		c.Reserve = int64(float64(c.Limit) * float64(b.ReserveForPeople.or(0)) / 100)
		c.Zone, _ = time.LoadLocation(b.Timezone) // it was checked
		compiled = append(compiled, c)
	}
	return compiled
}
