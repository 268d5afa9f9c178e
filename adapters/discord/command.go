package discord

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"sluice/adapters"
	"sluice/internal/pattern"
)

// Discord's bounds of its menu.
const (
	maxCommands    = 100
	maxDescription = 100
)

// argumentsName is the only option of each command: the text after its name.
const argumentsName = "arguments"

// commandName matches the names of commands that Discord accepts.
var commandName = pattern.New(`^[-_'\p{L}\p{N}]{1,32}$`)

// menuCommand is one entry of the menu. The library's type can't omit fields, which is needed for Discord's defaults.
type menuCommand struct {
	Name        string                           `json:"name"`
	Description string                           `json:"description"`
	Type        discordgo.ApplicationCommandType `json:"type"`
	Options     []menuOption                     `json:"options"`
}

type menuOption struct {
	Type        discordgo.ApplicationCommandOptionType `json:"type"`
	Name        string                                 `json:"name"`
	Description string                                 `json:"description"`
	Required    bool                                   `json:"required"`
}

// SetCommands sets the commands of Discord's menu, in all places of the bot. It leaves out a command with a name that
// Discord does not accept: people can still type it.
func (a *Adapter) SetCommands(ctx context.Context, commands []adapters.Command) error {
	app, err := a.bot.application(ctx)
	if err != nil {
		return err
	}
	menu := []menuCommand{}
	for _, c := range commands {
		if name := strings.ToLower(c.Name); commandName.MatchString(name) && len(menu) < maxCommands {
			menu = append(menu, menuEntry(name, c.Description))
			continue
		}
		a.cfg.Log.Warn("discord does not accept a command in its menu", "command", c.Name)
	}
	return a.api.call(ctx, request{method: http.MethodPut, path: at("/applications/{}/commands", app.ID), body: menu}, nil)
}

func menuEntry(name, description string) menuCommand {
	return menuCommand{
		Name: name, Description: shorten(cmp.Or(strings.TrimSpace(valid(description)), name), maxDescription),
		Type: discordgo.ChatApplicationCommand,
		Options: []menuOption{{
			Type: discordgo.ApplicationCommandOptionString, Name: argumentsName, Description: "Arguments of the command",
		}},
	}
}

// shorten cuts a text to a number of characters.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
