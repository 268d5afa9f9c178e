package conversation

import (
	"cmp"
	"encoding/json"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/sessions"
)

// sessionRecord is a session as programs see it. The first nine fields are those of other implementations of this API.
type sessionRecord struct {
	ID           sessions.ID         `json:"id" example:"sess_a86118c06688"`
	CreatedAt    float64             `json:"created_at" doc:"seconds since 1970"`
	LastActivity float64             `json:"last_activity" doc:"seconds since 1970"`
	Busy         bool                `json:"busy" doc:"a message is being processed or waits"`
	Persistent   bool                `json:"persistent" doc:"false: it ends five minutes after its last reply"`
	TTL          int64               `json:"ttl" doc:"seconds from its creation to its end; 0: no end"`
	Status       string              `json:"status" enum:"ready,archived" doc:"archived: the session of a sub-agent whose time is over; it can be read and deleted"`
	Metadata     json.RawMessage     `json:"metadata" doc:"what its creator attached; of one session, sluice has the status of its tools"`
	FileAccess   sessions.FileAccess `json:"file_access"`
	Key          sessions.Key        `json:"key"`
	Agent        string              `json:"agent"`
	Taint        string              `json:"taint" doc:"the label of what it has learned" example:"PUBLIC/trusted"`
	Clearance    string              `json:"clearance" doc:"the highest level that it may learn" example:"RESTRICTED"`
	Carries      string              `json:"carries,omitempty" doc:"of one session: the highest level that may be sent to the place where a person last wrote to it; absent if that is above the caller's level"`
	Held         string              `json:"held,omitempty" doc:"of one session: why its replies are withheld there now, and what to change"`
	SendPolicy   string              `json:"send_policy,omitempty" doc:"override: allow or deny; absent: it follows the configuration"`
	Activation   string              `json:"group_activation,omitempty" enum:"mention,always" doc:"override of whether a group must mention the bot; absent: it follows the configuration"`
	QueueMode    string              `json:"queue_mode,omitempty" enum:"steer,followup,collect,interrupt" doc:"override of how messages are handled that arrive during a run; absent: it follows the configuration"`
	Thinking     string              `json:"thinking_level,omitempty" enum:"off,low,medium,high" doc:"override of how much the model may reason; absent: it follows the agent"`
	Verbose      string              `json:"verbose_level,omitempty" enum:"off,on,full" doc:"override of how much of the work people are shown; absent: it follows the agent"`
	Temperature  *float32            `json:"temperature,omitempty" doc:"override of how freely the model chooses its words, from 0 to 2; absent: it follows the agent"`
	MaxTokens    int                 `json:"max_output_tokens,omitempty" doc:"override of the maximum tokens of a reply; absent: it follows the agent"`
	Label        string              `json:"label,omitempty" doc:"the name that people gave it"`
	Title        string              `json:"title,omitempty"`
	Model        string              `json:"model"`
	Channel      string              `json:"channel,omitempty" doc:"where a person last wrote to it"`
	Place        string              `json:"place,omitempty" doc:"what the platform calls the place where a person last wrote to it, for example the name of a group"`
	Parent       sessions.ID         `json:"parent,omitempty" doc:"of a sub-agent: the session that gave it its task; for tokens that see everything"`
}

// record is a session as the caller may see it.
func (a *SessionAPI) record(who auth.Caller, r sessions.Record, busy bool) sessionRecord {
	quotes := who.Quotes()
	out := sessionRecord{
		ID: r.ID, CreatedAt: seconds(r.Created), LastActivity: seconds(r.LastActivity), Busy: busy, Persistent: r.Persistent,
		TTL: int64(r.TTL / time.Second), Status: "ready", Metadata: r.Metadata, FileAccess: sessions.FileAccess{Read: view.NotNil(r.FileAccess.Read), Write: view.NotNil(r.FileAccess.Write)}, Key: r.Key, Agent: r.Agent,
		Taint: r.Taint.String(), Clearance: r.Clearance.String(), SendPolicy: string(r.SendPolicy), Activation: string(r.Activation),
		QueueMode: string(r.QueueMode), Thinking: string(r.ThinkingLevel), Verbose: string(r.VerboseLevel), Temperature: r.Temperature.Value(), MaxTokens: r.MaxTokens,
		Label: quotes.Or(r.Label, ""), Title: quotes.Or(r.Title, ""), Channel: r.Route.Channel, Place: r.Route.Title,
	}
	if who.SeesAll() { // the other session may be above the level of others
		out.Parent = r.SpawnedBy
	}
	if r.Archived {
		out.Status = "archived"
	}
	out.Model = cmp.Or(quotes.Or(r.Model, ""), a.Models.Default(r.Agent))
	if len(out.Metadata) == 0 {
		out.Metadata = json.RawMessage("{}")
	}
	return out
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}
