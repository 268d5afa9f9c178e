package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// route is where a delivery goes.
type route struct {
	Channel      string `json:"channel"`
	Account      string `json:"account"`
	Conversation string `json:"conversation"`
	Thread       string `json:"thread"`
	Title        string `json:"title"`
}

// String is "<channel>/<account> <conversation>".
func (r route) String() string {
	if r.Channel == "" {
		return ""
	}
	s := r.Channel + "/" + r.Account + " " + r.Conversation
	if r.Thread != "" {
		s += "#" + r.Thread
	}
	return s
}

// decision is what the gate said.
type decision struct {
	Action string   `json:"action"`
	Reason string   `json:"reason"`
	Rules  []looked `json:"rules"`
}

// looked is a rule that a decision looked at.
type looked struct {
	Rule    string `json:"rule"`
	Matched bool   `json:"matched"`
	Action  string `json:"action"`
	Detail  string `json:"detail"`
}

// delivery is the API's delivery.
type delivery struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Status string `json:"status"`
	Route  route  `json:"route"`
	Text   string `json:"text"`
	Files  []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"files"`
	Label    json.RawMessage `json:"label"`
	Session  string          `json:"session"`
	Run      string          `json:"run"`
	ResendOf string          `json:"resend_of"`
	Attempts int             `json:"attempts"`
	Error    string          `json:"error"`
	Decision *decision       `json:"decision"`
	Created  time.Time       `json:"created"`
	Expires  time.Time       `json:"expires"`
}

func (a *app) deliveriesCommand() *cobra.Command {
	return group("deliveries", "What is on its way out, was sent, blocked, lost or given up",
		a.deliveriesList(), a.deliveriesShow(),
		a.deliveriesChange("retry", "Send again what failed, expired, was blocked or is unknown"),
		a.deliveriesChange("discard", "Give up a delivery"))
}

// page is how much of a list is asked for.
type page struct {
	status, after string
	limit         int
}

func (p *page) flags(cmd *cobra.Command, statuses string) *cobra.Command {
	cmd.Flags().StringVar(&p.status, "status", "", "only those that are: "+statuses)
	cmd.Flags().IntVar(&p.limit, "limit", 50, "at most this `number`")
	cmd.Flags().StringVar(&p.after, "after", "", "go on after this `id`")
	return cmd
}

func (p *page) query() url.Values {
	return queryOf("status", p.status, "limit", strconv.Itoa(p.limit), "after", p.after)
}

func (a *app) deliveriesList() *cobra.Command {
	var o output
	var p page
	return p.flags(o.flag(&cobra.Command{
		Use: "list", Short: "List deliveries, newest first", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/deliveries", p.query), a.printDeliveries),
	}), "queued, held, sending, sent, blocked, failed, unknown, expired, discarded")
}

// deliveryList is a page of the API's deliveries.
type deliveryList struct {
	Deliveries []delivery     `json:"deliveries"`
	Counts     map[string]int `json:"counts"`
}

func (a *app) printDeliveries(got deliveryList) error {
	err := list(a, []string{"ID", "STATUS", "KIND", "TO", "TEXT", "WHY", "CREATED"}, got.Deliveries, func(d delivery) []string {
		return []string{d.ID, d.Status, d.Kind, d.Route.String(), short(d.Text), short(d.Error), a.ago(d.Created)}
	})
	if err != nil {
		return err
	}
	return a.printCounts("In all", got.Counts)
}

func (a *app) deliveriesShow() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "show DELIVERY", Short: "Show a delivery and what the gate decided", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, named("/v1/deliveries"), a.printDelivery),
	})
}

func (a *app) printDelivery(d delivery) error {
	err := a.pairs("id", d.ID, "status", d.Status, "kind", d.Kind, "to", d.Route.String(), "label", word(d.Label), "session", d.Session, "run", d.Run, "repeats", d.ResendOf,
		"attempts", strconv.Itoa(d.Attempts), "error", d.Error, "created", a.ago(d.Created))
	if err != nil {
		return err
	}
	if d.Decision != nil {
		if err := a.printDecision(*d.Decision); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.Stdout, "\n%s\n", safe(d.Text))
	for _, f := range d.Files {
		if err == nil {
			_, err = fmt.Fprintf(a.Stdout, "file: %s %s\n", f.ID, clean(f.Name))
		}
	}
	return err
}

// printDecision prints what a gate said and every rule that it looked at.
func (a *app) printDecision(d decision) error {
	if _, err := fmt.Fprintf(a.Stdout, "gate: %s: %s\n", d.Action, clean(d.Reason)); err != nil {
		return err
	}
	return a.printRules(d.Rules)
}

func (a *app) printRules(rules []looked) error {
	for _, r := range rules {
		verdict := "does not match"
		if r.Matched {
			verdict = orText(r.Action, "matches")
		}
		if r.Detail != "" {
			verdict += " (" + clean(r.Detail) + ")"
		}
		if _, err := fmt.Fprintf(a.Stdout, "  %s: %s\n", r.Rule, verdict); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) deliveriesChange(verb, short string) *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: verb + " DELIVERY", Short: short, Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, func(args []string) (request, error) {
			return request{method: http.MethodPost, path: "/v1/deliveries/" + url.PathEscape(args[0]) + "/" + verb}, nil
		}, func(d delivery) error { _, err := fmt.Fprintf(a.Stdout, "%s: %s\n", d.ID, d.Status); return err }),
	})
}
