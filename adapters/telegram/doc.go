// Package telegram is the adapter to Telegram's Bot API: one [Adapter] is one bot.
//
// Types come from github.com/go-telegram/bot, and so do the rare calls (getMe,
// setWebhook, deleteWebhook, setMyCommands, sendChatAction). Three things are
// done here instead, because the library can't do them safely or cheaply:
//
//   - getUpdates: the library confirms updates before they are handled. Here the
//     offset moves only past what the Acceptor has taken.
//   - the webhook: the library answers 200 before handling, for wrong secrets
//     too. Here 200 follows the Acceptor.
//   - sendMessage and editMessageText are the hot path. They are one JSON body
//     each instead of a multipart stream with a goroutine and a pipe.
//
// All calls go through one [client], which bounds them in time and size, tells
// failures apart and keeps the token out of every error.
//
// Goroutines: [Adapter.Run] starts one for each chat of a batch, at most
// acceptParallel at a time, and waits for them before it polls again.
package telegram
