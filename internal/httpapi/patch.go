package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"sluice/policy/flow"
	"sluice/sessions"
)

const titleMost = 200 // bytes

// inherit takes an override back, as null does.
const inherit = "inherit"

// patchInput changes settings of a session.
type patchInput struct {
	SessionPath
	Body settings
}

// settings are the fields that a patch names, as they were written. Null takes a
// setting back. They are checked here and not by the API library, so that an error
// names the field as the caller has written it.
type settings map[string]json.RawMessage

// setting is one field that a patch may name.
type setting struct {
	name  string
	about string
	enum  []string // what it may be besides inherit and null; nil: any text
	most  int      // bytes of a text; 0: no bound of its own
	owner bool     // only an owner sets it, as in a chat: it says where the session speaks and whom it hears
	set   func(p *sessions.Patch, value flow.Text)
}

func patchable() []setting {
	return []setting{
		{name: "send_policy", about: "whether answers may leave; only with the gateway's own token", owner: true, enum: []string{"allow", "deny"}, set: into(func(p *sessions.Patch) **sessions.SendPolicy { return &p.SendPolicy })},
		{name: "group_activation", about: "whether a group must mention the bot; only with the gateway's own token", owner: true, enum: []string{"mention", "always"}, set: into(func(p *sessions.Patch) **sessions.Activation { return &p.Activation })},
		{name: "queue_mode", about: "what becomes of messages that come while a run works", enum: []string{"steer", "followup", "collect", "interrupt"}, set: into(func(p *sessions.Patch) **sessions.QueueMode { return &p.QueueMode })},
		{name: "thinking_level", about: "how much the model may reason", enum: []string{"off", "low", "medium", "high"}, set: into(func(p *sessions.Patch) **sessions.ThinkingLevel { return &p.ThinkingLevel })},
		{name: "verbose_level", about: "how much of the work people are shown", enum: []string{"off", "on", "full"}, set: into(func(p *sessions.Patch) **sessions.VerboseLevel { return &p.VerboseLevel })},
		{name: modelField, about: "<provider>/<model>; empty follows the agent", set: intoText(func(p *sessions.Patch) **flow.Text { return &p.Model })},
		{name: "label", about: "the name that people gave it", most: sessions.LabelMost, set: intoText(func(p *sessions.Patch) **flow.Text { return &p.Label })},
		{name: "title", about: "its name for people where it has no label", most: titleMost, set: intoText(func(p *sessions.Patch) **flow.Text { return &p.Title })},
	}
}

const (
	modelField    = "model"
	metadataField = "metadata"
)

// into sets a field of a patch to one of a few words.
func into[T ~string](field func(p *sessions.Patch) **T) func(*sessions.Patch, flow.Text) {
	return func(p *sessions.Patch, value flow.Text) {
		v := T(value.Raw())
		*field(p) = &v
	}
}

// intoText sets a field of a patch to a text of the caller's.
func intoText(field func(p *sessions.Patch) **flow.Text) func(*sessions.Patch, flow.Text) {
	return func(p *sessions.Patch, value flow.Text) { *field(p) = &value }
}

// patching is who sets what.
type patching struct {
	label flow.Label              // of the caller's words
	token string                  // the name of the caller's token; empty: it is the gateway's own
	check func(name string) error // of a model
}

// Schema implements [huma.SchemaProvider].
func (settings) Schema(huma.Registry) *huma.Schema {
	properties := map[string]*huma.Schema{
		metadataField: {Type: huma.TypeObject, Nullable: true, AdditionalProperties: true, Description: "any JSON object"},
	}
	for _, f := range patchable() {
		s := &huma.Schema{Type: huma.TypeString, Nullable: true, Description: f.about + "; null takes it back"}
		if f.enum != nil {
			for _, word := range append(slices.Clone(f.enum), inherit) {
				s.Enum = append(s.Enum, word)
			}
			s.Enum = append(s.Enum, nil)
		}
		if f.most > 0 {
			s.MaxLength = &f.most
		}
		properties[f.name] = s
	}
	return &huma.Schema{
		Type: huma.TypeObject, Properties: properties, AdditionalProperties: false,
		Description: "What is named is changed, null takes an override back. A name may also be written as sendPolicy is for send_policy.",
	}
}

// patch is what the settings change. Its error says all that is wrong, each with its field.
func (in settings) patch(by patching) (sessions.Patch, error) {
	var p sessions.Patch
	var errs []error
	seen := map[string]string{}
	for _, written := range slices.Sorted(maps.Keys(in)) {
		name := snake(written)
		if other, twice := seen[name]; twice {
			errs = append(errs, fmt.Errorf("%s: it is named as %s too", written, other))
			continue
		}
		seen[name] = written
		if err := setField(&p, name, in[written], by); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", written, err))
		}
	}
	if len(in) == 0 {
		errs = append(errs, errors.New("nothing to change: name a field"))
	}
	return p, errors.Join(errs...)
}

func setField(p *sessions.Patch, name string, value json.RawMessage, by patching) error {
	if name == metadataField {
		return setMetadata(p, value)
	}
	fields := patchable()
	i := slices.IndexFunc(fields, func(f setting) bool { return f.name == name })
	if i < 0 {
		return errors.New("there is no such setting")
	}
	if fields[i].owner && by.token != "" {
		return forbidden(name + ": only the owner sets it, with the gateway's own token; the token " + by.token + " is an operator's")
	}
	text, err := fields[i].text(value)
	if err != nil {
		return err
	}
	if name == modelField && text != "" {
		if err := by.check(text); err != nil {
			return err
		}
	}
	fields[i].set(p, flow.NewText(text, by.label))
	return nil
}

// text reads a value; empty takes the setting back.
func (f setting) text(value json.RawMessage) (string, error) {
	var text *string
	if err := json.Unmarshal(value, &text); err != nil {
		return "", fmt.Errorf("want a text or null, not %s", value)
	}
	switch {
	case text == nil, f.enum != nil && *text == inherit:
		return "", nil
	case f.enum != nil && !slices.Contains(f.enum, *text):
		return "", fmt.Errorf("%q is not %s or %s", *text, strings.Join(f.enum, ", "), inherit)
	case f.most > 0 && len(*text) > f.most:
		return "", fmt.Errorf("%d bytes, the most is %d", len(*text), f.most)
	case strings.ContainsRune(*text, 0) || !utf8.ValidString(*text):
		return "", errors.New("has a character that is none")
	}
	return *text, nil
}

func setMetadata(p *sessions.Patch, value json.RawMessage) error {
	text := []byte(value)
	if bytes.Equal(text, []byte("null")) {
		text = []byte{}
	} else if json.Unmarshal(text, &map[string]any{}) != nil {
		return errors.New("want a JSON object or null")
	} else if err := metadataFits(value); err != nil {
		return err
	}
	p.Metadata = &text
	return nil
}

// snake is a field's name as it is in a record, sendPolicy as send_policy.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func (s *Server) patchSession(ctx context.Context, in *patchInput) (*body[sessionRecord], error) {
	r, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	label, err := said(ctx, "")
	if err != nil {
		return nil, err
	}
	p, err := in.Body.patch(patching{label, callerOf(ctx).Name, func(name string) error { return s.cfg.CheckModel(name, r.Taint.Level()) }})
	if big, ok := errors.AsType[*apiError](err); ok {
		return nil, big
	}
	if err != nil {
		return nil, &apiError{http.StatusUnprocessableEntity, "invalid_request", strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	p.ID = r.ID
	if r, err = s.cfg.Router.PatchSession(ctx, p, callerOf(ctx).actor()); err != nil {
		return nil, s.problem(err)
	}
	return s.shown(ctx, r)
}
