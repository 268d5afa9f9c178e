package api

import (
	"encoding/json"
	"time"
)

// JobList is a page of jobs.
type JobList struct {
	Jobs []Job `json:"jobs"`
}

// Job is a job.
type Job struct {
	ID       string          `json:"id"`
	State    string          `json:"state"`
	Origin   string          `json:"origin"`
	Place    string          `json:"place"`
	When     string          `json:"when"`
	Next     *time.Time      `json:"next"`
	Text     string          `json:"text"`
	Prompt   string          `json:"prompt"`
	Checks   []string        `json:"checks"`
	To       []string        `json:"to"`
	Fallback []string        `json:"fallback"`
	Label    string          `json:"label"`
	Job      json.RawMessage `json:"job"`
	Maker    string          `json:"maker"`
	Session  string          `json:"session"`
	Fault    string          `json:"fault"`
	Changed  *time.Time      `json:"changed"`
	By       string          `json:"changed_by"`
}

// JobHistory is a page of the times of a job.
type JobHistory struct {
	Instants []JobInstant `json:"instants"`
}

// JobInstant is the result of a time of a job.
type JobInstant struct {
	Key        string    `json:"key"`
	Instant    time.Time `json:"instant"`
	Status     string    `json:"status"`
	By         string    `json:"by"`
	Missed     int       `json:"missed"`
	Run        string    `json:"run"`
	Attempts   int       `json:"attempts"`
	Input      int       `json:"input_tokens"`
	Output     int       `json:"output_tokens"`
	Why        string    `json:"why"`
	Deliveries []struct {
		Target   string `json:"target"`
		Delivery string `json:"delivery"`
		State    string `json:"state"`
		Error    string `json:"error"`
	} `json:"deliveries"`
}
