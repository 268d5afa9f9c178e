package intake

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
)

// Fingerprint is the hash of labels by which Alertmanager and its clients know an alert.
func Fingerprint(labels map[string]string) string {
	set := make(model.LabelSet, len(labels))
	for name, value := range labels {
		set[model.LabelName(name)] = model.LabelValue(value)
	}
	return set.Fingerprint().String()
}

// Usable returns labels without the empty ones, which count as absent, or says what is wrong with them.
func Usable(labels map[string]string) (map[string]string, error) {
	out, size := make(map[string]string, len(labels)), 0
	for name, value := range labels {
		switch {
		case value == "":
			continue
		case name == "" || !utf8.ValidString(name):
			return nil, fmt.Errorf("invalid label set: invalid name %q", name)
		case len(name) > labelNameMax:
			return nil, fmt.Errorf("invalid label set: the name %q is longer than %d bytes", cut(name, 40), labelNameMax)
		case len(value) > labelValueMax:
			return nil, fmt.Errorf("invalid label set: the value of %s has %d bytes, more than %d", name, len(value), labelValueMax)
		}
		out[name] = value
		size += len(name) + len(value)
	}
	switch {
	case len(out) == 0:
		return nil, errors.New("at least one label pair required")
	case len(out) > labelsMax:
		return nil, fmt.Errorf("invalid label set: %d labels, more than %d", len(out), labelsMax)
	case size > labelsBytesMax:
		return nil, fmt.Errorf("invalid label set: the labels have %d bytes, more than %d", size, labelsBytesMax)
	}
	return out, nil
}

// bounded returns annotations within the limits: long ones are cut, and the last names of too many are left out. All
// together they have at most annotationsBytesMax.
func bounded(annotations map[string]string) map[string]string {
	out := make(map[string]string, len(annotations))
	names := make([]string, 0, len(annotations))
	for name := range annotations {
		if name != "" && len(name) <= labelNameMax {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	left := annotationsBytesMax
	for _, name := range names[:min(len(names), annotationsMax)] {
		if left -= len(name); left < annotationMin {
			break
		}
		out[name] = cut(annotations[name], min(textMax, left))
		left -= len(out[name])
	}
	return out
}

// severities are the words that senders use, by what they mean here.
var severities = map[string]Severity{
	"critical": Critical, "page": Critical, "emergency": Critical, "alert": Critical, "fatal": Critical, "disaster": Critical, "p1": Critical, "sev1": Critical,
	"error": Error, "err": Error, "high": Error, "major": Error, "p2": Error, "sev2": Error,
	"warning": Warning, "warn": Warning, "average": Warning, "minor": Warning, "medium": Warning, "p3": Warning, "sev3": Warning,
	"info": Info, "informational": Info, "information": Info, "notice": Info, "low": Info, "none": Info, "debug": Info, "ok": Info, "p4": Info, "p5": Info, "sev4": Info, "sev5": Info,
}

// SeverityOf reads the label severity. A word that is unknown, or absent, means a warning.
func SeverityOf(word string) Severity {
	return cmp.Or(KnownSeverity(word), Warning)
}

// KnownSeverity is what a sender's word means; empty if it is unknown.
func KnownSeverity(word string) Severity {
	return severities[strings.ToLower(strings.TrimSpace(word))]
}

// describe fills in what people read, from the labels and annotations that rules usually have.
func (e *Event) describe() {
	named := func(set map[string]string, names ...string) string {
		for _, name := range names {
			if text := strings.TrimSpace(set[name]); text != "" {
				return text
			}
		}
		return ""
	}
	e.Severity = SeverityOf(named(e.Labels, "severity", "level", "priority"))
	summary := named(e.Annotations, "summary", "title")
	e.Say(cmp.Or(summary, named(e.Labels, "alertname"), "alert "+e.Key), named(e.Annotations, "description", "message"))
	e.Link("Source", e.GeneratorURL)
	e.Link("Runbook", named(e.Annotations, "runbook_url", "runbook"))
	e.Link("Dashboard", named(e.Annotations, "dashboard_url", "dashboard"))
}

// Say sets what people read, cut where it is too long.
func (e *Event) Say(title, text string) {
	e.Title, e.Text = cut(strings.Join(strings.Fields(title), " "), titleMax), cut(strings.TrimSpace(text), textMax)
}

// Link adds a link, if it is a web address and there is room.
func (e *Event) Link(title, address string) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || len(address) > linkMax || len(e.Links) >= linksMax {
		return
	}
	for _, known := range e.Links {
		if known.URL == address {
			return
		}
	}
	e.Links = append(e.Links, Link{Title: cut(title, titleMax), URL: address})
}
