package senders

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/wire"
)

// Limits of a silence.
const (
	matchersMax = 64
	matcherMax  = 2 << 10 // bytes of a name or a value
	commentMax  = 8 << 10
	authorMax   = 256
	idMax       = 64
)

// postedSilence is a silence in Alertmanager's JSON, as it is sent. What is nil is missing.
type postedSilence struct {
	ID        string          `json:"id"`
	Matchers  labels.Matchers `json:"matchers"`
	StartsAt  *time.Time      `json:"startsAt"`
	EndsAt    *time.Time      `json:"endsAt"`
	CreatedBy *string         `json:"createdBy"`
	Comment   *string         `json:"comment"`
}

// shownSilence is a silence in Alertmanager's JSON, as it is shown.
type shownSilence struct {
	ID          string            `json:"id"`
	Status      silenceStatus     `json:"status"`
	UpdatedAt   string            `json:"updatedAt"`
	Comment     string            `json:"comment"`
	CreatedBy   string            `json:"createdBy"`
	EndsAt      string            `json:"endsAt"`
	Matchers    labels.Matchers   `json:"matchers"`
	StartsAt    string            `json:"startsAt"`
	Annotations map[string]string `json:"annotations"`
}

type silenceStatus struct {
	State string `json:"state"`
}

func (a *AlertmanagerAPI) shown(s Silence) shownSilence {
	return shownSilence{
		ID: s.ID, Status: silenceStatus{s.state(a.Now())}, UpdatedAt: stamp(s.Updated), Comment: s.Comment, CreatedBy: s.Author,
		EndsAt: stamp(s.Ends), Matchers: s.Matchers, StartsAt: stamp(s.Starts), Annotations: map[string]string{},
	}
}

// ListSilences lists silences: those that end next first, then those that start next, then those that ended last.
func (a *AlertmanagerAPI) ListSilences(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	filter, err := matchers(q["filter"])
	if err != nil {
		return wire.BadRequest(err.Error())
	}
	wanted := map[string]bool{}
	for _, state := range []string{"active", "pending", "expired"} {
		if wanted[state], err = flag(q, state); err != nil {
			return err
		}
	}
	all, err := a.Silences.ListSilences(r.Context(), auth.CallerOf(r.Context()).Level)
	if err != nil {
		return err
	}
	now := a.Now()
	all = slices.DeleteFunc(all, func(s Silence) bool { return !wanted[s.state(now)] || !s.has(filter) })
	slices.SortStableFunc(all, func(a, b Silence) int { return inOrder(a, b, now) })
	out := make([]shownSilence, len(all))
	for i, s := range all {
		out[i] = a.shown(s)
	}
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

// has reports whether each of some matchers is one of the silence's.
func (s Silence) has(all labels.Matchers) bool {
	return !slices.ContainsFunc(all, func(m *labels.Matcher) bool {
		return !slices.ContainsFunc(s.Matchers, func(own *labels.Matcher) bool { return own.String() == m.String() })
	})
}

// inOrder orders silences as Alertmanager lists them.
func inOrder(a, b Silence, now time.Time) int {
	rank := map[string]int{"active": 1, "pending": 2, "expired": 3}
	if d := cmp.Compare(rank[a.state(now)], rank[b.state(now)]); d != 0 {
		return d
	}
	switch a.state(now) {
	case "active":
		return a.Ends.Compare(b.Ends)
	case "pending":
		return a.Starts.Compare(b.Starts)
	}
	return b.Ends.Compare(a.Ends)
}

// PostSilence makes a silence, or changes the one whose id it names.
func (a *AlertmanagerAPI) PostSilence(w http.ResponseWriter, r *http.Request) error {
	who := auth.CallerOf(r.Context())
	label, err := who.SentLabel(r.Header.Get(LabelHeader))
	if err != nil {
		return err
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	if err := a.Pace.take(w, who, 1); err != nil {
		return err
	}
	var in postedSilence
	if err := json.Unmarshal(body, &in); err != nil {
		return wire.BadRequest("parsing silence body failed: " + err.Error())
	}
	s, err := in.silence(a.Now())
	if err != nil {
		return wire.BadRequest(err.Error())
	}
	if s.ID != "" {
		old, err := a.findSilence(r, s.ID)
		if err != nil {
			return err
		}
		label = label.Join(old.Label)
	}
	s.Label, s.Reach = label, who.Level
	id, err := a.Silences.PutSilence(r.Context(), s, who.Actor())
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, map[string]string{"silenceID": id})
	return nil
}

// silence checks what was sent. A silence cannot begin in the past.
func (in postedSilence) silence(now time.Time) (Silence, error) {
	switch {
	case in.StartsAt == nil || in.EndsAt == nil || in.CreatedBy == nil || in.Comment == nil:
		return Silence{}, errors.New("matchers, startsAt, endsAt, createdBy and comment are required")
	case !in.StartsAt.Before(*in.EndsAt):
		return Silence{}, errors.New("failed to create silence: start time must be before end time")
	case in.EndsAt.Before(now):
		return Silence{}, errors.New("failed to create silence: end time can't be in the past")
	case in.EndsAt.Year() > 2999:
		return Silence{}, errors.New("endsAt is too far away")
	case len(*in.Comment) > commentMax || len(*in.CreatedBy) > authorMax || len(in.ID) > idMax:
		return Silence{}, fmt.Errorf("the comment may have %d bytes, createdBy %d and id %d", commentMax, authorMax, idMax)
	}
	starts := *in.StartsAt
	if starts.Before(now) {
		starts = now
	}
	return Silence{ID: in.ID, Matchers: in.Matchers, Starts: starts, Ends: *in.EndsAt, Updated: now, Author: *in.CreatedBy, Comment: *in.Comment}, checkMatchers(in.Matchers)
}

// checkMatchers says what is wrong with the matchers of a silence. One that matches everything is taken for a mistake.
func checkMatchers(all labels.Matchers) error {
	if len(all) == 0 || len(all) > matchersMax {
		return fmt.Errorf("%d matchers: want 1 to %d", len(all), matchersMax)
	}
	everything := true
	for _, m := range all {
		if m == nil || m.Name == "" || len(m.Name) > matcherMax || len(m.Value) > matcherMax {
			return fmt.Errorf("invalid label matcher: name and value may have %d bytes, and a name is required", matcherMax)
		}
		everything = everything && m.Matches("")
	}
	if everything {
		return errors.New("invalid silence: at least one matcher must not match the empty string")
	}
	return nil
}

// findSilence is a silence that the caller may know of.
func (a *AlertmanagerAPI) findSilence(r *http.Request, id string) (Silence, error) {
	s, err := a.Silences.Silence(r.Context(), id)
	return s, a.Visible.Check(r.Context(), err, denials.Object{Kind: "silence", ID: id, Label: s.Label})
}

// GetSilence shows a silence.
func (a *AlertmanagerAPI) GetSilence(w http.ResponseWriter, r *http.Request) error {
	s, err := a.findSilence(r, r.PathValue("silenceID"))
	if err != nil {
		return err
	}
	wire.WriteJSON(w, http.StatusOK, a.shown(s))
	return nil
}

// DeleteSilence ends a silence.
func (a *AlertmanagerAPI) DeleteSilence(w http.ResponseWriter, r *http.Request) error {
	s, err := a.findSilence(r, r.PathValue("silenceID"))
	if err != nil {
		return err
	}
	if err := a.Silences.EndSilence(r.Context(), s.ID, auth.CallerOf(r.Context()).Actor()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
