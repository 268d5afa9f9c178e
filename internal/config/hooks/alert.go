package hooks

import (
	"fmt"

	"sluice/internal/hook"
)

// Alert says how requests become alerts.
type Alert struct {
	Key      string            `yaml:"key" doc:"Which alert a request is about, a template: the same key again is the same alert. It begins with hook/<name>/ by itself. Default: the preset's; required for github, gitlab and stripe."`
	Severity string            `yaml:"severity" doc:"critical, error, warning or info, or a template that gives one of them or a usual word such as page or fatal. Default: the preset's, else warning."`
	Title    string            `yaml:"title" doc:"One line, a template. Default: the preset's; required for github, gitlab and stripe."`
	Text     string            `yaml:"text" doc:"What else is to be said, a template. Default: the preset's."`
	Status   string            `yaml:"status" doc:"firing or resolved, or a template that gives one of them. Default: the preset's, else firing."`
	Source   string            `yaml:"source" doc:"Who reports it, a template; hook/<name>/ is put before it. Only the same source resolves an alert. Default: hook/<name>."`
	Labels   map[string]string `yaml:"labels" doc:"Labels by name, templates. They replace labels of the same name that the request has."`
	Links    []Link            `yaml:"links" doc:"Addresses that help to look into it."`

	given bool
}

// Link is an address that helps to look into an alert.
type Link struct {
	Title string `yaml:"title" doc:"What is there, a template."`
	URL   string `yaml:"url" doc:"Required. The address, a template. What is no http or https address is left out."`
}

// Given marks a section that the file has, even an empty one.
func (a *Alert) Given() { a.given = true }

// IsZero leaves a section that the file does not have out of what is shown: an empty one would mean something.
func (a Alert) IsZero() bool { return !a.given }

func (a *Alert) spec() *hook.AlertSpec {
	s := &hook.AlertSpec{Key: a.Key, Severity: a.Severity, Title: a.Title, Text: a.Text, Status: a.Status, Source: a.Source, Labels: a.Labels}
	for _, l := range a.Links {
		s.Links = append(s.Links, hook.LinkSpec{Title: l.Title, URL: l.URL})
	}
	return s
}

// checkAlert reports what does not go with alerts.
func (r Reader) checkAlert(path string, h Hook) {
	if !r.Alerts {
		r.Report(path+".alert", "alerts are not configured: add alerts.route.receiver and alerts.receivers (docs/alerts.md), or write prompt to ask an agent")
	}
	for key, set := range map[string]bool{
		"agent": h.Agent != "", "prompt": h.Prompt != "", "session": h.Session != "", "timeout": h.Timeout != 0,
		"deliver": len(h.Deliver.To)+len(h.Deliver.Fallback) > 0 || h.Deliver.Within != 0 || h.Deliver.When != "",
	} {
		if set {
			r.Report(path+"."+key, fmt.Sprintf("does not go with alert: no agent is asked. Remove %s or alert", key))
		}
	}
}
