package setup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/internal/cli/terminal"
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
	probe  func(got answers, channel string) (profile string, err error)
}

// interview asks for all answers.
func (s *Setup) interview(ctx context.Context, got *answers) (err error) {
	i := &interviewer{
		out: s.Screen.Out, in: bufio.NewReader(s.Input), secret: s.Secret, check: s.check,
		probe: func(got answers, channel string) (string, error) { return s.profile(ctx, got, channel) },
	}
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
	key    string // of the configuration
	answer *string
}

// channelQuestions are the secrets that a channel needs, and how its owner's id is asked for.
func channelQuestions(got *answers, channel string) (secrets []secretQuestion, owner string) {
	switch channel {
	case "telegram":
		return []secretQuestion{{"Telegram bot token (from @BotFather)", "token", &got.Telegram}},
			"Your Telegram user ID (@userinfobot tells you; Enter to pair later)"
	case "slack":
		return []secretQuestion{{"Slack bot token (xoxb-...)", "botToken", &got.SlackBot}, {"Slack app-level token (xapp-...)", "appToken", &got.SlackApp}},
			"Your Slack member ID (profile menu, Copy member ID; Enter to pair later)"
	}
	return []secretQuestion{{"Discord bot token", "token", &got.Discord}},
		"Your Discord user ID (turn on developer mode, then Copy User ID; Enter to pair later)"
}

// channel asks for what a channel needs, until the platform knows the tokens and the gateway would take the rest.
func (i *interviewer) channel(got *answers, name string) error {
	secrets, who := channelQuestions(got, name)
	for known := false; !known; {
		for _, q := range secrets {
			err := i.until(got, func(path string) bool {
				return strings.HasPrefix(path, "channels."+name) && strings.HasSuffix(path, "."+q.key)
			}, func() (err error) {
				*q.answer, err = i.askSecret(q.text)
				return err
			})
			if err != nil {
				return err
			}
		}
		var err error
		if known, err = i.known(got, name); err != nil {
			return err
		}
	}
	before := got.Owners
	return i.until(got, func(path string) bool { return strings.HasPrefix(path, "owners") }, func() error {
		owner, err := i.ask(who, "")
		got.Owners = slices.Clone(before)
		if owner != "" {
			got.Owners = append(got.Owners, name+":"+owner)
		}
		return err
	})
}

// known asks the platform who the bot is. If the platform does not say, the person decides whether to keep the tokens.
func (i *interviewer) known(got *answers, channel string) (bool, error) {
	profile, err := i.probe(*got, channel)
	if err == nil {
		if profile != "" {
			fmt.Fprintf(i.out, "  The bot is %s.\n", terminal.Line(profile))
		}
		return true, nil
	}
	fmt.Fprintf(i.out, "  Token not confirmed: %s\n", terminal.Line(err.Error()))
	keep, err := i.ask("Use the token anyway (yes or no)", "no")
	return strings.HasPrefix(strings.ToLower(keep), "y"), err
}

// until repeats a question until the configuration has no fault at the paths that the answer is about.
func (i *interviewer) until(got *answers, about func(path string) bool, question func() error) error {
	for {
		if err := question(); err != nil {
			return err
		}
		err := i.check(*got)
		faults, ok := errors.AsType[config.Faults](err)
		if !ok {
			return err
		}
		wrong := false
		for _, f := range faults {
			if about(f.Path) {
				wrong = true
				fmt.Fprintf(i.out, "%s: %s\n", f.Path, f.Text)
			}
		}
		if !wrong { // the faults are about what is asked next
			return nil
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
		err = i.until(got, func(path string) bool { return strings.HasSuffix(path, ".baseURL") }, func() (err error) {
			got.BaseURL, err = i.ask("URL of the server's Chat Completions API", "http://127.0.0.1:11434/v1")
			return err
		})
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return i.until(got, func(path string) bool { return strings.HasPrefix(path, "models.default") }, func() (err error) {
		got.Model, err = i.ask("Model", model)
		return err
	})
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
		fmt.Fprintln(i.out, "  Nothing was entered. Paste it and press Enter, or press Ctrl-C to stop without writing a file.")
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
