package operator

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/internal/logs"
)

// Logs has the newest lines of the log.
type Logs interface {
	// Lines returns lines, newest first, and whether there are more.
	Lines(q logs.Query) (found []logs.Line, more bool)
	// Mark returns a number that changes with each line.
	Mark() uint64
}

// LogAPI serves the newest lines of this replica's log.
type LogAPI struct{ Logs Logs }

type logField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type logLine struct {
	ID     string     `json:"id"`
	At     time.Time  `json:"at"`
	Level  string     `json:"level" enum:"debug,info,warn,error"`
	Part   string     `json:"part,omitempty" doc:"what the line is about, for example telegram/default"`
	Text   string     `json:"text"`
	Fields []logField `json:"fields" doc:"at most 20; long values are cut"`
}

type logList struct {
	Lines []logLine `json:"lines"`
}

// List lists log lines. They have no label of their own, so only callers that may see everything see them.
func (a *LogAPI) List(ctx context.Context, in *struct {
	Level string `query:"level" enum:"debug,info,warn,error" default:"debug" doc:"only lines of this level and above; log.level decides what is logged at all"`
	Part  string `query:"part" maxLength:"512" doc:"only lines about this part, for example telegram/default"`
	Words string `query:"q" maxLength:"512" doc:"only lines whose text or fields contain this"`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After string `query:"after" maxLength:"64" doc:"id of the last line of the previous page"`
},
) (*view.Page[logList], error) {
	if !auth.CallerOf(ctx).SeesAll() {
		return nil, wire.Forbidden("log lines have no level: reading them needs a token whose classification is RESTRICTED and, on the page, channels.webchat.classification: RESTRICTED")
	}
	q := logs.Query{Part: in.Part, Words: in.Words, Limit: in.Limit, After: in.After}
	if err := q.Level.UnmarshalText([]byte(in.Level)); err != nil {
		return nil, wire.BadRequest(err.Error())
	}
	lines, more := a.Logs.Lines(q)
	out := logList{Lines: make([]logLine, len(lines))}
	for i := range lines {
		out.Lines[i] = lineOf(&lines[i])
	}
	bound := view.NewBound()
	bound.More = more
	return view.NewPage(view.NextLink(ctx, bound, view.LastID(out.Lines, func(l logLine) string { return l.ID })), out), nil
}

func lineOf(l *logs.Line) logLine {
	out := logLine{ID: l.ID, At: l.At, Level: levelName(l.Level), Part: l.Part, Text: l.Text, Fields: make([]logField, len(l.Fields))}
	for i, f := range l.Fields {
		out.Fields[i] = logField(f)
	}
	return out
}

// levelName is the level's name without an offset: INFO for INFO+2.
func levelName(l slog.Level) string {
	for _, named := range []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo} {
		if l >= named {
			return strings.ToLower(named.String())
		}
	}
	return "debug"
}
