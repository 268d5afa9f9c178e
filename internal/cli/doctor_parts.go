package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"sluice/internal/config"
)

// health is what a gateway says of one of its parts.
type health struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// ready makes findings of what /readyz says.
func ready(status int, body []byte) []finding {
	var got struct {
		Parts []health `json:"parts"`
	}
	if err := json.Unmarshal(body, &got); err != nil || (len(got.Parts) == 0 && status != http.StatusOK) {
		return []finding{wrong("ready", fmt.Sprintf("the gateway is not ready (%d)", status), "sluice status")}
	}
	if len(got.Parts) == 0 {
		return []finding{sound("ready", "all parts")}
	}
	findings := make([]finding, len(got.Parts))
	for i, p := range got.Parts {
		detail := clean(p.Detail)
		if p.OK {
			findings[i] = sound(clean(p.Name), orText(detail, "works"))
		} else {
			findings[i] = wrong(clean(p.Name), orText(detail, "does not work"), remedy(p.Name))
		}
	}
	return findings
}

// remedy is the command for a part that the gateway says does not work.
func remedy(part string) string {
	switch {
	case part == "store", part == "bus":
		return "sluice config check (is " + part + ".url right, and the disk not full?); the gateway goes on by itself"
	case strings.Contains(part, "/"):
		return "sluice status (what the platform says of the account)"
	}
	return "sluice status"
}

// telegram asks Telegram whether it knows each bot.
func (d *doctor) telegram(ctx context.Context) {
	accounts := d.cfg.Channels.Telegram.Accounts
	if len(accounts) == 0 && !d.cfg.Channels.Webchat.Enabled {
		d.add(wrong("channels", "none is on: nobody can talk to the agents", "sluice init --force"))
	}
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		d.merge(d.telegramAccount(ctx, name, accounts[name]))
	}
}

// merge adds a finding of our own to what the gateway says of the same part: what is wrong counts, ours first.
func (d *doctor) merge(f finding) {
	i := slices.IndexFunc(d.findings, func(known finding) bool { return known.part == f.part })
	switch {
	case i < 0:
		d.add(f)
	case f.mend != "" || d.findings[i].mend == "":
		d.findings[i] = f
	}
}

func (d *doctor) telegramAccount(ctx context.Context, name string, a config.TelegramAccount) finding {
	part := "telegram/" + name
	address := strings.TrimSuffix(a.APIBase, "/") + "/bot" + a.Token.Reveal() + "/getMe"
	status, body, err := d.fetch(ctx, address, "")
	if err != nil {
		return wrong(part, "Telegram cannot be reached: "+clean(err.Error()), "curl -sS "+a.APIBase)
	}
	var got struct {
		OK          bool   `json:"ok"`
		Description string `json:"description"`
		Result      struct {
			Username string `json:"username"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return wrong(part, fmt.Sprintf("%s is no Bot API server (%d)", a.APIBase, status), "sluice config show")
	}
	switch {
	case got.OK:
		return sound(part, "@"+clean(got.Result.Username))
	case status == http.StatusUnauthorized || status == http.StatusNotFound:
		return wrong(part, "Telegram does not know the token", "get a new one from @BotFather (/token) and put it into channels.telegram.accounts."+name+".token")
	}
	return wrong(part, fmt.Sprintf("Telegram says %d %s", status, clean(got.Description)), "sluice doctor (in a minute)")
}
