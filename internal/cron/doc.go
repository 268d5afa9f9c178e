// Package cron says when a job is due: at the instants of a cron expression, at equal distances, or once. It only
// calculates; it keeps no state and reads no clock.
//
// A schedule is given in local time of a zone. A local time that a clock change skips means the first instant after the
// change. A local time that occurs twice means the first occurrence. Several local times can therefore mean one instant,
// and a schedule names each instant once. Equal distances count elapsed time and ignore clock changes.
package cron
