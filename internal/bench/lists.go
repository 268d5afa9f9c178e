package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/internal/chaos/child"
)

// listed are the lists of the console, with the filters that it offers. SESSION, DELIVERY and RUN stand for ids of the stored past.
var listed = []string{
	"overview",
	"sessions?limit=50", "sessions?limit=50&channel=telegram", "sessions?limit=50&channel=slack", "sessions?limit=50&agent=main", "sessions?limit=50&kind=direct",
	"sessions?limit=50&kind=cron", "sessions?limit=50&level=RESTRICTED", "sessions?limit=50&busy=true", "sessions?limit=50&archived=true", "sessions?limit=50&q=800050000", "sessions?limit=50&q=nowhere",
	"sessions/SESSION/history?limit=50", "sessions/SESSION/runs?limit=50",
	"runs?limit=50", "runs?limit=50&status=done", "runs?limit=50&status=failed", "runs?limit=50&status=running", "runs?limit=50&kind=message", "runs?limit=50&kind=task",
	"runs?limit=50&agent=main", "runs?limit=50&channel=telegram", "runs?limit=50&channel=slack", "runs?limit=50&model=offline%2Fguide", "runs?limit=50&slow=10", "runs?limit=50&q=nowhere",
	"runs?limit=50&since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00Z",
	"deliveries?limit=50", "deliveries?limit=50&status=sent", "deliveries?limit=50&status=failed", "deliveries?limit=50&kind=reply", "deliveries?limit=50&kind=announce",
	"deliveries?limit=50&channel=telegram", "deliveries?limit=50&channel=slack", "deliveries?limit=50&to=800050000", "deliveries?limit=50&rule=nothing", "deliveries?limit=50&account=default", "deliveries?limit=50&q=nowhere",
	"deliveries?limit=50&since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00Z",
	"audit?limit=50", "audit?limit=50&action=delivery.block", "audit?limit=50&actor=operator", "approvals?limit=50", "approvals?limit=50&channel=slack", "approvals?limit=50&status=all", "approvals?limit=50&status=all&channel=slack", "alerts?limit=50&status=all", "exchanges?limit=50", "memory?limit=50",
	"cron?limit=50&last=true", "cron?limit=50&last=true&failed=true", "hooks", "nodes", "pairings", "refused?limit=50", "agents", "providers", "usage?by=day", "usage?by=session", "usage?by=person,model", "budgets", "logs?limit=50", "status", "people", "policy",
	"why/DELIVERY", "why/RUN",
}

const (
	listGoal  = "≤ 200 ms"
	listTries = 5
	deepPages = 40 // before a page far down the list is measured
)

// measureLists measures how long the lists of the console take: for an owner who sees everything, and for an operator of a lower
// level, for whom the rows above it are left out.
func (b *bench) measureLists(ctx context.Context, g *gateway, name string) error {
	if _, err := g.start(ctx); err != nil {
		return err
	}
	ids, err := g.pastIDs(ctx)
	if err != nil {
		return err
	}
	paths := slices.Clone(listed)
	for i := range paths {
		paths[i] = ids.Replace(paths[i])
	}
	for _, what := range []string{"sessions", "runs", "deliveries"} {
		after, err := g.deep(ctx, what)
		if err != nil {
			return err
		}
		paths = append(paths, what+"?limit=50&after="+url.QueryEscape(after))
	}
	below := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return strings.HasPrefix(path, "logs") }) // only for who sees everything
	for _, who := range []struct {
		name, token string
		paths       []string
	}{{"", child.APIToken, paths}, {" for INTERNAL", child.LimitedToken, below}} {
		if err := b.measurePaths(ctx, g, name, who.name, who.token, who.paths); err != nil {
			return err
		}
	}
	if err := b.measurePage(ctx, g, name); err != nil {
		return err
	}
	return g.stop()
}

// measurePaths reports the slowest of some lists.
func (b *bench) measurePaths(ctx context.Context, g *gateway, name, who, token string, paths []string) error {
	type timed struct {
		path string
		ms   float64
	}
	var all []timed
	for _, path := range paths {
		worst := 0.0
		for range listTries {
			began := time.Now()
			if _, err := g.answerTo(ctx, token, path); err != nil {
				return err
			}
			worst = max(worst, inMilliseconds(time.Since(began)))
		}
		all = append(all, timed{path, worst})
	}
	slices.SortFunc(all, func(a, b timed) int { return int(b.ms*1000) - int(a.ms*1000) })
	b.report.add(fmt.Sprintf("%s%d lists%s, each %d times: the slowest answer", name, len(all), who, listTries), listGoal, milliseconds, all[0].ms)
	for _, one := range all[:3] {
		b.report.add(name+"/v1/"+one.path+who, "", milliseconds, one.ms)
	}
	return nil
}

// pastIDs replaces SESSION, DELIVERY and RUN by ids of a copied conversation.
func (g *gateway) pastIDs(ctx context.Context) (*strings.Replacer, error) {
	raw, err := g.answer(ctx, "deliveries?limit=200&status=sent")
	if err != nil {
		return nil, err
	}
	var page struct {
		Deliveries []struct{ ID, Session, Run string }
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	for _, d := range slices.Backward(page.Deliveries) {
		if d.Run != "" {
			return strings.NewReplacer("SESSION", d.Session, "DELIVERY", d.ID, "RUN", d.Run), nil
		}
	}
	return nil, errors.New("the past has no delivery of a run")
}

// deep returns the position of a page far down a list.
func (g *gateway) deep(ctx context.Context, what string) (after string, err error) {
	for range deepPages {
		raw, err := g.answer(ctx, what+"?limit=200&after="+url.QueryEscape(after))
		if err != nil {
			return "", err
		}
		rows := json.RawMessage(raw)
		if what != "sessions" {
			var page map[string]json.RawMessage
			if err := json.Unmarshal(raw, &page); err != nil {
				return "", fmt.Errorf("read %s: %w", what, err)
			}
			rows = page[what]
		}
		var list []struct{ ID string }
		if err := json.Unmarshal(rows, &list); err != nil {
			return "", fmt.Errorf("read %s: %w", what, err)
		}
		if len(list) == 0 {
			break
		}
		after = list[len(list)-1].ID
	}
	return after, nil
}

// answer is the body of a successful answer.
func (g *gateway) answer(ctx context.Context, path string) ([]byte, error) {
	return g.answerTo(ctx, child.APIToken, path)
}

// answerTo is answer for the bearer of a token.
func (g *gateway) answerTo(ctx context.Context, token, path string) ([]byte, error) {
	path, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	if values.Get("after") == "" {
		values.Del("after")
	}
	body, err := g.process.GetAs(ctx, token, "/v1/"+path, values)
	if err != nil {
		return nil, fmt.Errorf("GET /v1/%s?%s: %w", path, query, err)
	}
	return body, nil
}
