//go:build !race

package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seen is what a view shows, and the answers that it got.
type seen struct{ Text, Answers string }

// walks signs in with the token of a role and opens each view. waiting is the number of questions that the token may see.
func (g *gateway) walks(t *testing.T, role, token string, waiting int, now time.Time) map[string]seen {
	t.Helper()
	b := newBrowser(t)
	b.watch()
	b.run(visits + fmt.Sprintf(`Date.now = () => %d;`, now.UnixMilli())) // the time stands still, so that ages do not differ
	b.open(g.url("/overview#token=" + token))
	b.until(`document.querySelector("[data-flow=sent]")`)
	b.until(fmt.Sprintf(`document.querySelector("nav.rail [data-view=inbox] .badge")?.textContent.startsWith("%d ")`, waiting)) // comes a little later
	paths := make([]string, len(views))
	for i, v := range views {
		paths[i] = v.path
	}
	list, err := json.Marshal(paths)
	require.NoError(t, err)
	got := eval[map[string]seen](b, `(async () => {
		document.body.style.display = "none"; // nothing is drawn, which takes much longer than the views
		const seen = {};
		for (const path of `+string(list)+`) {
			answers = [];
			await visit(path);
			seen[path] = { text: document.body.textContent, answers: answers.join("\n") };
		}
		return seen;
	})()`)
	require.Equal(t, role, eval[string](b, `import("/base.js").then(({ acts, owns }) => (owns() ? "owner" : acts() ? "operator" : "viewer"))`))
	numbers := eval[[]int](b, `import("/base.js").then(async ({ json }) => {
		const { traffic } = await json("/v1/overview");
		const [sent, runs] = await Promise.all([traffic.sent.list, traffic.runs.list].map((l) => json(l)));
		return [traffic.sent.count, sent.deliveries.length, traffic.runs.count, runs.runs.length];
	})`)
	require.Equal(t, numbers[1], numbers[0], "sent")
	require.Equal(t, numbers[3], numbers[2], "runs")
	b.sound()
	b.close()
	return got
}

// Three roles and four levels, view by view: what is hidden is in no view and in no answer that a view asks for, and it changes
// no number: each view is the same before and after there is something to hide.
func TestCheck38WhatIsHiddenIsAbsent(t *testing.T) {
	t.Parallel()
	g := start(t, `
models: { default: offline/guide }
channels: { webchat: { classification: RESTRICTED } }
alerts: { route: { receiver: ops, group_wait: 0s }, receivers: [ { name: ops, targets: ["webchat:local"] } ] }
policy: { rules: [ { name: look, hook: PRE_OUTPUT, when: 'text.contains("held")', action: require_approval, approvers: ["telegram:1"] } ] }
`)
	now := time.Now().Add(time.Minute)
	levels, roles := []string{"PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED"}, []string{"viewer", "operator", "owner"}
	tokens := map[string]string{}
	for i, level := range levels {
		for _, role := range roles[i/3*2:] { // nothing is hidden from the highest level
			tokens[role+" "+level] = g.tokenOf(role, level)
		}
	}
	say := func(path, body string) (id string) {
		t.Helper()
		resp := g.call(http.MethodPost, path, body)
		var made struct{ ID string }
		require.Less(t, resp.StatusCode, 300, path)
		read(t, resp, resp.StatusCode, &made)
		return made.ID
	}
	say("/v1/sessions/main/messages", `{"message":"/help"}`)
	before := map[string]map[string]seen{}
	for i, level := range levels {
		words := "words-" + level
		say("/v1/messages", `{"channel":"webchat","to":"local","text":"`+words+`","label":"`+level+`"}`)
		say("/v1/messages", `{"channel":"webchat","to":"local","text":"held `+words+`","label":"`+level+`"}`)
		say("/v1/alerts", `{"key":"`+words+`","severity":"critical","title":"`+words+`","text":"`+words+`","label":"`+level+`"}`)
		id := say("/v1/sessions", `{"persistent":true,"title":"`+words+`"}`)
		say("/v1/sessions/"+id+"/messages", `{"message":"remember that `+words+`","label":"`+level+`"}`)
		g.waiting(i + 1)
		g.notified("words-"+levels[0], 1) // the others are in its group, which speaks again in five minutes
		g.delivered()
		if i < len(roles) { // the numbers of each level, with another role each: roles hide no rows
			who := roles[i] + " " + level
			before[who] = g.walks(t, roles[i], tokens[who], i+1, now)
		}
	}
	for who, token := range tokens {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			role, level, _ := strings.Cut(who, " ")
			known := slices.Index(levels, level) + 1
			got := g.walks(t, role, token, known, now)
			for _, v := range views {
				for _, other := range levels[known:] {
					require.NotContains(t, got[v.path].Text+got[v.path].Answers, "words-"+other, v.path)
				}
				if then := before[who]; then != nil && v.path != "access" { // Access says when each token was used last
					require.Equal(t, then[v.path].Text, got[v.path].Text, v.path)
				}
			}
			for _, list := range []string{"inbox", "conversations", "deliveries", "runs", "alerts", "memory"} {
				for _, other := range levels[:known] {
					require.Contains(t, got[list].Text, "words-"+other, list)
				}
			}
		})
	}
}
