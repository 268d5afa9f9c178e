package conversation

import (
	"context"
	"slices"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/branches"
	"sluice/router/ledger"
	"sluice/sessions"
)

// NoticeRows reads deliveries: what the gateway itself has said.
type NoticeRows interface {
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error)
}

// noticesMax is how many notices of a session a history can show.
const noticesMax = 500

// HistoryAPI serves the transcript of a session.
type HistoryAPI struct {
	Visible *view.Visibility
	Rows    SessionRows
	Tree    branches.Tree
	Notices NoticeRows
	Names   view.FileNames
	Answers *Answers
	Channel string // of the page, whose notices belong to the history
}

// messageRecord is one message of a transcript. Role notice is what the gateway itself says, or a message that was not an answer.
type messageRecord struct {
	ID      string             `json:"id"`
	Parent  string             `json:"parent,omitempty" doc:"the message before it in the tree of messages; absent for the first one, and if you may not see it"`
	Role    string             `json:"role" enum:"user,agent,assistant,toolResult,summary,notice"`
	Text    string             `json:"text"`
	Sender  *sessions.Peer     `json:"sender,omitempty"`
	Parts   []sessions.Part    `json:"parts,omitempty"`
	Files   []view.MediaRecord `json:"files,omitempty" doc:"content: GET /v1/media/{id}"`
	Buttons []sessions.Button  `json:"buttons,omitempty" doc:"press: what to send to press one"`
	Run     sessions.RunID     `json:"run,omitempty"`
	Model   string             `json:"model,omitempty"`
	Label   string             `json:"label"`
	Created time.Time          `json:"created"`

	Withheld *withheldRecord `json:"withheld,omitempty" doc:"why a reply of the agent is withheld from the API; text is empty"`
}

func messageOf(m sessions.Message) messageRecord {
	out := messageRecord{
		ID: string(m.ID), Role: string(m.Role), Text: m.Text(), Parts: m.Parts, Run: m.Run, Model: m.Model,
		Label: m.Label.String(), Created: m.Created,
	}
	if m.Sender != (sessions.Peer{}) {
		out.Sender = &m.Sender
	}
	if m.Role == sessions.RoleAssistant && sessions.Silent(out.Text) {
		out.Text = "" // nobody sees the text that stands for silence
		out.Parts = slices.DeleteFunc(slices.Clone(out.Parts), func(p sessions.Part) bool { return p.Type == sessions.PartText })
	}
	return out
}

func (a *HistoryAPI) noticeOf(ctx context.Context, d ledger.Delivery) messageRecord {
	return messageRecord{ID: string(d.ID), Role: "notice", Text: d.Text, Files: a.Names.Of(ctx, d), Buttons: view.OpenButtons(d), Label: d.Label.String(), Created: d.Created}
}

// branchRecord is one branch of the last turn.
type branchRecord struct {
	Message  string `json:"message" doc:"the first message of its answer, or its question if it has no answer"`
	Selected bool   `json:"selected,omitempty" doc:"the transcript shows this branch"`
}

type transcript struct {
	Session   sessions.ID     `json:"session"`
	Head      string          `json:"head,omitempty" doc:"the last message of the selected branch, if you may see it"`
	Branches  []branchRecord  `json:"branches,omitempty" doc:"the branches of the last turn, the oldest first, if there are several and you may see all of them: the message /branch N continues from the N-th one"`
	Messages  []messageRecord `json:"messages"`
	Truncated bool            `json:"truncated,omitempty" doc:"older messages were left out because of the limit or the size of the response"`
	view.Found
}

// Get merges the thread with the notices that were shown on the page, by time.
func (a *HistoryAPI) Get(ctx context.Context, in *struct {
	SessionPath
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"200" doc:"at most this many, the newest"`
	Before string `query:"before" maxLength:"64" doc:"id of a message: only those before it"`
	Run    string `query:"run" maxLength:"64" doc:"id of a run: only its messages"`
	Find   string `query:"find" maxLength:"200" doc:"text to look for in all messages of the transcript, see found"`
},
) (*wire.Body[transcript], error) {
	r, err := a.Visible.Readable(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	who := auth.CallerOf(ctx)
	thread, err := a.Rows.Thread(ctx, r)
	if err != nil {
		return nil, err
	}
	notices, err := a.Notices.ListDeliveries(ctx, ledger.Query{MaxLevel: who.Level, Session: r.ID, Channel: a.Channel, NoReplies: true, Limit: noticesMax})
	if err != nil {
		return nil, err
	}
	messages := make([]messageRecord, 0, len(thread)+len(notices))
	var seen string // the message before, if the caller sees it
	for _, m := range thread {
		if !who.Sees(m.Label) {
			seen = ""
			continue
		}
		out := messageOf(m)
		out.Parent, seen = seen, out.ID
		messages = append(messages, out)
	}
	for _, d := range notices {
		if d.Status == ledger.DeliverySent {
			messages = append(messages, a.noticeOf(ctx, d))
		}
	}
	if in.Run != "" {
		messages = slices.DeleteFunc(messages, func(m messageRecord) bool { return string(m.Run) != in.Run })
	}
	slices.SortStableFunc(messages, func(a, b messageRecord) int { return a.Created.Compare(b.Created) })
	found, err := view.Find(messages, in.Find, messageRecord.texts, func(some []messageRecord) error { return a.Answers.filterHistory(ctx, r, some) })
	if err != nil {
		return nil, err
	}
	if in.Before != "" {
		i := slices.IndexFunc(messages, func(m messageRecord) bool { return m.ID == in.Before })
		if i < 0 {
			return nil, wire.BadRequest("before: the transcript has no message with this id")
		}
		messages = messages[:i]
	}
	kept := newestMessages(messages, in.Limit)
	if err := a.Answers.filterHistory(ctx, r, kept); err != nil {
		return nil, err
	}
	versions, err := a.branches(ctx, r, thread)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(transcript{r.ID, seen, versions, kept, len(kept) < len(messages), found}), nil
}

// branches lists the branches of the last turn. Their numbers count all of them, so a caller who may not see one of them sees none.
func (a *HistoryAPI) branches(ctx context.Context, r sessions.Record, thread []sessions.Message) ([]branchRecord, error) {
	found, err := branches.Of(ctx, a.Tree, r.ID, thread)
	if err != nil || len(found) < 2 {
		return nil, err
	}
	who := auth.CallerOf(ctx)
	out := make([]branchRecord, len(found))
	for i, b := range found {
		if !who.Sees(b.Question.Label) || b.Answer.ID != "" && !who.Sees(b.Answer.Label) {
			return nil, nil
		}
		out[i] = branchRecord{string(b.ID), b.Selected}
	}
	return out, nil
}

// texts returns what a search looks at.
func (m messageRecord) texts() (id string, texts []string) {
	texts = []string{m.Text}
	for _, p := range m.Parts {
		switch p.Type {
		case sessions.PartThinking, sessions.PartToolResult:
			texts = append(texts, p.Text)
		case sessions.PartToolCall:
			texts = append(texts, p.Tool, string(p.Args))
		}
	}
	return m.ID, texts
}

// newestMessages are the last messages of a transcript: at least one, at most limit, and about a page's bytes.
func newestMessages(messages []messageRecord, limit int) []messageRecord {
	first, size := len(messages), 0
	for first > 0 && len(messages)-first < limit && size < view.PageBytes {
		first--
		size += 2 * len(messages[first].Text) // it is in the parts, too
		for _, p := range messages[first].Parts {
			size += len(p.Args)
			if p.Type != sessions.PartText {
				size += len(p.Text)
			}
		}
	}
	return messages[first:]
}
