package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/policy/flow"
	"sluice/sessions"
)

// memoryVersions is how many versions of a memory are shown.
const memoryVersions = 100

func (s *Server) memoryRoutes(api huma.API) {
	huma.Register(api, op(http.MethodGet, "/v1/memory", "list-memories", "What agents remember, by key, or what fits some words, the best first"), s.memories)
	huma.Register(api, op(http.MethodGet, "/v1/memory/{memory}", "get-memory", "A memory with the versions and tombstones of its key"), s.memory)
	huma.Register(api, op(http.MethodDelete, "/v1/memory/{memory}", "delete-memory", "Let an agent forget; what was there is kept as a version", http.StatusNoContent), s.deleteMemory)
}

// memoryRecord is a version of a memory as programs see it.
type memoryRecord struct {
	ID        sessions.MemoryID     `json:"id"`
	Namespace string                `json:"namespace" doc:"the agents that share it: an agent's id, or a name that the configuration gives"`
	Audience  sessions.Audience     `json:"audience" doc:"owner, or the key of the conversation that told it"`
	Level     flow.Level            `json:"classification"`
	Trust     string                `json:"trust" enum:"trusted,untrusted"`
	Key       string                `json:"key"`
	Content   string                `json:"content"`
	Tags      []string              `json:"tags"`
	Session   sessions.ID           `json:"session" doc:"that saved it"`
	Run       sessions.RunID        `json:"run,omitempty"`
	Created   time.Time             `json:"created_at" doc:"of the key's first version"`
	Updated   time.Time             `json:"updated_at" doc:"of this version"`
	Expires   *time.Time            `json:"expires_at,omitempty"`
	Deleted   bool                  `json:"deleted,omitempty" doc:"a tombstone: nothing is remembered under the key at this level"`
	Ended     *time.Time            `json:"ended_at,omitempty" doc:"absent: the current version"`
	Ending    sessions.MemoryEnding `json:"ending,omitempty" enum:"replaced,deleted,expired,uncovered"`
}

func memoryOf(m sessions.Memory) memoryRecord {
	return memoryRecord{
		ID: m.ID, Namespace: m.Namespace, Audience: m.Audience, Level: m.Label.Level(), Trust: m.Label.Trust().String(), Key: m.Key, Content: m.Content,
		Tags: slices.Concat([]string{}, m.Tags), Session: m.Session, Run: m.Run, Created: m.Created, Updated: m.Updated, Expires: optional(m.Expires),
		Deleted: m.Deleted, Ended: optional(m.Ended), Ending: m.Ending,
	}
}

type memoryList struct {
	Memories []memoryRecord `json:"memories"`
	Next     string         `json:"next,omitempty" doc:"there are more: after for the page that follows"`
}

type memoryQuery struct {
	Namespace string `query:"namespace" doc:"default: all" maxLength:"64"`
	Audience  string `query:"audience" doc:"owner, or the key of a conversation; default: all" maxLength:"512"`
	Tag       string `query:"tag" doc:"only memories with this tag; without q" maxLength:"64"`
	Q         string `query:"q" doc:"words of what is looked for" maxLength:"16384"`
	Limit     int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After     string `query:"after" doc:"next of the page before; without q" maxLength:"2048"`
}

// memories shows what a session of the caller's level would see.
func (s *Server) memories(ctx context.Context, in *memoryQuery) (*body[memoryList], error) {
	scope := sessions.MemoryScope{Namespace: in.Namespace, Audience: sessions.Audience(in.Audience), MaxLevel: callerOf(ctx).Level, Now: s.cfg.Now()}
	if in.Q != "" {
		if in.Tag != "" || in.After != "" {
			return nil, badRequest("q: what fits words has neither pages nor tags: leave out tag and after")
		}
		found, err := s.cfg.Store.SearchMemories(ctx, sessions.MemorySearch{MemoryScope: scope, Text: in.Q, Limit: in.Limit})
		return s.memoryPage(found, "", err)
	}
	q := sessions.MemoryQuery{MemoryScope: scope, Tag: in.Tag, Limit: in.Limit + 1}
	if in.After != "" {
		var err error
		if q.After, err = sessions.ParseMemoryPlace(in.After); err != nil {
			return nil, badRequest("after: " + err.Error())
		}
	}
	found, err := s.cfg.Store.Memories(ctx, q)
	next := ""
	if len(found) > in.Limit {
		found = found[:in.Limit]
		last := found[in.Limit-1]
		next = sessions.MemoryPlace{Namespace: last.Namespace, Key: last.Key, Audience: last.Audience}.Cursor()
	}
	return s.memoryPage(found, next, err)
}

func (s *Server) memoryPage(found []sessions.Memory, next string, err error) (*body[memoryList], error) {
	if err != nil {
		return nil, s.problem(err)
	}
	out := memoryList{Memories: []memoryRecord{}, Next: next}
	for _, m := range found {
		out.Memories = append(out.Memories, memoryOf(m))
	}
	return &body[memoryList]{out}, nil
}

type memoryShown struct {
	Memory   memoryRecord   `json:"memory"`
	Versions []memoryRecord `json:"versions" doc:"of the key, in its audience and at its level: all that are kept, tombstones too, the newest first"`
}

// MemoryPath names a version of a memory.
type MemoryPath struct {
	ID string `path:"memory" maxLength:"64"`
}

// visibleMemory is a version of a memory that the caller may know of.
func (s *Server) visibleMemory(ctx context.Context, id string) (sessions.Memory, error) {
	m, err := s.cfg.Store.Memory(ctx, sessions.MemoryID(id), flow.Restricted)
	return m, s.visible(ctx, err, object{"memory", string(m.ID), m.Session, m.Label})
}

func (s *Server) memory(ctx context.Context, in *MemoryPath) (*body[memoryShown], error) {
	m, err := s.visibleMemory(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	versions, err := s.cfg.Store.MemoryVersions(ctx, m, memoryVersions)
	if err != nil {
		return nil, s.problem(err)
	}
	out := memoryShown{Memory: memoryOf(m), Versions: []memoryRecord{}}
	for _, v := range versions {
		out.Versions = append(out.Versions, memoryOf(v))
	}
	return &body[memoryShown]{out}, nil
}

func (s *Server) deleteMemory(ctx context.Context, in *struct {
	MemoryPath
	Uncover bool `query:"uncover" doc:"let what less confidential conversations have saved under the key be seen again where this was"`
},
) (*struct{}, error) {
	m, err := s.visibleMemory(ctx, in.ID)
	if err == nil && !m.Ended.IsZero() {
		err = sessions.ErrNotFound // another version is the current one, or none
	}
	if err != nil {
		return nil, s.problem(err)
	}
	now := s.cfg.Now()
	err = s.cfg.Store.DeleteMemory(ctx, sessions.MemoryDelete{
		Memory: sessions.Memory{
			ID: sessions.NewMemoryID(), Namespace: m.Namespace, Audience: m.Audience, Label: flow.NewLabel(m.Label.Level(), flow.Trusted), Key: m.Key, Updated: now,
		},
		Uncover: in.Uncover,
		Audit:   []sessions.AuditEntry{{At: now, Actor: callerOf(ctx).actor(), Action: "memory.delete", Object: string(m.ID), Session: m.Session, Label: m.Label}},
	})
	if err != nil {
		return nil, s.problem(err)
	}
	return nil, nil
}
