package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// status is how the API says that a gateway does.
type status struct {
	Version string `json:"version"`
	Uptime  string `json:"uptime"`
	Ready   bool   `json:"ready"`
	Parts   []struct {
		Name   string `json:"name"`
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
	} `json:"parts"`
	Accounts   []accountState `json:"accounts"`
	Deliveries map[string]int `json:"deliveries"`
}

// accountState is how an account of a channel does.
type accountState struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Status  string `json:"status"`
	Self    struct {
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"self"`
	Level     string    `json:"classification"`
	LastEvent time.Time `json:"lastEvent"`
	Pending   int       `json:"pending"`
	Restarts  int       `json:"restarts"`
}

// who is the account as people on the platform see it.
func (s accountState) who() string {
	if s.Self.Username != "" {
		return "@" + s.Self.Username
	}
	return s.Self.Name
}

func (a *app) statusCommand() *cobra.Command {
	var o output
	return o.flag(&cobra.Command{
		Use: "status", Short: "Show how a running gateway does", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/status", nil), a.printStatus),
	})
}

func (a *app) printStatus(s status) error {
	word := "not ready"
	if s.Ready {
		word = "ready"
	}
	if _, err := fmt.Fprintf(a.Stdout, "Sluice %s: %s, up %s\n\n", clean(s.Version), word, clean(s.Uptime)); err != nil {
		return err
	}
	rows := make([][]string, len(s.Parts))
	for i, p := range s.Parts {
		word := "ok"
		if !p.OK {
			word = orText(p.Detail, "does not work")
		}
		rows[i] = []string{p.Name, word}
	}
	if err := a.table([]string{"PART", "STATE"}, rows); err != nil {
		return err
	}
	if err := a.printAccounts(s.Accounts); err != nil {
		return err
	}
	return a.printCounts("Deliveries", s.Deliveries)
}

func (a *app) printAccounts(accounts []accountState) error {
	if len(accounts) == 0 {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	return list(a, []string{"ACCOUNT", "AS", "STATE", "LEVEL", "LAST EVENT", "PENDING", "RESTARTS"}, accounts, func(s accountState) []string {
		return []string{s.Channel + "/" + s.Account, s.who(), s.Status, s.Level, a.ago(s.LastEvent), strconv.Itoa(s.Pending), strconv.Itoa(s.Restarts)}
	})
}

// printCounts prints how many there are of each kind, below an empty line; nothing if there are none.
func (a *app) printCounts(what string, counts map[string]int) error {
	if len(counts) == 0 {
		return nil
	}
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", clean(name), counts[name]))
	}
	_, err := fmt.Fprintf(a.Stdout, "\n%s: %s\n", what, strings.Join(parts, ", "))
	return err
}
