package api

import "time"

// AlertList is a page of alerts.
type AlertList struct {
	Alerts []Alert `json:"alerts"`
}

// Alert is an alert.
type Alert struct {
	Key         string            `json:"key"`
	Ref         string            `json:"ref"`
	Status      string            `json:"status"`
	Severity    string            `json:"severity"`
	Source      string            `json:"source"`
	Title       string            `json:"title"`
	Text        string            `json:"text"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Links       []struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	} `json:"links"`
	Label         string              `json:"label"`
	Started       time.Time           `json:"started"`
	Ends          *time.Time          `json:"ends"`
	Ended         time.Time           `json:"ended"`
	Occurrences   int                 `json:"occurrences"`
	By            string              `json:"by"`
	At            time.Time           `json:"at"`
	SilencedBy    []string            `json:"silenced_by"`
	Silences      []AlertSilence      `json:"silences"`
	InhibitedBy   []string            `json:"inhibited_by"`
	Told          []AlertNotification `json:"told"`
	Notifications []AlertNotification `json:"notifications"`
}

// AlertSilence is a silence that mutes an alert.
type AlertSilence struct {
	ID     string    `json:"id"`
	Author string    `json:"author"`
	Ends   time.Time `json:"ends"`
}

// AlertGroupList is a page of alert groups.
type AlertGroupList struct {
	Groups []AlertGroup `json:"groups"`
}

// AlertGroup is an open alert group.
type AlertGroup struct {
	Group         string              `json:"group"`
	Receiver      string              `json:"receiver"`
	Route         string              `json:"route"`
	Labels        map[string]string   `json:"labels"`
	Label         string              `json:"label"`
	Opened        time.Time           `json:"opened"`
	Severity      string              `json:"severity"`
	Firing        int                 `json:"firing"`
	Acknowledged  int                 `json:"acknowledged"`
	Ended         int                 `json:"ended"`
	Silenced      int                 `json:"silenced"`
	Inhibited     int                 `json:"inhibited"`
	Muted         bool                `json:"muted"`
	Step          int                 `json:"step"`
	Steps         int                 `json:"steps"`
	Told          []AlertNotification `json:"told"`
	Next          *AlertNext          `json:"next"`
	Alerts        []Alert             `json:"alerts"`
	Notifications []AlertNotification `json:"notifications"`
}

// AlertNext is the next message of a group.
type AlertNext struct {
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Targets []string  `json:"targets"`
}

// AlertNotification is what a target was told about an alert.
type AlertNotification struct {
	Target   string    `json:"target"`
	Reason   string    `json:"reason"`
	Step     int       `json:"step"`
	Status   string    `json:"status"`
	Delivery string    `json:"delivery"`
	Arrival  string    `json:"delivery_status"`
	Withheld bool      `json:"withheld"`
	Edit     bool      `json:"edit"`
	Why      string    `json:"why"`
	Created  time.Time `json:"created"`
}

// AlertWays are the routes that an alert would take.
type AlertWays struct {
	Ways []struct {
		Route     string `json:"route"`
		Receiver  string `json:"receiver"`
		GroupWait string `json:"group_wait"`
		Quiet     bool   `json:"quiet"`
		Steps     []struct {
			Wait   string   `json:"wait"`
			Notify []string `json:"notify"`
			Repeat int      `json:"repeat"`
		} `json:"steps"`
	} `json:"ways"`
	SilencedBy  []string `json:"silenced_by"`
	InhibitedBy []string `json:"inhibited_by"`
}

// SilenceList is a page of silences.
type SilenceList struct {
	Silences []Silence `json:"silences"`
}

// Silence keeps alerts quiet for a time.
type Silence struct {
	ID       string    `json:"id"`
	State    string    `json:"state"`
	Matchers []string  `json:"matchers"`
	Author   string    `json:"author"`
	Comment  string    `json:"comment"`
	Ends     time.Time `json:"ends"`
}
