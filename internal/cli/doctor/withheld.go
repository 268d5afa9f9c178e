package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/adapters"
	"sluice/internal/config"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
)

// speaker is something that says something by itself: a hook, or a job with checks.
type speaker struct {
	part    string
	setting string // of its level
	what    string // what it says
	level   flow.Level
	targets []ledger.TriggerTarget
}

// speakers are the hooks and the jobs with checks.
func speakers(cfg *config.Config) []speaker {
	var all []speaker
	for _, h := range cfg.ReadHooks(func(string, string) {}) {
		one := speaker{"hook/" + h.Name, "hooks." + h.Name + ".classification", "texts", h.Level, targets(h.Deliver)}
		if h.Reports() {
			one.what, one.targets = "alerts", alerted(cfg)
		}
		all = append(all, one)
	}
	levels := map[string]flow.Level{}
	for _, c := range cfg.CompiledChecks(nil) {
		levels[c.Name] = c.Label.Level()
	}
	for _, j := range cfg.Jobs() {
		for _, name := range j.Checks {
			if level := levels[name]; level.Valid() {
				all = append(all, speaker{"job/" + j.ID, "checks." + name + ".classification", "texts", level, targets(j.Deliver)})
			}
		}
	}
	return all
}

func targets(d ledger.TriggerDelivery) []ledger.TriggerTarget { return slices.Concat(d.To, d.Fallback) }

// alerted are the targets of all receivers of alerts.
func alerted(cfg *config.Config) []ledger.TriggerTarget {
	plan := cfg.AlertPlan()
	if plan == nil {
		return nil
	}
	var all []ledger.TriggerTarget
	for _, name := range slices.Sorted(maps.Keys(plan.Targets)) {
		t := plan.Targets[name]
		all = append(all, ledger.TriggerTarget{Name: t.Name, Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread})
	}
	return all
}

// withheld names hooks and checks whose texts or alerts are withheld where they are sent, because the channel may not know them.
func withheld(cfg *config.Config) []finding {
	var found []finding
	for _, s := range speakers(cfg) {
		var low, unlisted []string
		for _, t := range s.targets {
			level, channel, listed := levelOf(cfg, t)
			switch {
			case level.Valid() && !flow.CanFlow(s.level, level):
				low = append(low, fmt.Sprintf("%s is on %s, which may know %s", t.Name, channel, level))
			case level.Valid() && !listed && s.level != flow.Public:
				unlisted = append(unlisted, t.Name)
			}
		}
		if len(unlisted) > 0 {
			found = append(found, note(s.part, fmt.Sprintf("its %s are %s and are withheld at %s until a message has come from there", s.what, s.level, strings.Join(unlisted, ", ")),
				"set classification of the target in targets, or list the place with its channel"))
		}
		if len(low) == 0 {
			continue
		}
		text := fmt.Sprintf("its %s are %s and are withheld: %s", s.what, s.level, strings.Join(low, "; "))
		fix := fmt.Sprintf("set %s to a level that the channel may know, or raise the channel's classification", s.setting)
		if len(low) < len(s.targets) {
			found = append(found, note(s.part, text, fix))
		} else {
			found = append(found, problem(s.part, text, fix))
		}
	}
	return found
}

// levelOf is the level of a target's channel and conversation, as far as the configuration says it. It is invalid for a channel that
// is unknown here. The gate takes a place that is not listed for PUBLIC until a message comes from there.
func levelOf(cfg *config.Config, t ledger.TriggerTarget) (level flow.Level, channel string, listed bool) {
	channel, to := t.Channel, t.To
	if channel == "" {
		first, id, _ := place.FirstOwner(cfg.Owners)
		channel, to = first, string(id)
	}
	listed = slices.Contains(cfg.Owners, channel+":"+to) || to == outbound.ToOwner
	if channel == adapters.Page {
		return cfg.Channels.Webchat.Classification, channel, listed
	}
	for _, p := range cfg.Channels.Platforms() {
		if p.Name != channel {
			continue
		}
		level = p.Access.Classification
		for _, own := range []flow.Level{p.Access.Groups[to].Classification, p.Access.Recipients[to].Level(), cfg.Targets[t.Name].Classification} {
			if own.Valid() {
				level, listed = flow.Min(level, own), true
			}
		}
	}
	return level, channel, listed
}
