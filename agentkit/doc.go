// Package agentkit is for programs that are agents of a gateway: agents of kind nats, which connect to the gateway's bus, and
// of kind command, which the gateway starts for each run.
//
// The gateway asks a program for turns. A [Turn] has the conversation, and the tools that the program may call. The program
// streams its answer as frames ([Frame]). If it calls tools, the gateway runs them, with its approvals and labels, and
// asks for the next turn, which has the results. docs/programs.md describes the protocol for other languages.
//
//	err := agentkit.Serve(ctx, agentkit.Options{Agent: "research", URL: "nats://127.0.0.1:4222", Seed: seed},
//		func(ctx context.Context, w *agentkit.Work) (string, error) {
//			return "You said: " + w.LastMessage().Text, nil
//		})
//
// The gateway keeps the conversation, so a program needs no memory of its own: any instance can work any turn.
package agentkit
