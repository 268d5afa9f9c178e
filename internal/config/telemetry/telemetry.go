// Package telemetry has the part of the configuration that says where traces go.
package telemetry

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"sluice/adapters"
)

// Telemetry says where traces go.
type Telemetry struct {
	OTLP    adapters.Secret            `yaml:"otlp" doc:"Address of an OpenTelemetry collector that accepts traces as OTLP over HTTP, for example http://127.0.0.1:4318; /v1/traces is added. Empty: traces are off. Spans contain ids, sizes and names from the configuration, never texts: docs/operations.md."`
	Headers map[string]adapters.Secret `yaml:"headers" doc:"Headers of the requests to the collector, for example Authorization."`
	Sample  Share                      `yaml:"sample" doc:"Share of the messages that are traced, from 0 to 1. All replicas choose the same messages, by their ids."`
}

// Share is a number from 0 to 1.
type Share string

// UnmarshalText reads a share.
func (s *Share) UnmarshalText(text []byte) error {
	if n, err := strconv.ParseFloat(string(text), 64); err != nil || !(n >= 0 && n <= 1) {
		return errors.New("want a number from 0 to 1, such as 0.1")
	}
	*s = Share(text)
	return nil
}

// Number is the share; 1 if it is not given.
func (s Share) Number() float64 {
	n, err := strconv.ParseFloat(string(s), 64)
	if err != nil {
		return 1
	}
	return n
}

// Check reports what is wrong.
func (t *Telemetry) Check(fault func(path, text string)) {
	address := t.OTLP.Reveal()
	if u, err := url.Parse(address); address != "" && (err != nil || u.Host == "" || u.RawQuery != "" || !slices.Contains([]string{"http", "https"}, u.Scheme)) {
		fault("telemetry.otlp", "want the address of a collector that speaks OTLP over HTTP, for example http://127.0.0.1:4318")
	}
	for name, value := range t.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value.Reveal()) || strings.EqualFold(name, "Content-Type") {
			fault("telemetry.headers."+name, "is not a header that can be set")
		}
	}
}

// HeaderValues are the headers of a request.
func (t *Telemetry) HeaderValues() map[string]string {
	values := make(map[string]string, len(t.Headers))
	for name, value := range t.Headers {
		values[name] = value.Reveal()
	}
	return values
}
