package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHooks(t *testing.T) {
	t.Parallel()
	payload := filepath.Join(t.TempDir(), "body.json")
	require.NoError(t, os.WriteFile(payload, []byte(`{"a":1}`), 0o600))
	const request = `{"id":"d1","hook":"ci","status":"ok","run":"run_1","session":"sess_1","label":"INTERNAL/untrusted","sends":[{"target":"owner","delivery":"dlv_1","state":"sent"}],
		"headers":{"x-a":"b\nc"},"payload":"{\"a\":1}","received":"2026-04-26T17:03:16Z"}`
	check(t, map[string]command{
		"hooks list": {
			asks: "GET /v1/hooks", answer: `{"hooks":[{"name":"ci","path":"/hooks/ci","preset":"gitlab","signature":"github","classification":"INTERNAL","agent":"main","deliver":["ops","owner"]}]}`,
			out: "NAME  PATH       PRESET  SIGNATURE  LEVEL     AGENT  DELIVER\nci    /hooks/ci  gitlab  github     INTERNAL  main   ops,owner\n",
		},
		"hooks list ci --limit 1": {
			asks: "GET /v1/hooks/ci/requests?limit=1", next: "d1",
			answer: `{"requests":[{"id":"d1","status":"filtered","why":"the filter\ndoes not match","received":"2026-04-26T17:03:16Z"}]}`,
			out:    "ID  STATUS    RUN  REPEATS  ALERTS  WHY                        RECEIVED\nd1  filtered  -    -        -       the filter does not match  1h ago\nMore results: repeat the command with --after d1\n",
		},
		"hooks list --json=false": {
			asks: "GET /v1/hooks", answer: `{"hooks":[{"name":"am","path":"/hooks/am","preset":"alertmanager","signature":"bearer","classification":"PUBLIC","agent":"","deliver":[],"alert":true}]}`,
			out: "NAME  PATH       PRESET        SIGNATURE  LEVEL   AGENT  DELIVER\nam    /hooks/am  alertmanager  bearer     PUBLIC  -      (alerts)\n",
		},
		"hooks show am d2": {
			asks: "GET /v1/hooks/am/requests/d2", answer: `{"id":"d2","hook":"am","status":"failed","why":"not all alerts were taken","label":"PUBLIC/untrusted","alerts":["hook/am/a","hook/am/b"],"received":"2026-04-26T17:03:16Z"}`,
			out: "id        d2\nhook      am\nstatus    failed\nwhy       not all alerts were taken\nlabel     PUBLIC/untrusted\nreceived  1h ago\nalert hook/am/a\nalert hook/am/b\n",
		},
		"hooks test am " + payload: {
			asks:   `POST /v1/hooks/am/test {"headers":{},"payload":"{\"a\":1}","type":"application/json"}`,
			answer: `{"passes":true,"session":"","label":"PUBLIC/untrusted","prompt":"","alerts":[{"key":"hook/am/a","action":"fire","severity":"error","title":"Disk","source":"hook/am","labels":{"b":"2","a":"1"},"links":["https://x.example/"]}]}`,
			out:    "passes  yes\nlabel   PUBLIC/untrusted\n\nalert     hook/am/a\naction    fire\nseverity  error\ntitle     Disk\nsource    hook/am\nlabels    a=1 b=2\nlinks     https://x.example/\n",
		},
		"hooks show ci d1": {
			asks: "GET /v1/hooks/ci/requests/d1", answer: request,
			out: "id        d1\nhook      ci\nstatus    ok\nsession   sess_1\nrun       run_1\nlabel     INTERNAL/untrusted\nreceived  1h ago\nto owner sent dlv_1\nx-a: b c\n\n{\"a\":1}\n",
		},
		"hooks replay ci d1": {
			asks: "POST /v1/hooks/ci/requests/d1/replay", answer: `{"id":"replay-1","replay_of":"d1"}`, out: "replay-1: repeats d1\n",
		},
		"hooks test ci " + payload: {
			asks: `POST /v1/hooks/ci/test {"headers":{},"payload":"{\"a\":1}","type":"application/json"}`, answer: `{"passes":true,"session":"hook:ci","label":"INTERNAL/untrusted","prompt":"CI failed"}`,
			out: "passes   yes\nsession  hook:ci\nlabel    INTERNAL/untrusted\n\nCI failed\n",
		},
	})
}
