package telegram

import "net/http"

// SetTransport replaces the network, for tests in a bubble of fake time.
func (a *Adapter) SetTransport(t http.RoundTripper) { a.api.client.http.Transport = t }
