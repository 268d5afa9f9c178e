package conversation

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

const titleMax = 200 // bytes

// inherit removes an override, as null does.
const inherit = "inherit"

// patchInput changes settings of a session.
type patchInput struct {
	SessionPath
	Body settings
}

// settings are the fields that a patch names, as the caller wrote them. They are checked here and not by the API
// library, so that an error names a field as the caller wrote it.
type settings map[string]json.RawMessage

// setting is one field that a patch may name.
type setting struct {
	name  string
	about string
	enum  []string // its values besides inherit and null; nil: any text
	max   int      // bytes of a text; 0: no limit of its own
	// number reads a number, which may also be written as a text; nil: it is not a number.
	number func(text string) (string, error)
	limits [2]float64 // of a number
	owner  bool       // only an owner sets it, as in a chat: it decides where the session speaks and whom it hears
	set    func(p *sessions.Patch, value flow.Text)
}

func patchable() []setting {
	return []setting{
		{name: "send_policy", about: "whether replies may be sent; only with the gateway's own token", owner: true, enum: []string{"allow", "deny"}, set: into(func(p *sessions.Patch) **sessions.SendPolicy { return &p.SendPolicy })},
		{name: "group_activation", about: "whether a group must mention the bot; only with the gateway's own token", owner: true, enum: []string{"mention", "always"}, set: into(func(p *sessions.Patch) **sessions.Activation { return &p.Activation })},
		{name: "queue_mode", about: "how messages are handled that arrive during a run", enum: []string{"steer", "followup", "collect", "interrupt"}, set: into(func(p *sessions.Patch) **sessions.QueueMode { return &p.QueueMode })},
		{name: "thinking_level", about: "how much the model may reason", enum: []string{"off", "low", "medium", "high"}, set: into(func(p *sessions.Patch) **sessions.ThinkingLevel { return &p.ThinkingLevel })},
		{name: "verbose_level", about: "how much of the work people are shown", enum: []string{"off", "on", "full"}, set: into(func(p *sessions.Patch) **sessions.VerboseLevel { return &p.VerboseLevel })},
		{name: temperatureField, about: "how freely the model chooses its words; only with the gateway's own token", owner: true, number: temperatureOf, limits: [2]float64{0, sessions.TemperatureMax}, set: into(func(p *sessions.Patch) **sessions.Temperature { return &p.Temperature })},
		{name: "max_output_tokens", about: "maximum tokens of a reply; only with the gateway's own token", owner: true, number: tokensOf, limits: [2]float64{1, sessions.OutputTokensMax}, set: setMaxTokens},
		{name: modelField, about: "<provider>/<model>; empty: the agent's", set: intoText(func(p *sessions.Patch) **flow.Text { return &p.Model })},
		{name: "label", about: "the name that people gave it", max: sessions.LabelMax, set: intoText(func(p *sessions.Patch) **flow.Text { return &p.Label })},
		{name: "title", about: "its name for people if it has no label", max: titleMax, set: intoText(func(p *sessions.Patch) **flow.Text { return &p.Title })},
	}
}

const (
	modelField       = "model"
	metadataField    = "metadata"
	temperatureField = "temperature"
)

// temperatureOf reads a temperature.
func temperatureOf(text string) (string, error) {
	t, err := sessions.ParseTemperature(text)
	return string(t), err
}

// tokensOf reads a number of tokens.
func tokensOf(text string) (string, error) {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > sessions.OutputTokensMax {
		return "", fmt.Errorf("want a whole number from 1 to %d", sessions.OutputTokensMax)
	}
	return text, nil
}

// setMaxTokens sets what tokensOf has read; empty removes the setting.
func setMaxTokens(p *sessions.Patch, value flow.Text) {
	n, _ := strconv.Atoi(value.Raw()) // 0 where it is empty
	p.MaxTokens = &n
}

// into sets a field of a patch to one of its values.
func into[T ~string](field func(p *sessions.Patch) **T) func(*sessions.Patch, flow.Text) {
	return func(p *sessions.Patch, value flow.Text) {
		v := T(value.Raw())
		*field(p) = &v
	}
}

// intoText sets a field of a patch to the caller's own text.
func intoText(field func(p *sessions.Patch) **flow.Text) func(*sessions.Patch, flow.Text) {
	return func(p *sessions.Patch, value flow.Text) { *field(p) = &value }
}

// patching is who sets what.
type patching struct {
	label flow.Label              // of the caller's words
	token string                  // the name of the caller's token; empty: the gateway's own
	check func(name string) error // whether the session may have a model
}

// Schema implements [huma.SchemaProvider].
func (settings) Schema(huma.Registry) *huma.Schema {
	properties := map[string]*huma.Schema{
		metadataField: {Type: huma.TypeObject, Nullable: true, AdditionalProperties: true, Description: "any JSON object"},
	}
	for _, f := range patchable() {
		s := &huma.Schema{Type: huma.TypeString, Nullable: true, Description: f.about + "; null removes it"}
		if f.enum != nil {
			for _, word := range append(slices.Clone(f.enum), inherit) {
				s.Enum = append(s.Enum, word)
			}
			s.Enum = append(s.Enum, nil)
		}
		if f.number != nil {
			s.Type, s.Minimum, s.Maximum = huma.TypeNumber, &f.limits[0], &f.limits[1]
		}
		if f.max > 0 {
			s.MaxLength = &f.max
		}
		properties[f.name] = s
	}
	return &huma.Schema{
		Type: huma.TypeObject, Properties: properties, AdditionalProperties: false,
		Description: "Changes the named settings; null removes an override. Names may also be written in camel case: sendPolicy for send_policy.",
	}
}

// patch is what the settings change. Its error lists every fault with its field.
func (in settings) patch(by patching) (sessions.Patch, error) {
	var p sessions.Patch
	var errs []error
	seen := map[string]string{}
	for _, written := range slices.Sorted(maps.Keys(in)) {
		name := snake(written)
		if other, twice := seen[name]; twice {
			errs = append(errs, fmt.Errorf("%s: the same setting as %s; give it once", written, other))
			continue
		}
		seen[name] = written
		if err := setField(&p, name, in[written], by); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", written, err))
		}
	}
	if len(in) == 0 {
		errs = append(errs, errors.New("nothing to change: give at least one setting"))
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
		return errors.New("unknown setting")
	}
	if fields[i].owner && by.token != "" {
		return wire.Forbidden(name + ": only the owner sets it; use the gateway's own token instead of the token " + by.token)
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

// text reads a value; empty removes the setting.
func (f setting) text(value json.RawMessage) (string, error) {
	if f.number != nil {
		return f.numeral(value)
	}
	var text *string
	if err := json.Unmarshal(value, &text); err != nil {
		return "", fmt.Errorf("want a string or null, not %s", value)
	}
	switch {
	case text == nil, f.enum != nil && *text == inherit:
		return "", nil
	case f.enum != nil && !slices.Contains(f.enum, *text):
		return "", fmt.Errorf("%q is not one of %s or %s", *text, strings.Join(f.enum, ", "), inherit)
	case f.max > 0 && len(*text) > f.max:
		return "", fmt.Errorf("%d bytes, but the limit is %d", len(*text), f.max)
	case strings.ContainsRune(*text, 0) || !utf8.ValidString(*text):
		return "", errors.New("has an invalid character: want UTF-8 without NUL")
	}
	return *text, nil
}

// numeral reads a number; empty removes the setting.
func (f setting) numeral(value json.RawMessage) (string, error) {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		text = string(value)
	}
	if text == inherit || string(value) == "null" {
		return "", nil
	}
	return f.number(cmp.Or(text, "nothing"))
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
	text = withoutStatus(text)
	p.Metadata = &text
	return nil
}

// snake turns sendPolicy into send_policy.
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

// Patch changes the settings of a session.
func (a *SessionAPI) Patch(ctx context.Context, in *patchInput) (*wire.Body[sessionRecord], error) {
	r, err := a.Visible.Session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	who := auth.CallerOf(ctx)
	label, err := who.InputLabel("")
	if err != nil {
		return nil, err
	}
	p, err := in.Body.patch(patching{label, who.Name, func(name string) error { return a.Models.Check(name, r.Taint.Level()) }})
	if known, ok := errors.AsType[*wire.Error](err); ok {
		return nil, known
	}
	if err != nil {
		return nil, wire.Invalid(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if err := a.temperatureFits(ctx, r, p); err != nil {
		return nil, err
	}
	p.ID = r.ID
	if r, err = a.Keeper.PatchSession(ctx, p, who.Actor()); err != nil {
		return nil, err
	}
	return a.show(ctx, r)
}

// temperatureFits refuses a temperature that the session's model does not take.
func (a *SessionAPI) temperatureFits(ctx context.Context, r sessions.Record, p sessions.Patch) error {
	if p.Temperature == nil || *p.Temperature == "" {
		return nil
	}
	p.Apply(&r)
	limit := a.Models.MaxTemperature(cmp.Or(r.Model.Raw(), a.Models.Default(r.Agent)))
	if *p.Temperature.Value() <= limit {
		return nil
	}
	model := cmp.Or(auth.CallerOf(ctx).Quotes().Or(r.Model, "the model of this session"), a.Models.Default(r.Agent))
	return wire.Invalid(fmt.Sprintf("temperature: %s is too high for %s: want a number from 0 to %g", *p.Temperature, model, limit))
}
