// Package cli is the command line. It parses arguments, runs one command and
// turns the result into an exit code:
//
//   - api finds the gateway and talks to it;
//   - terminal prints results;
//   - command makes commands that ask the gateway;
//   - automation, chat, doctor, setup and others are commands or groups of commands;
//   - the rest is here, one file for each group of commands.
//
// Exit codes: 0 done, 1 failed, 2 wrong use or a faulty configuration.
//
// Signals: the first interrupt ends a command in an orderly way, the second one
// at once. In a chat the first interrupt stops the agent's run, and ends the chat
// at the prompt.
package cli
