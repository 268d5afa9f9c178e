// Package settings serves the configuration to the owner: what is in effect and where it comes from, what a change would
// do, saving it, and the earlier versions. Nobody else sees any of it: who may change the configuration may do everything.
//
// The value of a secret is nowhere in an answer, also not masked: what is read could be saved again.
package settings

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/internal/settings"
)

// Path is where the configuration is served.
const Path = "/v1/config"

// BodyMax is the size of a body that changes the configuration, in bytes: a whole file, whose escapes make it longer.
const BodyMax = 8 << 20

// Keeper has the configuration.
type Keeper interface {
	Read() (settings.State, error)
	Patterns() []settings.Pattern
	Check(d settings.Draft) (settings.Effects, error)
	Save(ctx context.Context, d settings.Draft, tag, by string) (settings.Saved, error)
	History() ([]settings.Version, error)
}

// API serves the configuration.
type API struct {
	Keeper Keeper
	Tokens *auth.Tokens
}

// ownerOnly refuses everybody but an owner whose token sees everything. The level of the page does not count: a setting is
// nothing that a session has learned.
func (a *API) ownerOnly(ctx context.Context) error {
	who := auth.CallerOf(ctx)
	if who.Owner() && (who.SeesAll() || a.Tokens.SeesAll(ctx, who)) {
		return nil
	}
	return wire.Forbidden("only an owner whose token has the level RESTRICTED sees and changes the configuration")
}

// ConfigChange is how a key differs. It is exported because the API library only sees exported embedded types.
type ConfigChange struct {
	Path   string        `json:"path"`
	Kind   settings.Kind `json:"kind" enum:"text,number,bool,list,secret"`
	Before any           `json:"before,omitempty" doc:"absent: empty, or a secret"`
	After  any           `json:"after,omitempty" doc:"absent: empty, or a secret"`
	Was    bool          `json:"was_set"`
	Is     bool          `json:"is_set"`
}

func changesOf(changes []settings.Change) []ConfigChange {
	out := make([]ConfigChange, len(changes))
	for i, c := range changes {
		out[i] = ConfigChange(c)
	}
	return out
}

type configFault struct {
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Path   string `json:"path,omitempty"`
	Text   string `json:"text" doc:"what is wrong, and what to do"`
}

func faultsOf(faults settings.Faults) []configFault {
	out := make([]configFault, len(faults))
	for i, f := range faults {
		out[i] = configFault(f)
	}
	return out
}

type configSource struct {
	From settings.From `json:"from" enum:"default,file,environment,secret_file,credential,flag,made" doc:"made: by the gateway, at its first start"`
	Line int           `json:"line,omitempty" doc:"in the file"`
	Name string        `json:"name,omitempty" doc:"of the variable, the file, the credential or the flag"`
}

type configKey struct {
	Path    string        `json:"path"`
	Kind    settings.Kind `json:"kind" enum:"text,number,bool,list,secret"`
	Value   any           `json:"value,omitempty" doc:"absent: empty, or a secret. A text from the environment or a file is shown as its reference"`
	Set     bool          `json:"set" doc:"it has a value"`
	Options []string      `json:"options,omitempty" doc:"the only values"`
	Doc     string        `json:"doc"`
	Source  configSource  `json:"source"`
	Restart bool          `json:"restart" doc:"a change takes effect at the next start"`
}

type configState struct {
	File    string        `json:"file,omitempty" doc:"absent: there is none, and the first save makes one"`
	Makes   string        `json:"makes,omitempty" doc:"the file that the first save makes"`
	Version string        `json:"version" doc:"of the file, for If-Match"`
	Keys    []configKey   `json:"keys"`
	Faults  []configFault `json:"faults" doc:"of the file: while there are any, the last good configuration is in effect"`
	Waiting []string      `json:"waiting" doc:"changed keys that wait for a restart"`
}

// Get shows every key with its value and where it comes from.
func (a *API) Get(ctx context.Context, _ *struct{}) (*Tagged[configState], error) {
	if err := a.ownerOnly(ctx); err != nil {
		return nil, err
	}
	s, err := a.Keeper.Read()
	if err != nil {
		return nil, problem(err)
	}
	out := configState{File: s.File, Makes: s.Makes, Version: s.Print, Keys: make([]configKey, len(s.Keys)), Faults: faultsOf(s.Faults), Waiting: texts(s.Waiting)}
	for i := range s.Keys {
		k := &s.Keys[i]
		out.Keys[i] = configKey{Path: k.Path, Kind: k.Kind, Value: k.Value, Set: k.Set, Options: k.Enum, Doc: k.Doc, Source: configSource(k.Source), Restart: k.Restart}
	}
	return &Tagged[configState]{ETag: quoted(s.Print), Body: out}, nil
}

// Tagged is an answer about a version of the file.
type Tagged[T any] struct {
	ETag string `header:"ETag"`
	Body T
}

func quoted(tag string) string { return `"` + tag + `"` }

func texts(of []string) []string { return append([]string{}, of...) }

type configPattern struct {
	Path    string        `json:"path" doc:"<name> stands for a name of your choice, [] for a place in a list, such as [0]"`
	Kind    settings.Kind `json:"kind" enum:"text,number,bool,list,secret"`
	Options []string      `json:"options,omitempty"`
	Doc     string        `json:"doc"`
}

type configPatterns struct {
	Keys []configPattern `json:"keys"`
}

// Patterns lists the keys that there could be.
func (a *API) Patterns(ctx context.Context, _ *struct{}) (*wire.Body[configPatterns], error) {
	if err := a.ownerOnly(ctx); err != nil {
		return nil, err
	}
	out := configPatterns{Keys: []configPattern{}}
	for _, p := range a.Keeper.Patterns() {
		out.Keys = append(out.Keys, configPattern{p.Path, p.Kind, p.Enum, p.Doc})
	}
	return wire.NewBody(out), nil
}

// ConfigDraft is a configuration as the owner wants it.
type ConfigDraft struct {
	Changes []configEdit `json:"changes,omitempty" maxItems:"1000" doc:"keys with their new values; comments, order and all other lines stay"`
	Text    *string      `json:"text,omitempty" doc:"the whole file instead"`
	Version int          `json:"version,omitempty" minimum:"1" doc:"a version of the history instead, to go back to"`
}

type configEdit struct {
	Path   string `json:"path" minLength:"1" maxLength:"512" doc:"such as agents.list[0].model; a key with a dot is written [\"a.b\"]"`
	Value  any    `json:"value,omitempty" doc:"a text, a number, true, false, a list or a section. A secret is stored in a file of its own"`
	Remove bool   `json:"remove,omitempty" doc:"take the key out of the file"`
}

func (d ConfigDraft) draft() (settings.Draft, error) {
	given := 0
	for _, has := range []bool{len(d.Changes) > 0, d.Text != nil, d.Version > 0} {
		if has {
			given++
		}
	}
	if given != 1 {
		return settings.Draft{}, wire.Invalid("give one of changes, text and version")
	}
	out := settings.Draft{Text: d.Text, Version: d.Version}
	for _, e := range d.Changes {
		edit := settings.Edit{Path: e.Path, Remove: e.Remove}
		if e.Value == nil && !e.Remove {
			return out, wire.Invalid(e.Path + ": the value is missing; to take the key out of the file, set remove")
		}
		var err error
		if edit.Value, err = json.Marshal(e.Value); err != nil {
			return out, wire.Invalid(e.Path + ": " + err.Error())
		}
		out.Edits = append(out.Edits, edit)
	}
	return out, nil
}

type configAccount struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Effect  string `json:"effect" enum:"starts,stops,restarts"`
}

// ConfigEffects are what a draft would do.
type ConfigEffects struct {
	OK       bool            `json:"ok" doc:"it has no faults and can be saved"`
	Version  string          `json:"version" doc:"of the file that it changes, for If-Match"`
	Faults   []configFault   `json:"faults"`
	Changes  []ConfigChange  `json:"changes" doc:"what would differ from what is in effect"`
	Accounts []configAccount `json:"accounts" doc:"what would happen to accounts"`
	Restart  []string        `json:"restart" doc:"changed keys that would wait for a restart"`
}

func effectsOf(e *settings.Effects) ConfigEffects {
	out := ConfigEffects{OK: len(e.Faults) == 0, Version: e.Print, Faults: faultsOf(e.Faults), Changes: changesOf(e.Changes), Accounts: []configAccount{}, Restart: texts(e.Waiting)}
	for _, a := range e.Accounts {
		out.Accounts = append(out.Accounts, configAccount(a))
	}
	return out
}

// Check says what is wrong with a draft and what it would do. Nothing changes.
func (a *API) Check(ctx context.Context, in *struct{ Body ConfigDraft }) (*wire.Body[ConfigEffects], error) {
	if err := a.ownerOnly(ctx); err != nil {
		return nil, err
	}
	d, err := in.Body.draft()
	if err != nil {
		return nil, err
	}
	e, err := a.Keeper.Check(d)
	if err != nil {
		return nil, problem(err)
	}
	return wire.NewBody(effectsOf(&e)), nil
}

type configSaved struct {
	ConfigEffects
	Saved int `json:"saved" doc:"the version in the history"`
}

// Save writes a draft and puts it into effect.
func (a *API) Save(ctx context.Context, in *struct {
	Match string `header:"If-Match" doc:"the version of the file that you have read; 412 if it has changed since"`
	Body  ConfigDraft
},
) (*Tagged[configSaved], error) {
	if err := a.ownerOnly(ctx); err != nil {
		return nil, err
	}
	d, err := in.Body.draft()
	if err != nil {
		return nil, err
	}
	if in.Match == "" {
		return nil, wire.NewError(http.StatusPreconditionRequired, "precondition_required", "send the version of the file that you have read in the header If-Match")
	}
	// The save may take the caller's own access, which ends the request: it is completed all the same.
	s, err := a.Keeper.Save(context.WithoutCancel(ctx), d, strings.Trim(in.Match, `"`), auth.CallerOf(ctx).Actor())
	if err != nil {
		return nil, problem(err)
	}
	if len(s.Faults) > 0 {
		return nil, wire.Invalid("not saved: " + s.Faults.Error())
	}
	out := configSaved{ConfigEffects: effectsOf(&s.Effects), Saved: s.ID}
	out.Version = s.Print
	return &Tagged[configSaved]{ETag: quoted(s.Print), Body: out}, nil
}

type configVersion struct {
	ID      int            `json:"id"`
	At      time.Time      `json:"at"`
	By      string         `json:"by,omitempty" doc:"absent: the file was changed outside of the gateway"`
	Back    int            `json:"back_to,omitempty" doc:"the version to which it went back"`
	Changes []ConfigChange `json:"changes" doc:"what differed from what was in effect before"`
}

type configVersions struct {
	Versions []configVersion `json:"versions"`
}

// History lists the versions that are kept.
func (a *API) History(ctx context.Context, _ *struct{}) (*wire.Body[configVersions], error) {
	if err := a.ownerOnly(ctx); err != nil {
		return nil, err
	}
	all, err := a.Keeper.History()
	if err != nil {
		return nil, problem(err)
	}
	out := configVersions{Versions: []configVersion{}}
	for i := range all {
		v := &all[i]
		out.Versions = append(out.Versions, configVersion{v.ID, v.At, v.By, v.Back, changesOf(v.Changes)})
	}
	return wire.NewBody(out), nil
}

func problem(err error) error {
	switch {
	case errors.Is(err, settings.ErrChanged):
		return wire.NewError(http.StatusPreconditionFailed, "changed", err.Error())
	case errors.Is(err, settings.ErrNoVersion):
		return wire.ErrNotFound
	}
	if cannot, ok := errors.AsType[*settings.WriteError](err); ok {
		return wire.Conflict(cannot.Error())
	}
	if faults, ok := errors.AsType[settings.Faults](err); ok {
		return wire.Invalid("not saved: " + faults.Error())
	}
	return err
}
