// Command go is an agent of kind nats: it keeps a list of things to do, with the gateway's own tools. docs/programs.md says
// how to connect it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"sluice/agentkit"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return agentkit.Serve(ctx, agentkit.Options{
		Agent: os.Getenv("AGENT"), URL: os.Getenv("NATS_URL"), Seed: os.Getenv("NKEY_SEED"), Version: "1.0.0",
		OnError: func(err error) { fmt.Fprintln(os.Stderr, err) },
	}, answer)
}

func answer(ctx context.Context, w *agentkit.Work) (string, error) {
	what, ok := strings.CutPrefix(strings.ToLower(w.LastMessage().Text), "remember to ")
	if !ok {
		return "Tell me what to remember: *remember to buy milk*.", nil
	}
	result, err := w.Call(ctx, "todo_add", map[string]any{"items": []string{what}})
	if err != nil {
		return "", err
	}
	if result.Error {
		return "I can't keep that: " + result.Text, nil
	}
	return "I keep that: " + what + ".", nil
}
