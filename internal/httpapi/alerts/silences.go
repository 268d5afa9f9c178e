package alerts

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sluice/internal/alert"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
)

// silenceRecord is a silence as programs see it.
type silenceRecord struct {
	ID       string    `json:"id"`
	State    string    `json:"state" enum:"pending,active,expired"`
	Matchers []string  `json:"matchers" doc:"as Alertmanager writes them"`
	Author   string    `json:"author" doc:"as the request named them; the audit trail has who made it"`
	Comment  string    `json:"comment,omitempty"`
	Label    string    `json:"label"`
	Starts   time.Time `json:"starts"`
	Ends     time.Time `json:"ends"`
	Updated  time.Time `json:"updated"`
}

func (a *API) silenceOf(s *alert.Silence) (silenceRecord, error) {
	compiled, err := alert.Compile(s.Matchers)
	if err != nil {
		return silenceRecord{}, err
	}
	out := silenceRecord{ID: s.ID, State: s.State(a.Now()), Matchers: []string{}, Author: s.Author, Comment: s.Comment, Label: s.Label.String(), Starts: s.Starts, Ends: s.Ends, Updated: s.Updated}
	for _, m := range compiled {
		out.Matchers = append(out.Matchers, m.String())
	}
	return out, nil
}

type silenceList struct {
	Silences []silenceRecord `json:"silences"`
}

// ListSilences lists silences, those that end first at the top.
func (a *API) ListSilences(ctx context.Context, in *struct {
	view.PageQuery
	State string `query:"state" enum:"current,all,pending,active,expired" default:"current" doc:"current: not expired"`
},
) (*view.Page[silenceList], error) {
	since := a.Now()
	if in.State == "all" || in.State == "expired" {
		since = time.Time{}
	}
	all, err := a.Alerts.Silences(ctx, since, auth.CallerOf(ctx).Level)
	if err != nil {
		return nil, err
	}
	if in.After != "" {
		all = all[1+slices.IndexFunc(all, func(s alert.Silence) bool { return s.ID == in.After }):]
	}
	all = slices.DeleteFunc(all, func(s alert.Silence) bool {
		return in.State != "current" && in.State != "all" && s.State(a.Now()) != in.State
	})
	out, bound := silenceList{Silences: []silenceRecord{}}, &ledger.Bound{More: len(all) > in.Limit}
	all = all[:min(len(all), in.Limit)]
	for i := range all {
		record, err := a.silenceOf(&all[i])
		if err != nil {
			return nil, err
		}
		out.Silences = append(out.Silences, record)
	}
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(all, func(s alert.Silence) string { return s.ID })), out), nil
}

// posted is a silence as a caller asks for it.
type posted struct {
	Matchers []string   `json:"matchers" minItems:"1" maxItems:"64" doc:"as Alertmanager writes them, for example host=~\"db.*\"; all of them must match"`
	Starts   *time.Time `json:"starts,omitempty" doc:"default: now"`
	Ends     *time.Time `json:"ends,omitempty"`
	For      string     `json:"for,omitempty" doc:"how long from the start, for example 2h, instead of ends"`
	Comment  string     `json:"comment,omitempty" maxLength:"8192"`
	Author   string     `json:"author,omitempty" maxLength:"256" doc:"default: the caller"`
	Label    string     `json:"label,omitempty" doc:"how secret its text is; default PUBLIC; least for a named token: the token's level"`
}

// AddSilence makes a silence.
func (a *API) AddSilence(ctx context.Context, in *struct{ Body posted }) (*wire.Body[silenceRecord], error) {
	who, b := auth.CallerOf(ctx), &in.Body
	label, err := who.SavedLabel(b.Label)
	if err != nil {
		return nil, err
	}
	matchers, err := alert.ParseMatchers(b.Matchers...)
	if err != nil {
		return nil, wire.BadRequest("matchers: " + err.Error())
	}
	s := alert.Silence{Starts: a.Now(), Label: label, SilenceDetail: alert.SilenceDetail{Matchers: matchers.Plain(), Author: cmp.Or(b.Author, who.Actor()), Comment: b.Comment, Reach: who.Level}}
	if b.Starts != nil && b.Starts.After(s.Starts) {
		s.Starts = *b.Starts
	}
	if s.Ends, err = ending(s.Starts, b.Ends, b.For); err != nil {
		return nil, err
	}
	return a.set(ctx, s)
}

// ending is when a silence ends.
func ending(starts time.Time, ends *time.Time, lasts string) (time.Time, error) {
	switch {
	case ends != nil && lasts != "", ends == nil && lasts == "":
		return starts, wire.BadRequest("give either ends or for")
	case ends != nil:
		return *ends, nil
	}
	d, err := time.ParseDuration(lasts)
	if err != nil || d <= 0 {
		return starts, wire.BadRequest("for: want a time such as 90m or 2h")
	}
	return starts.Add(d), nil
}

// set stores a silence and shows it.
func (a *API) set(ctx context.Context, s alert.Silence) (*wire.Body[silenceRecord], error) {
	who := auth.CallerOf(ctx)
	id, err := a.Alerts.SetSilence(ctx, s, who.Actor())
	if err != nil {
		return nil, off(err)
	}
	return a.shown(ctx, id)
}

func (a *API) shown(ctx context.Context, id string) (*wire.Body[silenceRecord], error) {
	s, err := a.Alerts.Silence(ctx, id, auth.CallerOf(ctx).Level)
	if err != nil {
		return nil, err
	}
	out, err := a.silenceOf(&s)
	return wire.NewBody(out), err
}

// SilencePath names a silence.
type SilencePath struct {
	Silence string `path:"silence" maxLength:"64"`
}

// findSilence is a silence that the caller may know of.
func (a *API) findSilence(ctx context.Context, id string) error {
	s, err := a.Alerts.Silence(ctx, id, flow.Restricted)
	return a.Visible.Check(ctx, err, denials.Object{Kind: "silence", ID: id, Label: s.Label})
}

// GetSilence answers with a silence.
func (a *API) GetSilence(ctx context.Context, in *SilencePath) (*wire.Body[silenceRecord], error) {
	if err := a.findSilence(ctx, in.Silence); err != nil {
		return nil, err
	}
	return a.shown(ctx, in.Silence)
}

// ExpireSilence ends a silence now.
func (a *API) ExpireSilence(ctx context.Context, in *SilencePath) (*struct{}, error) {
	if err := a.findSilence(ctx, in.Silence); err != nil {
		return nil, err
	}
	who := auth.CallerOf(ctx)
	return nil, a.Alerts.ExpireSilence(ctx, in.Silence, who.Actor(), who.Level)
}

// SilenceAlert keeps one alert quiet.
func (a *API) SilenceAlert(ctx context.Context, in *struct {
	AlertPath
	Body struct {
		For     string `json:"for,omitempty" doc:"default 1h"`
		Comment string `json:"comment,omitempty" maxLength:"8192"`
		Label   string `json:"label,omitempty" doc:"how secret the comment is; default PUBLIC"`
	}
},
) (*wire.Body[silenceRecord], error) {
	x, err := a.find(ctx, in.Alert)
	if err != nil {
		return nil, err
	}
	who := auth.CallerOf(ctx)
	label, err := who.SavedLabel(in.Body.Label)
	if err != nil {
		return nil, err
	}
	ends, err := ending(a.Now(), nil, cmp.Or(in.Body.For, "1h"))
	if err != nil {
		return nil, err
	}
	return a.set(ctx, alert.Silence{Ends: ends, Label: label.Join(x.Label), SilenceDetail: alert.SilenceDetail{
		Matchers: []alert.Matcher{{Name: "key", Value: x.Key, IsEqual: true}}, Author: who.Actor(), Comment: in.Body.Comment, Reach: who.Level,
	}})
}
