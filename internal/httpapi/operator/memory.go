package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	// memoryVersions is how many versions of a memory are shown.
	memoryVersions = 100
	// ambiguousMax is how many memories with the same key an error names.
	ambiguousMax = 10
)

// MemoryRows reads and deletes memories.
type MemoryRows interface {
	Memory(ctx context.Context, id sessions.MemoryID, upTo flow.Level) (sessions.Memory, error)
	MemoryVersions(ctx context.Context, m sessions.Memory, limit int) ([]sessions.Memory, error)
	MemoryHistory(ctx context.Context, q sessions.MemoryHistory) ([]sessions.Memory, error)
	Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error)
	SearchMemories(ctx context.Context, q sessions.MemorySearch) ([]sessions.Memory, error)
	// MemoriesByKey reads the memories of a key in a scope.
	MemoriesByKey(ctx context.Context, q sessions.MemoryKeyed) ([]sessions.Memory, error)
	DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error
}

// MemoryWriter saves memories for agents.
type MemoryWriter interface {
	// Remember saves a memory, whose namespace is the agent's, within the agent's limits. An empty agent is the default one.
	Remember(ctx context.Context, agent string, m sessions.Memory, audit []sessions.AuditEntry) error
}

// MemoryAPI serves what agents remember.
type MemoryAPI struct {
	Visible  *view.Visibility
	Rows     MemoryRows
	Writer   MemoryWriter
	Identity view.Identity
	Now      func() time.Time
}

// memoryRecord is a version of a memory as programs see it.
type memoryRecord struct {
	ID        sessions.MemoryID     `json:"id"`
	Namespace string                `json:"namespace" doc:"which agents share it: an agent's id, or a name from the configuration"`
	Audience  sessions.Audience     `json:"audience" doc:"owner, or the key of the conversation it comes from, or webchat:token:NAME: a program with this token has saved it"`
	Level     flow.Level            `json:"classification"`
	Trust     string                `json:"trust" enum:"trusted,untrusted"`
	Key       string                `json:"key"`
	Content   string                `json:"content"`
	Tags      []string              `json:"tags"`
	Session   sessions.ID           `json:"session,omitempty" doc:"the session that saved it; absent: a program has saved it over the API"`
	Run       sessions.RunID        `json:"run,omitempty"`
	Created   time.Time             `json:"created_at" doc:"of the key's first version"`
	Updated   time.Time             `json:"updated_at" doc:"of this version"`
	Expires   *time.Time            `json:"expires_at,omitempty"`
	Deleted   bool                  `json:"deleted,omitempty" doc:"a tombstone: at this level nothing is remembered under the key"`
	Ended     *time.Time            `json:"ended_at,omitempty" doc:"absent: the current version"`
	Ending    sessions.MemoryEnding `json:"ending,omitempty" enum:"replaced,deleted,expired,uncovered"`
}

func memoryOf(m sessions.Memory) memoryRecord {
	return memoryRecord{
		ID: m.ID, Namespace: m.Namespace, Audience: m.Audience, Level: m.Label.Level(), Trust: m.Label.Trust().String(), Key: m.Key, Content: m.Content,
		Tags: view.NotNil(m.Tags), Session: m.Session, Run: m.Run, Created: m.Created, Updated: m.Updated, Expires: view.Optional(m.Expires),
		Deleted: m.Deleted, Ended: view.Optional(m.Ended), Ending: m.Ending,
	}
}

type memoryList struct {
	Memories []memoryRecord `json:"memories"`
	Next     string         `json:"next,omitempty" doc:"there are more: pass this as after to get the next page"`
}

type memoryQuery struct {
	Namespace string `query:"namespace" doc:"default: all" maxLength:"64"`
	Audience  string `query:"audience" doc:"owner, or the key of a conversation; default: all" maxLength:"512"`
	Level     string `query:"level" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"only memories of this level"`
	Tag       string `query:"tag" doc:"only memories with this tag; without q" maxLength:"64"`
	Q         string `query:"q" doc:"words to search for" maxLength:"16384"`
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After     string `query:"after" doc:"next from the previous page; without q" maxLength:"2048"`
}

// List shows what a session of the caller's level would see.
func (a *MemoryAPI) List(ctx context.Context, in *memoryQuery) (*wire.Body[memoryList], error) {
	scope := sessions.MemoryScope{Namespace: in.Namespace, Audience: sessions.Audience(in.Audience), MaxLevel: auth.CallerOf(ctx).Level, Now: a.Now()}
	if in.Level != "" {
		scope.Level, _ = flow.ParseLevel(in.Level) // one of the listed ones
	}
	if in.Q != "" {
		if in.Tag != "" || in.After != "" {
			return nil, wire.BadRequest("q: a search has neither pages nor tags; leave out tag and after")
		}
		found, err := a.Rows.SearchMemories(ctx, sessions.MemorySearch{MemoryScope: scope, Text: in.Q, Limit: in.Limit})
		return memoryPage(found, "", err)
	}
	q := sessions.MemoryQuery{MemoryScope: scope, Tag: in.Tag, Limit: in.Limit + 1}
	if in.After != "" {
		var err error
		if q.After, err = sessions.ParseMemoryPlace(in.After); err != nil {
			return nil, wire.BadRequest("after: " + err.Error())
		}
	}
	found, err := a.Rows.Memories(ctx, q)
	next := ""
	if len(found) > in.Limit {
		found = found[:in.Limit]
		last := found[in.Limit-1]
		next = sessions.MemoryPlace{Namespace: last.Namespace, Key: last.Key, Audience: last.Audience}.Cursor()
	}
	return memoryPage(found, next, err)
}

func memoryPage(found []sessions.Memory, next string, err error) (*wire.Body[memoryList], error) {
	if err != nil {
		return nil, err
	}
	out := memoryList{Memories: []memoryRecord{}, Next: next}
	for _, m := range found {
		out.Memories = append(out.Memories, memoryOf(m))
	}
	return wire.NewBody(out), nil
}

type memoryShown struct {
	Memory   memoryRecord   `json:"memory"`
	Versions []memoryRecord `json:"versions" doc:"every kept version of the key, in this audience and at this level, with tombstones; newest first"`
}

type memoryHistory struct {
	Memory   *memoryRecord  `json:"memory,omitempty" doc:"only without the parameter key: the memory with the key versions"`
	Versions []memoryRecord `json:"versions" doc:"newest first, with tombstones"`
	Next     string         `json:"next,omitempty" doc:"there are more: pass this as after to get the next page"`
}

type historyQuery struct {
	Key       string `query:"key" maxLength:"256" doc:"without it, the request is for the memory with the key versions"`
	Namespace string `query:"namespace" doc:"default: all" maxLength:"64"`
	Audience  string `query:"audience" doc:"owner, or the key of a conversation; default: all" maxLength:"512"`
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After     string `query:"after" doc:"next from the previous page" maxLength:"64"`
}

// History shows every version of a key that is kept: also what was replaced, deleted or has expired.
func (a *MemoryAPI) History(ctx context.Context, in *historyQuery) (*wire.Body[memoryHistory], error) {
	if in.Key == "" {
		shown, err := a.Get(ctx, &MemoryPath{ID: "versions", Namespace: in.Namespace})
		if err != nil {
			return nil, err
		}
		return wire.NewBody(memoryHistory{Memory: &shown.Body.Memory, Versions: shown.Body.Versions}), nil
	}
	found, err := a.Rows.MemoryHistory(ctx, sessions.MemoryHistory{
		Key: in.Key, Namespace: in.Namespace, Audience: sessions.Audience(in.Audience), MaxLevel: auth.CallerOf(ctx).Level, After: sessions.MemoryID(in.After), Limit: in.Limit + 1,
	})
	if err != nil {
		return nil, err
	}
	out := memoryHistory{Versions: []memoryRecord{}}
	if len(found) > in.Limit {
		found = found[:in.Limit]
		out.Next = string(found[in.Limit-1].ID)
	}
	for _, m := range found {
		out.Versions = append(out.Versions, memoryOf(m))
	}
	return wire.NewBody(out), nil
}

// MemoryPath names a version of a memory.
type MemoryPath struct {
	ID        string `path:"memory" maxLength:"256" doc:"its id or key"`
	Namespace string `query:"namespace" doc:"of the key; default: all" maxLength:"64"`
}

// find is a version of a memory that the caller may know of. The id of a hidden one may be a key, as that of an absent one.
func (a *MemoryAPI) find(ctx context.Context, in *MemoryPath) (sessions.Memory, error) {
	m, err := a.Rows.Memory(ctx, sessions.MemoryID(in.ID), flow.Restricted)
	hidden := err == nil && !auth.CallerOf(ctx).Sees(m.Label)
	if hidden || errors.Is(err, sessions.ErrNotFound) {
		named, fault := a.byKey(ctx, in)
		if !hidden || !errors.Is(fault, sessions.ErrNotFound) {
			m, err = named, fault
		}
	}
	return m, a.Visible.Check(ctx, err, denials.Object{Kind: "memory", ID: string(m.ID), Session: m.Session, Label: m.Label})
}

// byKey is the memory with a key. Where several conversations have saved one, the caller's own comes first.
func (a *MemoryAPI) byKey(ctx context.Context, in *MemoryPath) (sessions.Memory, error) {
	who := auth.CallerOf(ctx)
	own := a.audienceOf(who)
	found, err := a.Rows.MemoriesByKey(ctx, sessions.MemoryKeyed{
		MemoryScope: sessions.MemoryScope{Namespace: in.Namespace, MaxLevel: who.Level, Now: a.Now()}, Key: in.ID, First: own, Limit: ambiguousMax,
	})
	switch {
	case err != nil:
		return sessions.Memory{}, err
	case len(found) == 0:
		return sessions.Memory{}, sessions.ErrNotFound
	case len(found) == 1, found[0].Audience == own && found[1].Audience != own:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i, m := range found {
		ids[i] = fmt.Sprintf("%s (namespace %s, audience %s)", m.ID, m.Namespace, m.Audience)
	}
	return sessions.Memory{}, wire.Conflict("several memories have this key; name one by its id: " + strings.Join(ids, ", "))
}

// audienceOf is the audience of what a caller saves: the owners, or a named token alone. Owners' runs read both; the runs of others
// read neither.
func (a *MemoryAPI) audienceOf(who auth.Caller) sessions.Audience {
	if who.Owner() {
		return sessions.AudienceOwner
	}
	return sessions.Audience(a.Identity.Principal(who))
}

type memorySave struct {
	Body struct {
		Key     string     `json:"key" minLength:"1" maxLength:"256" doc:"what it is about, on one line; replaces what you have saved under the key before"`
		Content string     `json:"content" minLength:"1" maxLength:"65536"`
		Tags    []string   `json:"tags,omitempty" maxItems:"32" doc:"each at most 64 bytes"`
		Expires *time.Time `json:"expires_at,omitempty" doc:"when to forget it; default: never"`
		Agent   string     `json:"agent,omitempty" maxLength:"64" doc:"the agent that remembers it; default: the default agent"`
		Label   string     `json:"label,omitempty" doc:"level of the content, or LEVEL/trust; default PUBLIC. With a named token, the level is that of the token"`
	}
}

// Save lets an agent remember something, with the label of what the caller says.
func (a *MemoryAPI) Save(ctx context.Context, in *memorySave) (*wire.Body[memoryRecord], error) {
	who := auth.CallerOf(ctx)
	label, err := who.SavedLabel(in.Body.Label)
	if err != nil {
		return nil, err
	}
	m := sessions.Memory{
		ID: sessions.NewMemoryID(), Audience: a.audienceOf(who), Label: label, Key: in.Body.Key, Content: in.Body.Content, Tags: in.Body.Tags, Updated: a.Now(),
	}
	if in.Body.Expires != nil {
		m.Expires = in.Body.Expires.UTC()
	}
	err = a.Writer.Remember(ctx, in.Body.Agent, m, []sessions.AuditEntry{{At: m.Updated, Actor: who.Actor(), Action: "memory.save", Object: string(m.ID), Label: label}})
	if err != nil {
		return nil, err
	}
	m, err = a.Rows.Memory(ctx, m.ID, label.Level())
	return wire.NewBody(memoryOf(m)), err
}

// Get answers with a memory and the versions of its key.
func (a *MemoryAPI) Get(ctx context.Context, in *MemoryPath) (*wire.Body[memoryShown], error) {
	m, err := a.find(ctx, in)
	if err != nil {
		return nil, err
	}
	versions, err := a.Rows.MemoryVersions(ctx, m, memoryVersions)
	if err != nil {
		return nil, err
	}
	out := memoryShown{Memory: memoryOf(m), Versions: []memoryRecord{}}
	for _, v := range versions {
		out.Versions = append(out.Versions, memoryOf(v))
	}
	return wire.NewBody(out), nil
}

// Delete deletes a memory and keeps its versions.
func (a *MemoryAPI) Delete(ctx context.Context, in *struct {
	MemoryPath
	Uncover bool `query:"uncover" doc:"show again what less confidential conversations have saved under the key"`
},
) (*struct{}, error) {
	m, err := a.find(ctx, &in.MemoryPath)
	if err == nil && !m.Ended.IsZero() {
		err = sessions.ErrNotFound // it is not the current version
	}
	if err != nil {
		return nil, err
	}
	now := a.Now()
	return nil, a.Rows.DeleteMemory(ctx, sessions.MemoryDelete{
		Memory: sessions.Memory{
			ID: sessions.NewMemoryID(), Namespace: m.Namespace, Audience: m.Audience, Label: flow.NewLabel(m.Label.Level(), flow.Trusted), Key: m.Key, Updated: now,
		},
		Uncover: in.Uncover,
		Audit:   []sessions.AuditEntry{{At: now, Actor: auth.CallerOf(ctx).Actor(), Action: "memory.delete", Object: string(m.ID), Session: m.Session, Label: m.Label}},
	})
}
