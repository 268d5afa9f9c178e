package auth

import (
	"fmt"

	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

// ParseLabel reads a level or a label; an empty text gives the zero label.
func ParseLabel(text string) (flow.Label, error) {
	if text == "" {
		return flow.Label{}, nil
	}
	if level, err := flow.ParseLevel(text); err == nil {
		return flow.NewLabel(level, flow.Trusted), nil
	}
	l, err := flow.Parse(text)
	if err != nil {
		return l, wire.BadRequest(fmt.Sprintf("label: %q is not a level; use PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED", text))
	}
	return l, nil
}

// InputLabel is the label of the caller's own words. The caller names it, at most at their own level; the default is the page's
// level for what is typed there, else PUBLIC.
func (c Caller) InputLabel(label string) (flow.Label, error) {
	l, err := ParseLabel(label)
	switch {
	case err != nil:
		return l, err
	case label == "" && c.Page:
		l = flow.NewLabel(c.Level, flow.Trusted)
	case label == "":
		l = flow.Bottom()
	}
	if !c.Sees(l) {
		return l, wire.Forbidden(fmt.Sprintf("label: %s is above %s, the highest level of your token; use a lower label or a token with a higher classification", l.Level(), c.Level))
	}
	return l.Join(c.LowestInputLabel()), nil
}

// SentLabel is the label of what a program sends with the caller's token, such as an alert. It is untrusted whoever owns the
// token: the program passes on what others have said. It is at least the level of a named token: who gives a program a token says
// with it how secret the program's words are.
func (c Caller) SentLabel(label string) (flow.Label, error) {
	l, err := c.InputLabel(label)
	if err != nil {
		return l, err
	}
	least := flow.NewLabel(flow.Public, flow.Untrusted)
	if !c.Owner() {
		least = flow.NewLabel(c.Level, flow.Untrusted)
	}
	return l.Join(least), nil
}

// SavedLabel is the label of what the caller stores, such as an alert or a memory: that of the owner's words, or that of what a
// program with a named token sends.
func (c Caller) SavedLabel(label string) (flow.Label, error) {
	if c.Owner() {
		return c.InputLabel(label)
	}
	return c.SentLabel(label)
}

// LowestInputLabel is the lowest label of the caller's own words: only the owner's are trusted.
func (c Caller) LowestInputLabel() flow.Label {
	if c.Owner() {
		return flow.Bottom()
	}
	return flow.NewLabel(flow.Public, flow.Untrusted)
}

// InputLabelFor is the label of the caller's own words to a session, if the session may learn it.
func (c Caller) InputLabelFor(r sessions.Record, label string) (flow.Label, error) {
	l, err := c.InputLabel(label)
	if err == nil && !l.FlowsTo(r.Clearance) {
		err = wire.Invalid(fmt.Sprintf("label: the text is %s, but the session may learn at most %s", l.Level(), r.Clearance))
	}
	return l, err
}
