package cli_test

import "testing"

// The history says of each target whether the text has arrived, waits, or why it did not arrive.
func TestJobHistory(t *testing.T) {
	t.Parallel()
	check(t, map[string]command{
		"cron history brief": {
			asks: "GET /v1/cron/brief/history?limit=50",
			answer: `{"instants":[
				{"instant":"2026-04-26T17:00:00Z","status":"delivering","run":"run_2","input_tokens":7,"output_tokens":2,"deliveries":[{"target":"owner","delivery":"dlv_2","state":"waiting"}]},
				{"instant":"2026-04-26T16:00:00Z","status":"ok","deliveries":[{"target":"ops","delivery":"dlv_0","state":"replaced","error":"no receipt within 10m0s"},{"target":"owner","delivery":"dlv_1","state":"sent"}]}]}`,
			out: "TIME                  STATUS      BY  RUN    TOKENS       DELIVERIES                                                      WHY\n" +
				"2026-04-26T17:00:00Z  delivering  -   run_2  7 in, 2 out  owner waiting dlv_2                                             -\n" +
				"2026-04-26T16:00:00Z  ok          -   -      -            ops replaced (no receipt within 10m0s) dlv_0, owner sent dlv_1  -\n",
		},
	})
}
