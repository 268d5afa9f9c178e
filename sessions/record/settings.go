package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"sluice/policy/flow"

	"sluice/sessions/address"
	"sluice/sessions/turn"
)

// ThinkingLevel is how much a model may reason before it answers.
type ThinkingLevel string

// The thinking levels; ThinkingInherit follows the agent.
const (
	ThinkingInherit ThinkingLevel = ""
	ThinkingOff     ThinkingLevel = "off"
	ThinkingLow     ThinkingLevel = "low"
	ThinkingMedium  ThinkingLevel = "medium"
	ThinkingHigh    ThinkingLevel = "high"
)

// Valid reports whether it is one of the levels, or ThinkingInherit.
func (l ThinkingLevel) Valid() bool {
	return slices.Contains([]ThinkingLevel{ThinkingInherit, ThinkingOff, ThinkingLow, ThinkingMedium, ThinkingHigh}, l)
}

// VerboseLevel is how much of the work on an answer people are shown.
type VerboseLevel string

// The verbose levels: nothing but the answer, the tools that are called, their results
// too. VerboseInherit follows the agent.
const (
	VerboseInherit VerboseLevel = ""
	VerboseOff     VerboseLevel = "off"
	VerboseOn      VerboseLevel = "on"
	VerboseFull    VerboseLevel = "full"
)

// Valid reports whether it is one of the levels, or VerboseInherit.
func (l VerboseLevel) Valid() bool {
	return slices.Contains([]VerboseLevel{VerboseInherit, VerboseOff, VerboseOn, VerboseFull}, l)
}

// Temperature is how freely a model chooses its words, as a decimal number from 0 to [TemperatureMax]. An empty one follows
// the agent. [ParseTemperature] makes it.
type Temperature string

// TemperatureMax is the highest temperature of any provider. A provider may take less.
const TemperatureMax = 2

var errTemperature = errors.New("want a number from 0 to 2 with at most two decimals, such as 0.7")

// ParseTemperature reads a temperature. An empty text is an empty temperature.
func ParseTemperature(text string) (Temperature, error) {
	if text == "" {
		return "", nil
	}
	v, err := strconv.ParseFloat(text, 64)
	hundredths := math.Round(v * 100)
	if err != nil || !(v >= 0 && v <= TemperatureMax) || math.Abs(hundredths-v*100) > 1e-9 {
		return "", errTemperature
	}
	return Temperature(strconv.FormatFloat(hundredths/100+0, 'f', -1, 64)), nil // + 0: -0 becomes 0
}

// UnmarshalText reads a temperature.
func (t *Temperature) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTemperature(string(text))
	return err
}

// Value is the temperature as a number; nil if it is empty.
func (t Temperature) Value() *float32 {
	v, err := strconv.ParseFloat(string(t), 32)
	if err != nil {
		return nil
	}
	return new(float32(v))
}

// OutputTokensMax is the highest limit of an answer's length that can be set, in tokens.
const OutputTokensMax = 1_000_000

// LabelMax is the length of a session's label in bytes, at most.
const LabelMax = 512

// Patch sets a session's settings; nil leaves a field as it is, and what is empty clears an override.
type Patch struct {
	ID            address.ID
	SendPolicy    *SendPolicy
	Activation    *Activation
	Model         *flow.Text
	Title         *flow.Text
	Metadata      *[]byte
	ThinkingLevel *ThinkingLevel
	VerboseLevel  *VerboseLevel
	Temperature   *Temperature
	MaxTokens     *int // of an answer
	Voice         *bool
	QueueMode     *turn.QueueMode
	Label         *flow.Text
	TTL           *time.Duration
}

// Check refuses an invalid value. The error names the field.
func (p Patch) Check() error {
	var errs []error
	if p.ThinkingLevel != nil && !p.ThinkingLevel.Valid() {
		errs = append(errs, fmt.Errorf("thinkingLevel: %q is not off, low, medium or high", *p.ThinkingLevel))
	}
	if p.VerboseLevel != nil && !p.VerboseLevel.Valid() {
		errs = append(errs, fmt.Errorf("verboseLevel: %q is not off, on or full", *p.VerboseLevel))
	}
	errs = append(errs, p.checkAnswers()...)
	if p.QueueMode != nil && !p.QueueMode.Valid() {
		errs = append(errs, fmt.Errorf("queueMode: %q is not steer, followup, collect or interrupt", *p.QueueMode))
	}
	if p.SendPolicy != nil && !slices.Contains([]SendPolicy{SendInherit, SendAllow, SendDeny}, *p.SendPolicy) {
		errs = append(errs, fmt.Errorf("sendPolicy: %q is not allow or deny", *p.SendPolicy))
	}
	if p.Activation != nil && !slices.Contains([]Activation{ActivationInherit, ActivationMention, ActivationAlways}, *p.Activation) {
		errs = append(errs, fmt.Errorf("groupActivation: %q is not mention or always", *p.Activation))
	}
	if p.Label != nil && (len(p.Label.Raw()) > LabelMax || !utf8.ValidString(p.Label.Raw())) {
		errs = append(errs, fmt.Errorf("label: %d bytes, want UTF-8 of at most %d", len(p.Label.Raw()), LabelMax))
	}
	if p.Metadata != nil && len(*p.Metadata) > MetadataMax {
		errs = append(errs, fmt.Errorf("metadata: %d bytes, the maximum is %d", len(*p.Metadata), MetadataMax))
	}
	return errors.Join(errs...)
}

// checkAnswers checks the settings of how a model answers.
func (p Patch) checkAnswers() (errs []error) {
	if p.Temperature != nil {
		if same, err := ParseTemperature(string(*p.Temperature)); err != nil || same != *p.Temperature {
			errs = append(errs, fmt.Errorf("temperature: %q: %w", *p.Temperature, errTemperature))
		}
	}
	if p.MaxTokens != nil && (*p.MaxTokens < 0 || *p.MaxTokens > OutputTokensMax) {
		errs = append(errs, fmt.Errorf("maxOutputTokens: %d is not from 1 to %d", *p.MaxTokens, OutputTokensMax))
	}
	return errs
}

// MetadataMax is the length of a session's metadata in bytes, at most. Rows of before this bound may have more.
const MetadataMax = 64 << 10

// Empty reports whether the patch sets nothing.
func (p Patch) Empty() bool { return p == Patch{ID: p.ID} }

// Apply sets in a record what the patch sets.
func (p Patch) Apply(r *Record) {
	set(&r.SendPolicy, p.SendPolicy)
	set(&r.Activation, p.Activation)
	set(&r.Model, p.Model)
	set(&r.Title, p.Title)
	set(&r.TTL, p.TTL)
	set(&r.ThinkingLevel, p.ThinkingLevel)
	set(&r.VerboseLevel, p.VerboseLevel)
	set(&r.Temperature, p.Temperature)
	set(&r.MaxTokens, p.MaxTokens)
	set(&r.Voice, p.Voice)
	set(&r.QueueMode, p.QueueMode)
	set(&r.Label, p.Label)
	if p.Metadata != nil {
		r.Metadata = *p.Metadata
	}
}

// Join is p with what a later patch sets.
func (p Patch) Join(later Patch) Patch {
	over(&p.SendPolicy, later.SendPolicy)
	over(&p.Activation, later.Activation)
	over(&p.Model, later.Model)
	over(&p.Title, later.Title)
	over(&p.ThinkingLevel, later.ThinkingLevel)
	over(&p.VerboseLevel, later.VerboseLevel)
	over(&p.Temperature, later.Temperature)
	over(&p.MaxTokens, later.MaxTokens)
	over(&p.Voice, later.Voice)
	over(&p.QueueMode, later.QueueMode)
	over(&p.Label, later.Label)
	over(&p.TTL, later.TTL)
	over(&p.Metadata, later.Metadata)
	return p
}

// Settings is the patch that sets all settings of the record.
func (r Record) Settings() Patch {
	metadata := []byte(r.Metadata)
	return Patch{
		ID: r.ID, SendPolicy: &r.SendPolicy, Activation: &r.Activation, Model: &r.Model, Title: &r.Title, Metadata: &metadata,
		ThinkingLevel: &r.ThinkingLevel, VerboseLevel: &r.VerboseLevel, Temperature: &r.Temperature, MaxTokens: &r.MaxTokens, Voice: &r.Voice, QueueMode: &r.QueueMode, Label: &r.Label, TTL: &r.TTL,
	}
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

func over[T any](field **T, value *T) {
	if value != nil {
		*field = value
	}
}
