// Package telegramtest is a Telegram Bot API server that keeps everything in
// memory, for tests and benchmarks. It speaks the real wire (multipart, form
// and JSON bodies on /bot<token>/<method>), keeps real update offsets, allows
// one poller at a time, delivers to webhooks, checks each request as Telegram
// would, records it, and misbehaves on demand.
//
// It does not need package testing: a benchmark can run it as a process of its
// own. It outlives the gateway under test, so a killed gateway finds its
// unconfirmed updates and its sent messages as Telegram would keep them.
//
//	srv, err := telegramtest.NewServer(telegramtest.Options{})
//	defer srv.Close()
//	srv.Say(telegramtest.Private(1001), telegramtest.User{ID: 1001, FirstName: "Ada"}, "hello")
//	sent, err := srv.WaitSent(ctx, 1001, 1)
//
// With the environment variable SLUICE_API_SPECS set to a folder that holds
// telegram-api.json (the published description of the Bot API), each request is
// also checked against it; see [Server.Violations].
//
// Goroutines: the HTTP server's own, and one for each webhook that is set.
// [Server.Close] waits for all of them.
package telegramtest
