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

// notReady makes findings of what /readyz says.
func notReady(body []byte) []finding {
	const mend = "sluice status"
	var got map[string]any
	if json.Unmarshal(body, &got) != nil {
		return []finding{wrong("ready", "the gateway is not ready: "+clean(string(body)), mend)}
	}
	return []finding{wrong("ready", "the gateway is not ready: "+scalar(got), mend)}
}

// telegram asks Telegram whether it knows each bot.
func (d *doctor) telegram(ctx context.Context) {
	accounts := d.cfg.Channels.Telegram.Accounts
	if len(accounts) == 0 && !d.cfg.Channels.Webchat.Enabled {
		d.add(wrong("channels", "none is on: nobody can talk to the agents", "sluice init --force"))
	}
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		d.add(d.telegramAccount(ctx, name, accounts[name]))
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
