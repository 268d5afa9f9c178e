// Package command makes commands that ask a running gateway: it sends the request, and prints the answer as text or as JSON.
package command

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/terminal"
)

// Unlimited is as many arguments as a person gives.
const Unlimited = math.MaxInt

// Task is what a command does.
type Task = func(ctx context.Context, args []string) error

// Deps is what the commands need. All fields are required.
type Deps struct {
	Screen  terminal.Screen
	Connect func() (*api.Client, error)                     // called when a command runs, after its flags were read
	Run     func(Task) func(*cobra.Command, []string) error // makes a task end at an interrupt
}

// Call sends a request.
func (d Deps) Call(ctx context.Context, r api.Request) (api.Answer, error) {
	c, err := d.Connect()
	if err != nil {
		return api.Answer{}, err
	}
	return c.Call(ctx, r)
}

// JSON adds the flag --json.
func JSON(cmd *cobra.Command, asJSON *bool) *cobra.Command {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the gateway's response as JSON")
	return cmd
}

// ResultJSON adds the flag --json to a command that works without a gateway, or that prints something other than the gateway's response.
func ResultJSON(cmd *cobra.Command, asJSON *bool) *cobra.Command {
	cmd.Flags().BoolVar(asJSON, "json", false, "print the result as JSON")
	return cmd
}

// Request builds a command's request from its arguments.
type Request func(args []string) (api.Request, error)

// Show is how a command that asks the gateway one thing prints the answer.
type Show[T any] func(s terminal.Screen, got T) error

// Send sends a command's request.
func (d Deps) Send(ctx context.Context, about Request, args []string) (api.Answer, error) {
	r, err := about(args)
	if err != nil {
		return api.Answer{}, err
	}
	return d.Call(ctx, r)
}

// Asking is a command that sends one request and prints the answer: as JSON with --json, else with plain.
func Asking[T any](d Deps, cmd *cobra.Command, about Request, plain Show[T]) *cobra.Command {
	var asJSON bool
	cmd.RunE = d.Run(func(ctx context.Context, args []string) error {
		answer, err := d.Send(ctx, about, args)
		if err != nil {
			return err
		}
		return Present(d.Screen, answer, asJSON, plain)
	})
	return JSON(cmd, &asJSON)
}

// Present prints an answer. The command fails if the answer says that it has failed.
func Present[T any](s terminal.Screen, answer api.Answer, asJSON bool, plain Show[T]) error {
	got, err := api.Decode[T](answer)
	if err != nil {
		return err
	}
	if asJSON {
		err = s.JSON(answer.Body)
	} else {
		err = plain(s, got)
	}
	if err != nil {
		return err
	}
	if bad, ok := any(got).(interface{ Failed() bool }); ok && bad.Failed() {
		return terminal.ErrReported
	}
	if asJSON {
		return nil
	}
	return s.More(answer.Next)
}

// Doing is a command that sends one request; said is what it prints when that worked. With --json it prints the answer,
// which is an empty object where the gateway has nothing to say.
func Doing(d Deps, cmd *cobra.Command, about Request, said func(s terminal.Screen, answer api.Answer, args []string) error) *cobra.Command {
	var asJSON bool
	cmd.RunE = d.Run(func(ctx context.Context, args []string) error {
		answer, err := d.Send(ctx, about, args)
		if err != nil {
			return err
		}
		if asJSON {
			return d.Screen.JSON(answer.Body)
		}
		return said(d.Screen, answer, args)
	})
	return JSON(cmd, &asJSON)
}

// Args is how many arguments a command takes.
func Args(least, most int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least && most == least:
			return terminal.Usagef("expected %s, got %d", terminal.Plural(least, "argument", "arguments"), len(args))
		case len(args) < least:
			return terminal.Usagef("expected at least %s, got %d", terminal.Plural(least, "argument", "arguments"), len(args))
		case len(args) > most && most == 0:
			return terminal.Usagef("unexpected argument %q", args[0])
		case len(args) > most:
			return terminal.Usagef("unexpected argument %q: put texts of several words in quotes", args[most])
		}
		return nil
	}
}
