package setup

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/internal/config"
)

// Typing is a terminal that was taken over for questions: what is typed or pasted ahead is shown only where its
// question is not secret. What is written to it stands between questions.
type Typing interface {
	io.Writer
	// Ask reads one line. A secret one is not shown.
	Ask(prompt string, secret bool) (string, error)
	// Close gives the terminal back.
	Close() error
}

// interviewer asks the questions.
type interviewer struct {
	out    io.Writer
	in     *bufio.Reader
	secret func() (string, error) // nil: in is read
	typing Typing                 // nil: in and secret are read
	check  func(answers) error    // whether the gateway would take the answers so far
}

// interview asks for all answers.
func (s *Setup) interview(got *answers) (err error) {
	i := &interviewer{out: s.Screen.Out, in: bufio.NewReader(s.Input), secret: s.Secret, check: s.check}
	if s.Typing != nil {
		if i.typing, err = s.Typing(); err != nil {
			return fmt.Errorf("use the terminal: %w", err)
		}
		i.out = i.typing
		defer func() { err = errors.Join(err, i.typing.Close()) }()
	}
	names, err := i.channels()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := i.channel(got, name); err != nil {
			return err
		}
	}
	return i.model(got)
}

// channels asks until every channel named is known.
func (i *interviewer) channels() ([]string, error) {
	for {
		line, err := i.ask("Channels besides web chat: telegram, slack, discord (comma-separated; Enter for none)", "")
		if err != nil {
			return nil, err
		}
		names := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return r == ',' || r == ' ' })
		unknown := slices.IndexFunc(names, func(name string) bool { return !slices.Contains([]string{"telegram", "slack", "discord"}, name) })
		if unknown < 0 {
			return unique(names), nil
		}
		fmt.Fprintf(i.out, "Unknown channel %q. Choose from telegram, slack and discord.\n", names[unknown])
	}
}

// unique are the names in their order, each one time.
func unique(names []string) (unique []string) {
	for _, name := range names {
		if !slices.Contains(unique, name) {
			unique = append(unique, name)
		}
	}
	return unique
}

// secretQuestion asks for a secret that a channel needs.
type secretQuestion struct {
	text   string
	answer *string
}

// channelQuestions are the secrets that a channel needs, and how its owner's id is asked for.
func channelQuestions(got *answers, channel string) (secrets []secretQuestion, owner string) {
	switch channel {
	case "telegram":
		return []secretQuestion{{"Telegram bot token (from @BotFather)", &got.Telegram}},
			"Your Telegram user ID (@userinfobot tells you; Enter to pair later)"
	case "slack":
		return []secretQuestion{{"Slack bot token (xoxb-...)", &got.SlackBot}, {"Slack app-level token (xapp-...)", &got.SlackApp}},
			"Your Slack member ID (profile menu, Copy member ID; Enter to pair later)"
	}
	return []secretQuestion{{"Discord bot token", &got.Discord}},
		"Your Discord user ID (turn on developer mode, then Copy User ID; Enter to pair later)"
}

// channel asks for what a channel needs until the gateway would take it.
func (i *interviewer) channel(got *answers, name string) error {
	before := got.Owners
	secrets, who := channelQuestions(got, name)
	for {
		got.Owners = slices.Clone(before)
		for _, s := range secrets {
			var err error
			if *s.answer, err = i.askSecret(s.text); err != nil {
				return err
			}
		}
		owner, err := i.ask(who, "")
		if err != nil {
			return err
		}
		if owner != "" {
			got.Owners = append(got.Owners, name+":"+owner)
		}
		err = i.check(*got)
		faults, ok := errors.AsType[config.Faults](err)
		if !ok {
			return err
		}
		for _, f := range faults {
			fmt.Fprintf(i.out, "%s: %s\n", f.Path, f.Text)
		}
	}
}

// model asks for the model provider, and for what it needs.
func (i *interviewer) model(got *answers) (err error) {
	if got.Provider, err = i.provider(); err != nil {
		return err
	}
	var model string
	switch got.Provider {
	case "openai":
		model = "gpt-5-mini"
		got.APIKey, err = i.askSecret("OpenAI API key")
	case "anthropic":
		model = "claude-sonnet-4-5"
		got.APIKey, err = i.askSecret("Anthropic API key")
	case "local":
		model = "llama3.2"
		got.BaseURL, err = i.ask("URL of the server's Chat Completions API", "http://127.0.0.1:11434/v1")
	default:
		return nil
	}
	if err != nil {
		return err
	}
	got.Model, err = i.ask("Model", model)
	return err
}

// provider asks until the model provider is known.
func (i *interviewer) provider() (string, error) {
	for {
		got, err := i.ask("Model provider: offline (a demo), openai, anthropic, or local (your own server)", config.OfflineProvider)
		if err != nil || slices.Contains([]string{config.OfflineProvider, "openai", "anthropic", "local"}, got) {
			return got, err
		}
		fmt.Fprintf(i.out, "Unknown provider %q. Choose from offline, openai, anthropic and local.\n", got)
	}
}

// ask asks for one line. An empty line is the default answer.
func (i *interviewer) ask(question, otherwise string) (string, error) {
	if otherwise != "" {
		question += " [" + otherwise + "]"
	}
	answer, err := i.line(question+": ", false)
	return cmp.Or(answer, otherwise), err
}

// askSecret asks for one line that is not shown, until it is not empty.
func (i *interviewer) askSecret(question string) (string, error) {
	for {
		answer, err := i.line(question+": ", true)
		if err != nil {
			return "", err
		}
		if answer != "" {
			fmt.Fprintf(i.out, "  (%d characters)\n", utf8.RuneCountInString(answer))
			return answer, nil
		}
	}
}

func (i *interviewer) line(prompt string, secret bool) (string, error) {
	var answer string
	var err error
	if i.typing == nil {
		fmt.Fprint(i.out, prompt)
	}
	switch {
	case i.typing != nil:
		answer, err = i.typing.Ask(prompt, secret)
	case secret && i.secret != nil:
		answer, err = i.secret()
		fmt.Fprintln(i.out)
	default:
		answer, err = i.in.ReadString('\n')
	}
	if err != nil && (!errors.Is(err, io.EOF) || answer == "") {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return strings.TrimSpace(answer), nil
}
