// Package wire holds what stands between the API's handlers and the connection: the JSON shape of
// errors and lists, event streams, the checks of a query, and limits on slow readers and slow bodies.
// It knows nothing about the gateway.
package wire
