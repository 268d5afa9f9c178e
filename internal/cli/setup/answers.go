package setup

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"sluice/internal/config"
)

// answers are what the questions ask for.
type answers struct {
	Telegram string // bot token; empty: no Telegram
	SlackBot string // bot token; empty: no Slack
	SlackApp string // app-level token
	Discord  string // bot token; empty: no Discord
	Owners   []string
	Provider string // offline, openai, anthropic or local
	Model    string // without the provider
	APIKey   string
	BaseURL  string
}

// secret is an answer that is kept in a file of its own.
type secret struct {
	file  string
	value *string
}

func (got *answers) secrets() []secret {
	return []secret{
		{"telegram-token", &got.Telegram},
		{"slack-bot-token", &got.SlackBot},
		{"slack-app-token", &got.SlackApp},
		{"discord-token", &got.Discord},
		{got.Provider + "-api-key", &got.APIKey},
	}
}

//go:embed sluice.yaml.tmpl
var configTemplate string

// yaml is the configuration for the answers.
func (got answers) yaml() ([]byte, error) {
	t, err := template.New(config.FileName).Funcs(template.FuncMap{"quote": quote}).Parse(configTemplate)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, got); err != nil {
		return nil, fmt.Errorf("fill in template: %w", err)
	}
	return out.Bytes(), nil
}

// quote writes a text so that YAML and the loader read it as it is. A reference stays a reference.
func quote(s string) (string, error) {
	if !isReference(s) {
		s = strings.ReplaceAll(s, "${", "$${")
	}
	data, err := json.Marshal(s)
	return string(data), err
}

// isReference reports whether an answer names a variable or a file instead of being the secret.
func isReference(answer string) bool {
	return strings.HasPrefix(answer, "${") && strings.HasSuffix(answer, "}")
}
