// Package intake reads what other programs say about alerts: requests of Alertmanager's API, the webhooks of
// Alertmanager and Grafana, events for PagerDuty, and plain texts with ntfy's headers.
//
// All functions are pure. They take the bytes of a request and give events, or say what is wrong with the request.
// Nothing of a sender is trusted: labels beyond the limits are refused, because labels identify an alert; titles, texts
// and annotations beyond the limits are cut, and say so.
package intake
