package alert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/internal/visible"
	"sluice/policy/flow"
)

const (
	listedMax = 8   // alerts that one message lists
	titleMax  = 160 // characters of a title in a message
	bodyMax   = 500 // characters of a text in a message
)

// RefPrefix begins each short name.
const RefPrefix = "al-"

// Ref is a short name of an alert that says nothing about its key.
func Ref(key string) string {
	sum := sha256.Sum256([]byte(key))
	return RefPrefix + hex.EncodeToString(sum[:4])
}

// Withheld replaces a message at a place that may not know it.
func Withheld(all []Alert) string {
	names := make([]string, 0, len(all))
	for i := range all[:min(len(all), listedMax)] {
		names = append(names, "`"+Ref(all[i].Key)+"`")
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("alert %s withheld here.", strings.Join(names, ", "))
}

// Label is the label of a text about alerts.
func Label(all []Alert) flow.Label {
	label := flow.Bottom()
	for i := range all {
		label = label.Join(all[i].Label)
	}
	return label
}

// Shown are the alerts that a group's message is about, the worst first.
func Shown(all []Alert, g Group) []Alert {
	var shown []Alert
	for i := range all {
		if _, told := g.Told.Alerts[all[i].Key]; told {
			shown = append(shown, all[i])
		}
	}
	slices.SortStableFunc(shown, func(a, b Alert) int {
		return cmp.Or(over(a)-over(b), slices.Index(Severities(), a.Severity)-slices.Index(Severities(), b.Severity), a.Started.Compare(b.Started), cmp.Compare(a.Key, b.Key))
	})
	return shown
}

func over(a Alert) int {
	if a.Status.Open() {
		return 0
	}
	return 1
}

// Message is a group's message.
func Message(shown []Alert, reason Reason) string {
	var b strings.Builder
	switch reason {
	case Repeat:
		b.WriteString("Still open:\n")
	case Escalation:
		b.WriteString("Nobody has acknowledged this yet:\n")
	}
	for i := range shown[:min(len(shown), listedMax)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		entry(&b, &shown[i], len(shown) == 1)
	}
	if more := len(shown) - listedMax; more > 0 {
		fmt.Fprintf(&b, "\n… and %d more: `/alerts`.", more)
	}
	return strings.TrimSpace(b.String())
}

func entry(b *strings.Builder, a *Alert, full bool) {
	b.WriteString(headline(a))
	if full && a.Text != "" {
		b.WriteString("\n" + short(visible.Text(a.Text), bodyMax))
	}
	for _, l := range a.Links[:min(len(a.Links), 2)] {
		if full {
			fmt.Fprintf(b, "\n%s: %s", cmp.Or(visible.Line(l.Title), "Link"), visible.Line(l.URL))
		}
	}
	if a.By != "" {
		fmt.Fprintf(b, "\n%s by %s at %s", done(a.Status), visible.CodeSpan(a.By), a.At.UTC().Format("15:04 MST"))
	}
}

func state(a *Alert) string {
	if a.Status == Firing {
		return strings.ToUpper(string(a.Severity))
	}
	return strings.ToUpper(string(a.Status))
}

func done(s Status) string {
	if s == Acknowledged {
		return "Acknowledged"
	}
	return "Resolved"
}

// headline is an alert in a line, with its short name, by which people and agents speak of it.
func headline(a *Alert) string {
	return fmt.Sprintf("**%s** %s `%s`", state(a), short(visible.Line(cmp.Or(a.Title, a.Key)), titleMax), Ref(a.Key))
}

// Line is what a digest says about an alert.
func Line(a *Alert) string { return "- " + headline(a) }

// Count is a number of alerts in words.
func Count(n int) string {
	if n == 1 {
		return "1 alert"
	}
	return fmt.Sprintf("%d alerts", n)
}

// short cuts a text to a number of characters.
func short(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// overPrefix begins the idempotency key of a message that says below another one that its alerts are over.
const overPrefix = "alert.over/"

// OverKey is the idempotency key of that message. edit: the delivery that changes the other message.
func OverKey(edit string) string { return overPrefix + edit }

// IsOver returns the edit that belongs to such a key.
func IsOver(key string) (edit string, ok bool) { return strings.CutPrefix(key, overPrefix) }

// Over says in the thread of a message that its alerts are over.
func Over(shown []Alert, at time.Time) string {
	if len(shown) == 1 && shown[0].Status == Expired {
		return "This alert has expired: its sender has stopped reporting it."
	}
	if len(shown) == 1 && shown[0].By != "" {
		return fmt.Sprintf("Resolved by %s.", visible.CodeSpan(shown[0].By))
	}
	return fmt.Sprintf("Resolved at %s.", at.UTC().Format("15:04 MST"))
}
