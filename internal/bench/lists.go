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
	"deliveries?limit=50&channel=telegram", "deliveries?limit=50&channel=slack", "deliveries?limit=50&to=800050000", "deliveries?limit=50&rule=nothing", "deliveries?limit=50&q=nowhere",
	"deliveries?limit=50&since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00Z",
	"audit?limit=50", "audit?limit=50&action=delivery.block", "audit?limit=50&actor=operator", "approvals?limit=50&status=all", "alerts?limit=50&status=all", "exchanges?limit=50", "memory?limit=50",
	"cron?limit=50", "hooks", "nodes", "pairings", "refused?limit=50", "agents", "providers", "usage?by=day", "usage?by=session", "usage?by=person,model", "budgets", "logs?limit=50", "status",
	"why/DELIVERY", "why/RUN",
}

const (
	listGoal  = "≤ 200 ms"
	listTries = 5
	deepPages = 40 // before a page far down the list is measured
)

// measureLists measures how long the lists of the console take.
func (b *bench) measureLists(ctx context.Context, g *gateway, name string) error {
	if _, err := g.start(ctx); err != nil {
		return err
	}
	ids, err := g.pastIDs(ctx)
	if err != nil {
		return err
	}
	type timed struct {
		path string
		ms   float64
	}
	var all []timed
	measure := func(path string) error {
		worst := 0.0
		for range listTries {
			began := time.Now()
			if _, err := g.answer(ctx, path); err != nil {
				return err
			}
			worst = max(worst, inMilliseconds(time.Since(began)))
		}
		all = append(all, timed{path, worst})
		return nil
	}
	for _, path := range listed {
		if err := measure(ids.Replace(path)); err != nil {
			return err
		}
	}
	for _, what := range []string{"sessions", "runs", "deliveries"} {
		after, err := g.deep(ctx, what)
		if err != nil {
			return err
		}
		if err := measure(what + "?limit=50&after=" + url.QueryEscape(after)); err != nil {
			return err
		}
	}
	slices.SortFunc(all, func(a, b timed) int { return int(b.ms*1000) - int(a.ms*1000) })
	b.report.add(fmt.Sprintf("%s%d lists, each %d times: the slowest answer", name, len(all), listTries), listGoal, milliseconds, all[0].ms)
	for _, one := range all[:3] {
		b.report.add(name+"/v1/"+one.path, "", milliseconds, one.ms)
	}
	if err := b.measurePage(ctx, g, name); err != nil {
		return err
	}
	return g.stop()
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
	path, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	if values.Get("after") == "" {
		values.Del("after")
	}
	body, err := g.process.Get(ctx, "/v1/"+path, values)
	if err != nil {
		return nil, fmt.Errorf("GET /v1/%s?%s: %w", path, query, err)
	}
	return body, nil
}
