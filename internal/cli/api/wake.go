package api

import "time"

// Wake is the result of sending a text to a session.
type Wake struct {
	Session string `json:"session"`
	ID      string `json:"id"`
	Mode    string `json:"mode"`
	Run     string `json:"run_id"`
	Reply   string `json:"reply"`
	Job     string `json:"job"`

	Next *time.Time `json:"next"`
}
