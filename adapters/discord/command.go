package discord

import (
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

// argumentsName is the one option of each command: what is written after its name.
const argumentsName = "arguments"

// commandName is what Discord takes for a command's name.
var commandName = pattern.New(`^[-_'\p{L}\p{N}]{1,32}$`)

// menuCommand is one entry of the menu. The library's own has no place for
// what is left out so that Discord's default holds.
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

// SetCommands puts the commands into Discord's menu, everywhere where the bot is. A command
// whose name Discord doesn't take is left out: it can be written all the same.
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
		Name: name, Description: shorten(or(strings.TrimSpace(valid(description)), name), maxDescription),
		Type: discordgo.ChatApplicationCommand,
		Options: []menuOption{{
			Type: discordgo.ApplicationCommandOptionString, Name: argumentsName, Description: "Arguments of the command",
		}},
	}
}

// shorten cuts a text to at most so many characters.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
