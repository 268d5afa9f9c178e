package alerts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/internal/alert"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	router "sluice/router/alert"
	"sluice/router/ledger"
	"sluice/sessions"
)

// alertRecord is an alert as programs see it.
type alertRecord struct {
	Key           string            `json:"key"`
	Ref           string            `json:"ref" doc:"short name, which says nothing about the key"`
	Status        alert.Status      `json:"status" enum:"firing,acknowledged,resolved,expired"`
	Severity      alert.Severity    `json:"severity" enum:"critical,error,warning,info"`
	Source        string            `json:"source" doc:"who reported it"`
	Title         string            `json:"title,omitempty"`
	Text          string            `json:"text,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Links         []alert.Link      `json:"links,omitempty"`
	Generator     string            `json:"generator_url,omitempty"`
	Label         string            `json:"label" doc:"how secret it is, and whether it is trusted"`
	Started       time.Time         `json:"started"`
	Ends          *time.Time        `json:"ends,omitempty" doc:"when it expires unless it is reported again"`
	Ended         *time.Time        `json:"ended,omitempty"`
	Updated       time.Time         `json:"updated"`
	Occurrences   int               `json:"occurrences"`
	By            string            `json:"by,omitempty" doc:"who acknowledged or resolved it"`
	At            *time.Time        `json:"at,omitempty" doc:"when"`
	SilencedBy    []string          `json:"silenced_by,omitempty" doc:"ids of silences"`
	Silences      []muteRecord      `json:"silences,omitempty" doc:"the same silences: who made them, and until when they last"`
	InhibitedBy   []string          `json:"inhibited_by,omitempty" doc:"keys of alerts"`
	Told          []noteRecord      `json:"told,omitempty" doc:"who was notified: the newest notification to each target, newest first; absent in a group"`
	Notifications []noteRecord      `json:"notifications,omitempty" doc:"the newest first; only of a single alert"`
}

// muteRecord is a silence, in the record of an alert that it mutes.
type muteRecord struct {
	ID      string    `json:"id"`
	Author  string    `json:"author" doc:"as the request named them"`
	Comment string    `json:"comment,omitempty"`
	Ends    time.Time `json:"ends"`
}

// noteRecord is a notification as programs see it.
type noteRecord struct {
	Target   string                `json:"target"`
	Reason   alert.Reason          `json:"reason,omitempty" doc:"first, new_in_group, some_resolved, all_resolved, repeat or escalation; absent for an edit that shows a change of state, and for a digest"`
	Step     int                   `json:"step,omitempty" doc:"of the escalation, from 1"`
	Status   alert.NoteStatus      `json:"status" enum:"queued,waiting,summed,failed" doc:"queued: it has a delivery; waiting: the next digest has it; summed: a digest had it; failed: the target can't be reached"`
	Delivery ledger.DeliveryID     `json:"delivery,omitempty"`
	Arrival  ledger.DeliveryStatus `json:"delivery_status,omitempty" doc:"only in notifications; absent if the delivery is no longer stored"`
	Withheld bool                  `json:"withheld,omitempty" doc:"the target was told only that there is an alert"`
	Edit     bool                  `json:"edit,omitempty" doc:"it edits the message before"`
	Why      string                `json:"why,omitempty"`
	Created  time.Time             `json:"created"`
}

func recordOf(x *router.Listed) alertRecord {
	out := alertRecord{
		Key: x.Key, Ref: alert.Ref(x.Key), Status: x.Status, Severity: x.Severity, Source: x.Source, Title: x.Title, Text: x.Text, Labels: x.Labels, Annotations: x.Annotations,
		Links: x.Links, Generator: x.GeneratorURL, Label: x.Label.String(), Started: x.Started, Ends: view.Optional(x.Ends), Ended: view.Optional(x.Ended), Updated: x.Updated,
		Occurrences: x.Occurrences, By: x.By, At: view.Optional(x.At), SilencedBy: x.SilencedBy(), InhibitedBy: x.InhibitedBy,
	}
	for i := range x.Silences {
		s := &x.Silences[i]
		out.Silences = append(out.Silences, muteRecord{s.ID, s.Author, s.Comment, s.Ends})
	}
	return out
}

// told are the newest notifications to each target that the caller may know of.
func (a *API) told(ctx context.Context, notes []alert.Note) (all []noteRecord) {
	for i := range notes { // the newest first
		if !slices.ContainsFunc(all, func(n noteRecord) bool { return n.Target == notes[i].Target }) && a.seen(ctx, notes[i].Target) {
			all = append(all, noteOf(&notes[i]))
		}
	}
	return all
}

func noteOf(n *alert.Note) noteRecord {
	return noteRecord{
		Target: n.Target, Reason: n.Reason, Step: n.Step, Status: n.Status, Delivery: ledger.DeliveryID(n.Delivery), Withheld: n.Withheld, Edit: n.Edits, Why: n.Why, Created: n.Created,
	}
}

// notifications are all notifications that the caller may know of, with the status of their messages.
func (a *API) notifications(ctx context.Context, notes []alert.Note) (all []noteRecord, err error) {
	for i := range notes {
		if !a.seen(ctx, notes[i].Target) {
			continue
		}
		shown := noteOf(&notes[i])
		if shown.Delivery != "" {
			d, err := a.Deliveries.Delivery(ctx, shown.Delivery)
			if err != nil && !errors.Is(err, sessions.ErrNotFound) {
				return nil, fmt.Errorf("read delivery: %w", err)
			}
			shown.Arrival = d.Status
		}
		all = append(all, shown)
	}
	return all, nil
}

// record reads an alert with its notifications.
func (a *API) record(ctx context.Context, key string) (alertRecord, error) {
	x, err := a.Alerts.Show(ctx, key, auth.CallerOf(ctx).Level)
	if err != nil {
		return alertRecord{}, err
	}
	out := recordOf(&x)
	out.Told = a.told(ctx, x.Notes)
	out.Notifications, err = a.notifications(ctx, x.Notes)
	return out, err
}
