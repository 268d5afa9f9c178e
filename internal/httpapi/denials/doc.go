// Package denials writes into the audit trail what callers of the API were not shown or not allowed to do, so that the
// operator learns of it. Requests only hand a denial over; one goroutine counts equal ones and stores them once a minute.
//
// In: a denial from a request. Out: entries http.denied, one commit for up to 100. At the bound of the queue a denial is
// counted in sluice_http_denials_dropped_total and dropped; if the store fails, entries wait for the next minute.
package denials
