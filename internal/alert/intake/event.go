package intake

import (
	"time"
	"unicode/utf8"
)

// Action is what an event does to its alert.
type Action string

// The actions.
const (
	Fire        Action = "fire"
	Acknowledge Action = "acknowledge"
	Resolve     Action = "resolve"
)

// Severity is how bad an alert is.
type Severity string

// The severities, worst first.
const (
	Critical Severity = "critical"
	Error    Severity = "error"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Sign stands before a text to show at a glance how bad it is. Empty: the text needs no sign.
func (s Severity) Sign() string {
	switch s {
	case Critical:
		return "🚨 "
	case Error:
		return "❗ "
	default:
		return ""
	}
}

// Link is an address that helps to look into an alert.
type Link struct{ Title, URL string }

// Event is what a sender says about one alert.
type Event struct {
	Action Action
	// Key identifies the alert for its sender: Alertmanager's fingerprint, or PagerDuty's dedup_key.
	Key         string
	Severity    Severity
	Title, Text string
	Labels      map[string]string
	Annotations map[string]string // as they came, only cut; title, text and links are taken from them
	Links       []Link
	// GeneratorURL is the address of the rule as it came. If it is a web address, it is one of Links too.
	GeneratorURL string
	Starts       time.Time
	// Ends is when the alert is over unless the sender repeats it. Zero: when the sender says so.
	Ends time.Time
}

// Batch is what one request says.
type Batch struct {
	Events    []Event
	Invalid   []error // alerts that were left out, each with its place in the request
	Truncated int     // alerts that the sender itself left out
	Places    []int   // of a webhook: where in its list each event stands
}

// Defaults complete what a sender leaves out.
type Defaults struct {
	Now            time.Time
	ResolveTimeout time.Duration // how long an alert lasts that has no end and is not repeated
}

// Limits of a request. A request beyond AlertsMax is refused as a whole.
const (
	BodyMax        = 4 << 20 // bytes
	AlertsMax      = 1000
	labelsMax      = 64
	labelNameMax   = 256     // bytes
	labelValueMax  = 2 << 10 // bytes
	labelsBytesMax = 16 << 10
	annotationsMax = 32

	annotationsBytesMax = 32 << 10
	annotationMin       = 64      // bytes; less room is not used
	textMax             = 8 << 10 // bytes of a text or an annotation
	titleMax            = 512     // bytes
	linksMax            = 8
	linkMax             = 2 << 10 // bytes
	keyMax              = 255     // bytes
)

// cut shortens a text to a number of bytes and says that it did.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "… (cut)"
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
