package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"sluice/policy/flow"
	"sluice/sessions"
)

// said is the label of a caller's own words: what they say it is, which is never above what they may see. By
// default it is that of the page for what is typed there, else PUBLIC. Only the owner's own words are trusted.
func said(ctx context.Context, text string) (flow.Label, error) {
	who := callerOf(ctx)
	l, err := labelOf(text)
	switch {
	case err != nil:
		return l, err
	case text == "" && who.Page:
		l = flow.NewLabel(who.Level, flow.Trusted)
	case text == "":
		l = flow.Bottom()
	}
	if !who.sees(l) {
		return l, forbidden(fmt.Sprintf("label: %s is above %s, the most that you may see; say less, or use a token with a higher classification", l.Level(), who.Level))
	}
	return l.Join(who.words()), nil
}

// words is the least label of a caller's words: only the owner's own are trusted.
func (c caller) words() flow.Label {
	if c.Name == "" {
		return flow.Bottom()
	}
	return flow.NewLabel(flow.Public, flow.Untrusted)
}

// saidTo is what [said] gives, if a session may learn it.
func saidTo(ctx context.Context, r sessions.Record, text string) (flow.Label, error) {
	l, err := said(ctx, text)
	if err == nil && !l.FlowsTo(r.Clearance) {
		err = &apiError{http.StatusUnprocessableEntity, "invalid_request", fmt.Sprintf("label: the text is %s, and the session may learn what is %s at most", l.Level(), r.Clearance)}
	}
	return l, err
}

// named makes a caller's name for a request its own: what another has asked by the same name is another
// request. Empty: the request has no name.
func named(ctx context.Context, key string) string {
	who := callerOf(ctx).Name
	switch {
	case key == "":
		return ""
	case who == "":
		return "api/" + key
	}
	return "token:" + who + "/" + key
}
