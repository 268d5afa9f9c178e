// Package skills serves the skills of agents to operators. Only the gateway's own token changes them: what a skill says may steer
// an agent as its owner does.
package skills

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/internal/skill"
	"sluice/policy/flow"
)

// Path is where skills are added.
const Path = "/v1/skills"

// BodyMax is the size of the body that adds a skill, in bytes: base64 makes an archive longer.
const BodyMax = skill.ArchiveMax*4/3 + 64<<10

// Keeper is what the handlers need of the gateway.
type Keeper interface {
	List(ctx context.Context, a skill.Agent) ([]skill.Entry, error)
	Get(ctx context.Context, a skill.Agent, name string) (skill.Entry, error)
	Add(ctx context.Context, a skill.Agent, add skill.Addition) (skill.Entry, error)
	Trust(ctx context.Context, a skill.Agent, name string, label flow.Label, digest, by string) (skill.Entry, error)
	Remove(ctx context.Context, a skill.Agent, name, by string) error
}

// API serves skills.
type API struct {
	Visible *view.Visibility
	Keeper  Keeper
	// Agent finds an agent by its id; with an empty id, the default agent.
	Agent func(id string) (skill.Agent, bool)
	// Agents are the ids of all agents.
	Agents func() []string
}

// skillRecord is a skill as programs see it.
type skillRecord struct {
	Agent       string      `json:"agent"`
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	State       skill.State `json:"state" enum:"ok,unpinned,changed,invalid,missing" doc:"agents use skills that are ok or unpinned"`
	Problem     string      `json:"problem,omitempty" doc:"why agents can't use it"`
	Level       flow.Level  `json:"classification"`
	Trust       string      `json:"trust" enum:"trusted,untrusted"`
	Digest      string      `json:"digest,omitempty" doc:"SHA-256 of its content now"`
	Pinned      string      `json:"pinned,omitempty" doc:"SHA-256 of the content that was added or trusted last"`
	Signer      string      `json:"signer,omitempty" doc:"the key of skills.keys that has signed it"`
	Source      string      `json:"source,omitempty" doc:"where it comes from"`
	By          string      `json:"by,omitempty" doc:"who has added or trusted it last"`
	Added       *time.Time  `json:"added,omitempty"`
	Files       int         `json:"files"`
	Bytes       int64       `json:"bytes"`
}

func skillOf(agent string, e skill.Entry) skillRecord {
	return skillRecord{
		Agent: agent, Name: e.Name, Description: e.Description, State: e.State, Problem: e.Problem, Level: e.Label.Level(), Trust: e.Label.Trust().String(),
		Digest: e.Digest, Pinned: e.Pin.Digest, Signer: e.Signer, Source: e.Pin.Source, By: e.Pin.By, Added: view.Optional(e.Pin.At), Files: len(e.Files), Bytes: e.Bytes,
	}
}

type skillList struct {
	Skills []skillRecord `json:"skills"`
}

// agent finds the agent of a request.
func (a *API) agent(id string) (skill.Agent, error) {
	found, ok := a.Agent(id)
	if !ok {
		return skill.Agent{}, wire.Invalid("agent: the configuration has no agent of this id")
	}
	return found, nil
}

// List lists the skills that the caller may know of.
func (a *API) List(ctx context.Context, in *struct {
	Agent string `query:"agent" maxLength:"64" doc:"default: all agents"`
},
) (*wire.Body[skillList], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	ids := a.Agents()
	if in.Agent != "" {
		ids = []string{in.Agent}
	}
	out := skillList{Skills: []skillRecord{}}
	for _, id := range ids {
		agent, err := a.agent(id)
		if err != nil {
			return nil, err
		}
		entries, err := a.Keeper.List(ctx, agent)
		if err != nil {
			return nil, problem(fmt.Errorf("agent %s: %w", id, err))
		}
		for _, e := range entries {
			if auth.CallerOf(ctx).Sees(e.Label) {
				out.Skills = append(out.Skills, skillOf(id, e))
			}
		}
	}
	return wire.NewBody(out), nil
}

// Named names a skill of an agent.
type Named struct {
	Name  string `path:"skill" maxLength:"64"`
	Agent string `query:"agent" maxLength:"64" doc:"default: the default agent"`
}

// skillShown is a skill with its instructions.
type skillShown struct {
	skillRecord
	Text  string   `json:"text" doc:"the instructions"`
	Paths []string `json:"paths" doc:"of its files"`
}

// Get shows a skill, its instructions and the names of its files.
func (a *API) Get(ctx context.Context, in *Named) (*wire.Body[skillShown], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	agent, err := a.agent(in.Agent)
	if err != nil {
		return nil, err
	}
	e, err := a.Keeper.Get(ctx, agent, in.Name)
	if errors.Is(err, skill.ErrNotFound) {
		err = wire.ErrNotFound
	}
	if err := a.Visible.Check(ctx, err, denials.Object{Kind: "skill", ID: agent.ID + "/" + in.Name, Label: e.Label}); err != nil {
		return nil, err
	}
	out := skillShown{skillRecord: skillOf(agent.ID, e), Text: e.Document.Text, Paths: []string{}}
	for _, f := range e.Files {
		out.Paths = append(out.Paths, f.Path)
	}
	return wire.NewBody(out), nil
}

// ownerOnly refuses everybody but the owner.
func ownerOnly(ctx context.Context) error {
	if who := auth.CallerOf(ctx); !who.Owner() || !who.SeesAll() {
		return wire.Forbidden("only the owner adds, trusts and removes skills: use the gateway's own token")
	}
	return nil
}

// skillAddition is the body that adds a skill.
type skillAddition struct {
	Body struct {
		Agent          string `json:"agent,omitempty" maxLength:"64" doc:"default: the default agent"`
		Archive        []byte `json:"archive" doc:"a ZIP or tar archive, compressed or not, with SKILL.md at its root or in its one folder; at most 16 MiB"`
		SHA256         string `json:"sha256,omitempty" pattern:"^[0-9a-f]{64}$" doc:"that the archive, or the skill's content, must have"`
		Remote         bool   `json:"remote,omitempty" doc:"it was downloaded: it needs sha256 or a signature with a key of skills.keys"`
		Replace        bool   `json:"replace,omitempty" doc:"replace the skill of this name"`
		Trust          bool   `json:"trust,omitempty" doc:"trust this content"`
		Classification string `json:"classification,omitempty" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"level of the skill: sessions below it don't see it; default: workspaceClassification of the agent"`
		Source         string `json:"source,omitempty" maxLength:"1000" doc:"where it comes from"`
	}
}

// Add adds a skill.
func (a *API) Add(ctx context.Context, in *skillAddition) (*wire.Body[skillRecord], error) {
	if err := ownerOnly(ctx); err != nil {
		return nil, err
	}
	agent, err := a.agent(in.Body.Agent)
	if err != nil {
		return nil, err
	}
	if len(in.Body.Archive) > skill.ArchiveMax {
		return nil, wire.TooLarge("the archive has more than 16 MiB")
	}
	add := skill.Addition{
		Archive: in.Body.Archive, SHA256: in.Body.SHA256, Remote: in.Body.Remote, Replace: in.Body.Replace, Source: in.Body.Source, By: auth.CallerOf(ctx).Actor(),
	}
	if add.Label, err = label(agent, in.Body.Classification, in.Body.Trust); err != nil {
		return nil, err
	}
	e, err := a.Keeper.Add(ctx, agent, add)
	if err != nil {
		return nil, problem(err)
	}
	return wire.NewBody(skillOf(agent.ID, e)), nil
}

// label is the label of a skill: the agent's level by default.
func label(agent skill.Agent, classification string, trust bool) (flow.Label, error) {
	level := agent.Level
	if !level.Valid() {
		level = flow.Public
	}
	if classification != "" {
		var err error
		if level, err = flow.ParseLevel(classification); err != nil {
			return flow.Label{}, wire.Invalid(err.Error())
		}
	}
	if trust {
		return flow.NewLabel(level, flow.Trusted), nil
	}
	return flow.NewLabel(level, flow.Untrusted), nil
}

// skillChange is the body that changes what the owner says about a skill.
type skillChange struct {
	Named
	Body struct {
		Trust          *bool  `json:"trust,omitempty" doc:"whether this content is trusted; default: unchanged"`
		Classification string `json:"classification,omitempty" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"default: unchanged"`
		Digest         string `json:"digest,omitempty" maxLength:"80" doc:"the content that you have reviewed; if the content is different now, nothing changes"`
	}
}

// Change pins a skill's content as it is now, trusted or not.
func (a *API) Change(ctx context.Context, in *skillChange) (*wire.Body[skillRecord], error) {
	if err := ownerOnly(ctx); err != nil {
		return nil, err
	}
	agent, err := a.agent(in.Agent)
	if err != nil {
		return nil, err
	}
	e, err := a.Keeper.Get(ctx, agent, in.Name)
	if err != nil {
		return nil, problem(err)
	}
	trust := e.Usable() && e.Label.Trust() == flow.Trusted
	if in.Body.Trust != nil {
		trust = *in.Body.Trust
	}
	agent.Level = e.Label.Level()
	to, err := label(agent, in.Body.Classification, trust)
	if err != nil {
		return nil, err
	}
	if e, err = a.Keeper.Trust(ctx, agent, in.Name, to, in.Body.Digest, auth.CallerOf(ctx).Actor()); err != nil {
		return nil, problem(err)
	}
	return wire.NewBody(skillOf(agent.ID, e)), nil
}

// Remove deletes a skill.
func (a *API) Remove(ctx context.Context, in *Named) (*struct{}, error) {
	if err := ownerOnly(ctx); err != nil {
		return nil, err
	}
	agent, err := a.agent(in.Agent)
	if err != nil {
		return nil, err
	}
	return nil, problem(a.Keeper.Remove(ctx, agent, in.Name, auth.CallerOf(ctx).Actor()))
}

// problem turns an error of the keeper into a response.
func problem(err error) error {
	bad, isArchive := errors.AsType[*skill.ArchiveError](err)
	switch {
	case errors.Is(err, skill.ErrNotFound):
		return wire.ErrNotFound
	case isArchive:
		return wire.Invalid(bad.Error())
	case errors.Is(err, skill.ErrExists):
		return wire.NewError(http.StatusConflict, "exists", skill.ErrExists.Error())
	case errors.Is(err, skill.ErrRefused):
		return wire.Conflict(err.Error())
	}
	return err
}
