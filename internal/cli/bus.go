package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

func busCommand(g command.Deps) *cobra.Command {
	return command.Group("bus", "Watch what agents send each other", busTail(g))
}

func busTail(g command.Deps) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "tail", Short: "Print each step of an exchange as it is published", Args: command.Args(0, 0),
		Long: `Print each step of an exchange between agents as it is published on the bus: who
asks, replies to, announces for or reports to whom. The command runs until it is
interrupted. It shows the steps that your token may see. The texts are in the
runs: sluice runs show RUN.`,
	}
	cmd.RunE = g.Run(func(ctx context.Context, _ []string) error {
		c, err := g.Connect()
		if err != nil {
			return err
		}
		err = c.Tail(ctx, func(step api.Step, text string) error {
			if asJSON {
				return g.Screen.Printf("%s", text)
			}
			return printStep(g.Screen, step)
		})
		if errors.Is(context.Cause(ctx), errInterrupted) {
			return nil
		}
		if err == nil {
			err = errStreamEnded
		}
		return err
	})
	return command.JSON(cmd, &asJSON)
}

var errStreamEnded = errors.New("the gateway has ended the stream: it stops, or this command was too slow; run the command again")

func printStep(s terminal.Screen, step api.Step) error {
	kind := step.Type[strings.LastIndexByte(step.Type, '.')+1:]
	from := step.Data.From.String()
	if from == "" {
		from = "a person"
	}
	return s.Printf("%s  %-8s  %s → %s  %s  %s  %s", step.Time.Local().Format(time.TimeOnly), terminal.Line(kind), terminal.Line(from), terminal.Line(step.Data.To.String()),
		terminal.Line(step.Data.Label), terminal.Line(step.Data.Exchange), terminal.Line(step.Data.Run))
}
