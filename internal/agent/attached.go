package agent

import (
	"context"
	"fmt"

	"sluice/internal/agent/tools/talk"
	"sluice/policy/flow"
	"sluice/router/outbound"
	runs "sluice/router/work"
	"sluice/sessions"
)

// giver reads a file of a session's workspace that its agent has attached to its reply.
type giver func(ctx context.Context, caller sessions.Caller, path string) (outbound.NewFile, flow.Label, error)

// attach adds the files to the answer that the run's calls of the tool attach have named. People are told about a file that can no
// longer be sent.
func (w *work) attach(ctx context.Context, answer *runs.Answer) {
	if !w.attached && w.run.Attempts <= 1 {
		return
	}
	tool, ok := w.session.Tool(talk.AttachName)
	if !ok || tool.Client != "" || tool.Remote != nil {
		return
	}
	paths, more := talk.Attached(w.session.Messages(), w.run.ID)
	record := w.session.Record()
	caller := sessions.Caller{
		Session: record.ID, Key: record.Key, Agent: record.Agent, Run: w.run.ID, Taint: record.Taint, Sandbox: w.session.Sandbox(), Route: w.run.Route,
	}
	answer.FilesLabel = flow.Bottom()
	var told []string
	for _, path := range paths {
		file, label, err := w.give(ctx, caller, path)
		if err != nil {
			w.log.Warn("file not attached", "run", string(w.run.ID), "session", string(record.ID), "err", err)
			told = append(told, fmt.Sprintf("_(I could not attach %s.)_", sessions.HeadWord(path)))
			continue
		}
		answer.Files, answer.FilesLabel = append(answer.Files, file), answer.FilesLabel.Join(label)
	}
	if more > 0 {
		told = append(told, fmt.Sprintf("_(%d more files are not attached: a reply has at most %d.)_", more, len(paths)))
	}
	answer.Tell(told...)
}
