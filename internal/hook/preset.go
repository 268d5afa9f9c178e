package hook

import (
	"maps"
	"slices"

	"sluice/internal/hook/signature"
)

// preset is what a kind of sender needs.
type preset struct {
	scheme   signature.Scheme
	idHeader string // with the request's id, in lower case; empty: see idField
	idField  string // of the payload, with the request's id; empty: the body's hash is the id
	filter   string
	session  string
	prompt   string
	webhook  bool // the payload has a list of alerts, as Alertmanager's
	alert    alertPreset
}

// alertPreset is what a kind of sender needs if its requests become alerts.
type alertPreset struct {
	AlertSpec
	filter string
}

// plainAlert reads alerts as programs without a form of their own send them.
var plainAlert = alertPreset{AlertSpec: AlertSpec{
	Key: "{{.payload.key}}", Severity: "{{.payload.severity}}", Title: "{{.payload.title}}", Text: "{{.payload.text}}", Status: "{{.payload.status}}",
	Links: []LinkSpec{{Title: "Source", URL: "{{.payload.url}}"}},
}}

// sentryAlert reads issues, and alerts of Sentry's rules.
var sentryAlert = alertPreset{
	AlertSpec: AlertSpec{
		Key:      `{{with .payload.data.metric_alert.id}}metric-{{.}}{{else}}{{default .payload.data.event.issue_id .payload.data.issue.id}}{{end}}`,
		Severity: `{{if .payload.data.metric_alert}}{{.payload.action}}{{else}}{{default .payload.data.event.level .payload.data.issue.level}}{{end}}`,
		Title:    `{{default (default .payload.data.event.title .payload.data.issue.title) .payload.data.metric_alert.title}}`,
		Text:     `{{default (default .payload.data.event.culprit .payload.data.issue.culprit) .payload.data.description_text}}`,
		Status:   `{{if eq .payload.action "resolved"}}resolved{{else if eq .payload.action "archived"}}resolved{{end}}`,
		Links:    []LinkSpec{{Title: "Sentry", URL: `{{default (default .payload.data.event.web_url .payload.data.issue.web_url) .payload.data.web_url}}`}},
	},
	filter: `headers["sentry-hook-resource"] in ["issue", "event_alert", "metric_alert"] && !(payload.action in ["assigned", "ignored"])`,
}

// Presets lists the names of the presets.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

const alertPrompt = `
{{- range .payload.alerts}}
- {{.status}}: {{default .labels.alertname .annotations.summary}}{{with .labels.severity}}, severity {{.}}{{end}}{{with .labels.instance}}, on {{.}}{{end}}, since {{.startsAt}}{{with .annotations.description}}: {{.}}{{end}}
{{- end}}
Find out what is wrong as far as your tools allow, and say what to do.`

// presets are the kinds of senders that need only a secret.
var presets = map[string]preset{
	"generic": {
		scheme: signature.Bearer, idHeader: "idempotency-key", alert: plainAlert,
		prompt: "A request came in. Say in short what it is about and whether somebody has to act.\n{{json .payload}}",
	},
	"standard": {
		scheme: signature.Standard, idHeader: "webhook-id",
		prompt: "An event of the type {{default \"unknown\" .payload.type}} came in. Say in short what it is about and whether somebody has to act.\n{{json (default .payload .payload.data)}}",
	},
	"github": {
		scheme: signature.GitHub, idHeader: "x-github-delivery", filter: `!("x-github-event" in headers) || headers["x-github-event"] != "ping"`,
		session: `hook:{{.hook}}:{{.payload.repository.full_name}}{{with .payload.pull_request.number}}:{{.}}{{end}}{{with .payload.issue.number}}:{{.}}{{end}}`,
		prompt: `GitHub event {{index .headers "x-github-event"}}{{with .payload.action}} ({{.}}){{end}} in {{default "a place without repository" .payload.repository.full_name}}{{with .payload.sender.login}}, by {{.}}{{end}}.
{{- with .payload.workflow_run}}
Workflow {{.name}}: {{default .status .conclusion}}, branch {{.head_branch}}, commit {{truncate 12 .head_sha}}. {{.html_url}}
{{- end}}
{{- with .payload.pull_request}}
Pull request {{.number}} by {{.user.login}}: {{.title}} {{.html_url}}
{{- end}}
{{- with .payload.issue}}
Issue {{.number}} by {{.user.login}}: {{.title}} {{.html_url}}
{{- end}}
{{- with .payload.comment}}
Comment by {{.user.login}}: {{.body}}
{{- end}}
{{- with .payload.head_commit}}
Pushed to {{$.payload.ref}} by {{.author.name}}: {{.message}} {{.url}}
{{- end}}
Say in short what happened and whether somebody has to act.`,
	},
	"gitlab": {
		scheme: signature.GitLab, idHeader: "idempotency-key",
		session: `hook:{{.hook}}:{{.payload.project.path_with_namespace}}{{with .payload.object_attributes.iid}}:{{.}}{{end}}`,
		prompt: `GitLab event {{default (index .headers "x-gitlab-event") .payload.object_kind}} in {{default "a place without project" .payload.project.path_with_namespace}}{{with .payload.user.username}}, by {{.}}{{end}}.
{{- with .payload.object_attributes}}
{{with .action}}{{.}} {{end}}{{with .iid}}!{{.}} {{end}}{{default .ref .title}}{{with .status}}, status {{.}}{{end}}. {{.url}}
{{- with .note}}
Comment: {{.}}
{{- end}}
{{- end}}
{{- range .payload.commits}}
Commit {{truncate 12 .id}} by {{.author.name}}: {{.title}}
{{- end}}
Say in short what happened and whether somebody has to act.`,
	},
	"alertmanager": {
		scheme: signature.Bearer, session: `hook:{{.hook}}:{{.payload.groupKey}}`, webhook: true,
		prompt: `Alertmanager reports {{.payload.status}} for {{default "a group" .payload.receiver}}. {{.payload.externalURL}}` + alertPrompt,
	},
	"grafana": {
		scheme: signature.Grafana, session: `hook:{{.hook}}:{{.payload.groupKey}}`, webhook: true,
		prompt: `Grafana reports {{.payload.status}}: {{.payload.title}}. {{.payload.externalURL}}` + alertPrompt,
	},
	"sentry": {
		scheme: signature.Sentry, alert: sentryAlert, session: `hook:{{.hook}}:{{default (default .payload.data.event.issue_id .payload.data.issue.id) .payload.data.metric_alert.id}}`,
		prompt: `Sentry reports {{default "an event" (index .headers "sentry-hook-resource")}} ({{.payload.action}}).
{{- with .payload.data.issue}}
Issue {{.shortId}} in {{.project.slug}}, level {{.level}}: {{.title}}{{with .culprit}} in {{.}}{{end}}. {{.web_url}}
{{- end}}
{{- with .payload.data.event}}
Event in {{.project}}, level {{.level}}: {{.title}}{{with .culprit}} in {{.}}{{end}}. {{.web_url}}
{{- end}}
{{- with .payload.data.metric_alert}}
Metric alert: {{.title}}
{{- end}}
Say in short what is wrong, what may have caused it and what to do.`,
	},
	"stripe": {
		scheme: signature.Stripe, idField: "id",
		prompt: `Stripe event {{.payload.type}}{{if not .payload.livemode}} (test mode){{end}}.
{{- with .payload.data.object}}
{{.object}} {{.id}}{{with .amount}}: {{.}} {{$.payload.data.object.currency}} in the currency's smallest unit{{end}}{{with .status}}, status {{.}}{{end}}{{with .customer}}, customer {{.}}{{end}}{{with .failure_message}}: {{.}}{{end}}
{{- end}}
Say in short what happened and whether somebody has to act.`,
	},
}
