package config

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"sluice/internal/config/access"
	"sluice/internal/config/agents"
	"sluice/internal/config/alerts"
	"sluice/internal/config/automation"
	"sluice/internal/config/budgets"
	"sluice/internal/config/checks"
	"sluice/internal/config/hooks"
	"sluice/internal/config/models"
	"sluice/internal/config/scalar"
	"sluice/internal/config/telemetry"
	"sluice/policy/flow"
)

// Config is the whole configuration. What a [Loader] returns is complete: every
// default is filled in and every level is valid.
type Config struct {
	Gateway   Gateway             `yaml:"gateway" doc:"The gateway's HTTP server: web page, API and platform callbacks."`
	State     string              `yaml:"state" doc:"Folder for the embedded database, the bus's files and the token. $SLUICE_STATE overrides it."`
	Store     Store               `yaml:"store" doc:"Where sessions, messages, runs and deliveries are stored."`
	Bus       Bus                 `yaml:"bus" doc:"The message bus that wakes workers and carries live events."`
	Log       Log                 `yaml:"log" doc:"The log on standard error."`
	Owners    []string            `yaml:"owners" doc:"The gateway's owners, each <channel>:<user id>. Owners may use every command."`
	Channels  Channels            `yaml:"channels" doc:"The chat platforms."`
	Models    Models              `yaml:"models" doc:"Language models and their providers."`
	Budgets   []budgets.Budget    `yaml:"budgets" doc:"Limits on what models may cost: docs/budgets.md. No call is made that could exceed one."`
	Media     agents.Media        `yaml:"media" doc:"Transcripts of recordings that people send, and spoken replies."`
	Agents    Agents              `yaml:"agents" doc:"The agents that reply."`
	Bindings  []Binding           `yaml:"bindings" doc:"Which agent handles which messages. The first match applies. The default agent handles messages without a match."`
	Session   Session             `yaml:"session" doc:"How messages are grouped into sessions, and how a session's queue works."`
	Tools     Tools               `yaml:"tools" doc:"What agents' tools may do."`
	Skills    agents.Skills       `yaml:"skills" doc:"The skills of agents: docs/skills.md."`
	MCP       MCP                 `yaml:"mcp" doc:"MCP servers outside the gateway that provide tools to agents: docs/tools.md."`
	Policy    Policy              `yaml:"policy" doc:"What sessions may learn, and rules for incoming text, tool calls and outgoing text: docs/policy.md."`
	Vault     Vault               `yaml:"secrets" doc:"Values that agents use only by name, with {{secret:NAME}} in a tool's arguments. No model, message or log ever shows them."`
	Limits    Limits              `yaml:"limits" doc:"Limits on sizes, counts and times."`
	Telemetry telemetry.Telemetry `yaml:"telemetry" doc:"Traces of messages for an OpenTelemetry collector: docs/operations.md."`
	Retention Retention           `yaml:"retention" doc:"How long finished data is kept: docs/operations.md. In days, such as 90d; empty keeps it forever."`

	Cron    automation.Cron    `yaml:"cron" doc:"What the gateway does at certain times: docs/automation.md."`
	Checks  checks.Checks      `yaml:"checks" doc:"Checks that need no model, by names of your choice: docs/automation.md."`
	Alerts  alerts.Alerts      `yaml:"alerts" doc:"Who is notified about alerts, in Alertmanager's words: docs/alerts.md."`
	Targets automation.Targets `yaml:"targets" doc:"Places for messages that are not replies, by names of your choice."`
	Hooks   hooks.Hooks        `yaml:"hooks" doc:"Requests from other programs that the gateway accepts at POST /hooks/<name>, by names of your choice: docs/hooks.md."`
	A2A     agents.A2A         `yaml:"a2a" doc:"Other agents that speak A2A: docs/a2a.md."`
	Nodes   automation.Nodes   `yaml:"nodes" doc:"Programs and devices that dial in: docs/nodes.md."`

	read    []string
	written map[string]string
	blank   bool
}

// Written returns the texts with references such as ${NAME} as they are written, by the paths of their keys.
func (c *Config) Written() map[string]string { return c.written }

// Blank reports whether the text of the configuration was empty or only white space, as that of a truncated file.
func (c *Config) Blank() bool { return c.blank }

// FilesRead returns the files that were read through references such as ${file:/path}.
func (c *Config) FilesRead() []string { return c.read }

// Gateway is the HTTP server.
type Gateway struct {
	Listen         string     `yaml:"listen" doc:"Address and port to listen on."`
	Token          Secret     `yaml:"token" made:"true" doc:"Bearer token of the API. Empty, or a variable that is not set: the first start generates one and stores it in <state>/token, mode 0600. At least 16 characters if other machines can reach the gateway."`
	Classification flow.Level `yaml:"classification" doc:"Highest level that the bearer of token can see. Anything above it is hidden."`
	Tokens         []APIToken `yaml:"tokens" doc:"Additional API tokens, each with its own level and role."`
	PublicURL      string     `yaml:"publicURL" doc:"Public address of the gateway, for example behind a proxy. Requests may name its host."`
	AllowedHosts   []string   `yaml:"allowedHosts" doc:"Additional Host names that requests may have. Loopback names and the listen address are always allowed."`

	Proxy access.Proxy `yaml:"proxy" doc:"Proxies in front of the gateway that name the person who calls, for example after an OpenID Connect login: docs/http.md."`
}

// Vault has the named secrets by name.
type Vault map[string]NamedSecret

// NamedSecret is a value that agents use by its name.
type NamedSecret struct {
	Value          Secret     `yaml:"value" doc:"Required. For example ${GITHUB_TOKEN} or ${file:/run/secrets/github}."`
	Classification flow.Level `yaml:"classification" doc:"Level of the secret. Sessions and tools below it do not get it."`
	Tools          []string   `yaml:"tools" doc:"Required. Tools that may receive the secret: names, or patterns with *. Only tools with a level receive it: tools of MCP servers, web_fetch, and file tools with workspaceClassification."`
}

// APIToken is an additional API token.
type APIToken struct {
	Name           string     `yaml:"name" doc:"Required. The audit trail records the bearer's actions as token:<name>."`
	Token          Secret     `yaml:"token" doc:"Required. The bearer token. At least 16 characters if other machines can reach the gateway."`
	Classification flow.Level `yaml:"classification" doc:"Highest level that the bearer can see. Anything above it is hidden."`
	Role           string     `yaml:"role" enum:"owner,operator,viewer,reader,sender" doc:"A viewer may only GET; reader is another name of viewer. A sender may only send alerts and notes. An operator acts up to the token's level, but never as the owner. An owner acts as the owner, up to the token's level: docs/http.md."`
}

// Store is the database.
type Store struct {
	URL Secret `yaml:"url" doc:"Empty: SQLite in the state folder. postgres://…: PostgreSQL."`
}

// Bus is the message bus.
type Bus struct {
	URL    Secret `yaml:"url" doc:"Empty: NATS JetStream inside the gateway. nats://a,nats://b,…: a NATS cluster."`
	Listen string `yaml:"listen" doc:"Address at which the embedded NATS accepts programs that read the bus, for example 127.0.0.1:4222. They need gateway.token: docs/bus.md. Empty: none."`
}

// Log is the log.
type Log struct {
	Level  string `yaml:"level" enum:"debug,info,warn,error" doc:"Lowest level that is logged."`
	Format string `yaml:"format" enum:"text,json" doc:"One line of text, or one JSON object, for each record."`
}

// Access says who may talk on a channel, and what may leave through it.
type Access struct {
	Classification flow.Level           `yaml:"classification" doc:"Highest level that may be sent through this channel, and the level of what is received on it."`
	DMPolicy       string               `yaml:"dmPolicy" enum:"pairing,allowlist,open,disabled" doc:"Who may talk in direct chats besides owners. pairing: people with an approved code, and those in allowFrom. allowlist: those in allowFrom. open: anyone. disabled: nobody."`
	GroupPolicy    string               `yaml:"groupPolicy" enum:"allowlist,open,disabled" doc:"Which groups the bot listens to. allowlist: those in groups. open: all. disabled: none."`
	AllowFrom      []string             `yaml:"allowFrom" doc:"User ids that may talk in direct chats; \"*\" means anyone."`
	Groups         map[string]Group     `yaml:"groups" doc:"Settings by the id of a group or channel; \"guild:<id>\" and \"team:<id>\" stand for all channels of a Discord guild or a Slack workspace, \"*\" for any other. The first of these entries that exists applies. Without allowFrom and allowRoles, it takes them from the next one."`
	Recipients     map[string]Recipient `yaml:"recipients" doc:"Levels by the user id of a person, for direct chats with them, or by the id of a conversation."`
	AllowBots      string               `yaml:"allowBots" enum:"off,mentions,on" doc:"Whether messages of other bots are handled. off: never. mentions: if they mention the bot. on: like people. After six consecutive messages from bots within ten minutes, bots are ignored in that conversation until a person writes."`
	OnUnknown      string               `yaml:"onUnknown" enum:"resend,hold" doc:"If the response to a send is lost and the platform has no lookup: resend sends again (the message may then appear twice), hold waits for a person's decision. Slack and Discord have a lookup, so this rarely applies there."`
	AckReaction    string               `yaml:"ackReaction" doc:"Emoji that the bot puts on each message it works on, for example \"👀\". Default: none."`
	AckRemove      bool                 `yaml:"ackRemove" doc:"Remove ackReaction once the reply is sent."`
}

// Recipient is a person or conversation with its own level.
type Recipient struct {
	External       bool       `yaml:"external" doc:"They are outside your organization: only PUBLIC text is sent to them, whatever the channel's level."`
	Classification flow.Level `yaml:"classification,omitempty" doc:"Highest level that may be sent to them, if lower than the channel's. Default: the channel's."`
}

// Level is the highest level that may be sent there; invalid where the channel's level applies.
func (r Recipient) Level() flow.Level {
	if r.External {
		return flow.Public
	}
	return r.Classification
}

// Group is one group of a channel.
type Group struct {
	AllowFrom      []string         `yaml:"allowFrom" doc:"Ids of the users whose messages are handled in the group; \"*\" means anyone. Default, if allowRoles is empty too: everyone. Owners are always heard."`
	AllowRoles     []string         `yaml:"allowRoles" doc:"Ids of Discord roles: messages of their members are handled in the group, in addition to those of allowFrom."`
	Topics         map[string]Topic `yaml:"topics" doc:"Settings by the id of a topic or thread of the group."`
	RequireMention bool             `yaml:"requireMention" doc:"The agent handles only messages that mention the bot or reply to it. Others are kept as background."`
	Classification flow.Level       `yaml:"classification" doc:"Highest level for this group, if lower than the channel's. Default: the channel's."`
}

// Topic is one topic or thread of a group.
type Topic struct {
	RequireMention bool `yaml:"requireMention" doc:"As for the group, for this topic alone."`
}

// Models are the language models.
type Models = models.Models

// Agents are the agents.
type Agents = agents.Agents

// Agent is one agent.
type Agent = agents.Agent

// Binding routes matching messages to an agent.
type Binding struct {
	Match BindingMatch `yaml:"match" doc:"Conditions that must all hold. A key that is not set matches anything."`
	Agent string       `yaml:"agent" doc:"Id of the agent. Required."`
}

// BindingMatch is the condition of a binding.
type BindingMatch struct {
	Channel string `yaml:"channel" doc:"Platform, for example telegram."`
	Account string `yaml:"account" doc:"Account on the platform."`
	Peer    string `yaml:"peer" doc:"User id of the person in a direct chat, without the channel, for example 1001. On the web page, everyone has the user id local."`
	Group   string `yaml:"group" doc:"Id of the group or channel, for example -1001234567890."`
	Guild   string `yaml:"guild" doc:"Id of the Discord guild."`
	Team    string `yaml:"team" doc:"Id of the Slack workspace."`
}

// Session says how messages are grouped into sessions.
type Session struct {
	Scope         string              `yaml:"scope" enum:"per-sender,global" doc:"per-sender: separate sessions by who speaks where. global: one session for each agent, its main one, with all direct chats and groups; replies still go where the question was asked."`
	DMScope       string              `yaml:"dmScope" enum:"main,per-peer,per-channel-peer,per-account-channel-peer" doc:"Which direct chats share a session. main: all chats with an agent. per-peer: those of one person id. per-channel-peer: those of one person on a channel. per-account-channel-peer: those of one person on an account. With main, other people talk in your own session: set per-account-channel-peer before you let anyone in."`
	MainKey       string              `yaml:"mainKey" doc:"Last part of the main session's key."`
	IdentityLinks map[string][]string `yaml:"identityLinks" doc:"People by a name of your choice, each with their ids on the channels, <channel>:<user id>. If dmScope separates people, the name replaces the id, so that one person's direct chats share a session."`
	Queue         Queue               `yaml:"queue" doc:"What happens to messages that arrive while the agent works."`
	SendPolicy    SendPolicy          `yaml:"sendPolicy" doc:"What may be sent where. Any matching deny applies, otherwise any matching allow, otherwise the default. A session's own /send on or off takes precedence."`
	AgentToAgent  AgentToAgent        `yaml:"agentToAgent" doc:"Limits on what agents may cause in each other."`
	RunTimeout    Duration            `yaml:"runTimeout" doc:"Maximum duration of a run, from its start."`

	Reset          Reset            `yaml:"reset" doc:"When a new session starts automatically. Checked only when a person writes in the session: messages between agents neither reset a session nor keep it alive."`
	ResetByType    map[string]Reset `yaml:"resetByType" doc:"Overrides reset for direct chats, groups (and channels) and threads (and topics), by the names direct, group and thread."`
	ResetByChannel map[string]Reset `yaml:"resetByChannel" doc:"Overrides reset and resetByType for a channel, for example telegram."`
}

// Reset says when a session restarts automatically.
type Reset struct {
	Mode        string `yaml:"mode" enum:"none,daily,idle" doc:"none: only /new starts a new session. daily: with the first message after atHour, and also after idleMinutes if set. idle: if nobody has written for idleMinutes."`
	AtHour      int    `yaml:"atHour" min:"0" max:"23" doc:"Hour of the gateway's local time."`
	IdleMinutes int    `yaml:"idleMinutes" min:"0" max:"525600" doc:"Minutes. Required for idle."`
}

// AgentToAgent limits the work that agents cause in one another.
type AgentToAgent struct {
	MaxPingPongTurns int      `yaml:"maxPingPongTurns" min:"0" max:"5" doc:"Replies that two agents may exchange after the first reply."`
	MaxHops          int      `yaml:"maxHops" min:"1" max:"32" doc:"Sessions that one request may pass through. A request that would return to a session is always refused."`
	MaxSteps         int      `yaml:"maxSteps" min:"1" max:"10000" doc:"Runs that one request may cause in all sessions together."`
	MaxTokens        int      `yaml:"maxTokens" min:"1000" doc:"Tokens, in and out, that these runs may use together."`
	MaxAge           Duration `yaml:"maxAge" doc:"How long a request and everything it causes may continue."`
}

// Queue limits a session's queue.
type Queue struct {
	Mode       string `yaml:"mode" enum:"steer,followup,collect,interrupt" doc:"What happens to a message that arrives during a run. steer: it is added to the run, between two steps. followup: it becomes its own run afterwards. collect: all waiting messages become one run afterwards. interrupt: it ends the run and is handled together with the earlier messages. /queue sets the mode for one session."`
	Cap        int    `yaml:"cap" min:"1" max:"1000" doc:"Messages that may wait until a run ends."`
	Drop       string `yaml:"drop" enum:"old,new" doc:"Which message is dropped when the queue is full, the oldest or the new one. Its sender is notified; a caller of the API gets 429 for a new one."`
	DebounceMs int    `yaml:"debounceMs" min:"0" max:"60000" doc:"In mode collect: milliseconds without a new message before the waiting ones are handled."`
}

// SendPolicy decides what may be sent where.
type SendPolicy struct {
	Default string     `yaml:"default" enum:"allow,deny" doc:"Applies if no rule matches."`
	Rules   []SendRule `yaml:"rules" doc:"Rules. Their order does not matter."`
}

// SendRule is one rule of the send policy.
type SendRule struct {
	Match  SendMatch `yaml:"match" doc:"Conditions that must all hold. A key that is not set matches anything."`
	Action string    `yaml:"action" enum:"allow,deny" doc:"Required."`
}

// SendMatch is the condition of a send rule.
type SendMatch struct {
	Channel      string `yaml:"channel" doc:"Platform."`
	ChatType     string `yaml:"chatType" enum:"direct,group,channel" doc:"Kind of conversation."`
	Account      string `yaml:"account" doc:"Account on the platform."`
	To           string `yaml:"to" doc:"Id of the conversation."`
	Thread       string `yaml:"thread" doc:"Id of the thread or topic."`
	Agent        string `yaml:"agent" doc:"Id of the agent."`
	Kind         string `yaml:"kind" enum:"reply,announce,notice,message" doc:"Kind of text: a reply, the announcement of an exchange between agents, a notice of the gateway, a proactive message."`
	KeyPrefix    string `yaml:"keyPrefix" doc:"Prefix of the session's key, with or without agent:<id>:."`
	RawKeyPrefix string `yaml:"rawKeyPrefix" doc:"Prefix of the session's whole key."`
}

// Tools are the settings of agents' tools.
type Tools struct {
	Sessions SessionTools `yaml:"sessions" doc:"The tools that look at sessions."`

	AgentToAgent ToolsAgentToAgent `yaml:"agentToAgent" doc:"Which agents may talk to each other. With sessions.visibility tree, an owner who speaks in the main session of one agent can have it ask the main sessions of the others; all lets every session speak to every other one. Sandboxed sessions need sessionToolsVisibility all as well."`
	Subagents    SubagentTools     `yaml:"subagents" doc:"What sub-agents may do."`
	Web          WebTools          `yaml:"web" doc:"The tool web_fetch, which reads web pages: docs/tools.md."`
}

// WebTools are the tools that reach the web.
type WebTools struct {
	Enabled        bool       `yaml:"enabled" doc:"Agents have web_fetch."`
	Classification flow.Level `yaml:"classification" doc:"Highest level that may be sent to web servers, because an address can carry data, and the level of the pages, which are untrusted. A session above it gets an error that names this setting."`
	Allow          []string   `yaml:"allow" doc:"Hosts that may be fetched: names, or patterns with *; *.example.org does not match example.org. Addresses of the machine and its network are never allowed."`
	Deny           []string   `yaml:"deny" doc:"Hosts that may not be fetched, even if allow lists them."`
	MaxBytes       int        `yaml:"maxBytes" min:"1024" max:"16777216" doc:"Maximum bytes read of one page."`
}

// MCP is the gateway as a client of MCP servers.
type MCP struct {
	Servers map[string]MCPServer `yaml:"servers" doc:"The servers by a name of your choice: a-z 0-9 -. Their tools are named mcp_<name>_<tool>."`
}

// MCPServer is one MCP server.
type MCPServer struct {
	Command        []string          `yaml:"command" doc:"A program and its arguments. The gateway talks to it over standard input and output. It runs with the gateway's rights. Either command or url is required."`
	URL            Secret            `yaml:"url" doc:"Address of a server over streamable HTTP."`
	Env            map[string]Secret `yaml:"env" doc:"Environment of command. From the gateway's environment it gets only PATH and HOME."`
	Headers        map[string]Secret `yaml:"headers" doc:"Headers of each request to url."`
	Classification flow.Level        `yaml:"classification" doc:"Highest level that may be sent to the server, and the level of its results. A session above it gets an error that names this setting."`
	Trusted        bool              `yaml:"trusted" doc:"Results count as the owner's own words. Use it only for a server whose every result you have written yourself."`
	Tools          MCPTools          `yaml:"tools" doc:"Which of the server's tools are available."`
	TimeoutSeconds int               `yaml:"timeoutSeconds" min:"1" max:"600" doc:"Maximum duration of a call."`
}

// MCPTools select a server's tools.
type MCPTools struct {
	Allow []string `yaml:"allow" doc:"The only available tools: the server's own names, or patterns with *. Default: all."`
	Deny  []string `yaml:"deny" doc:"Tools that are not available."`
}

// ToolsAgentToAgent says which agents may speak to each other.
type ToolsAgentToAgent struct {
	Enabled bool     `yaml:"enabled" doc:"Agents may talk to the sessions of other agents."`
	Allow   []string `yaml:"allow" doc:"Agents that may talk to others and be talked to: ids, or patterns with *."`
}

// SubagentTools are the tools of sub-agents.
type SubagentTools struct {
	Tools ToolFilter `yaml:"tools" doc:"Sub-agents have every tool except sessions_spawn and the session tools."`
}

// ToolFilter changes a set of tools.
type ToolFilter struct {
	Allow []string `yaml:"allow" doc:"Additional tools: names, or patterns with *. sessions_spawn is never available."`
	Deny  []string `yaml:"deny" doc:"Tools that they do not have: names, or patterns with *."`
}

// SessionTools are the tools that look at sessions.
type SessionTools struct {
	Visibility string `yaml:"visibility" enum:"self,tree,agent,all" doc:"Which sessions the tools can see. self: their own. tree: also those they started. agent: all of their agent. all: all."`
}

// Retention is how long what has ended is kept.
type Retention struct {
	Events     string `yaml:"events" doc:"What a platform's event led to, once its run is removed. The event's key is kept forever, to recognize a repeat."`
	Runs       string `yaml:"runs" doc:"Finished runs, except the last one of each session, and finished exchanges between agents, with their runs. For a task with an idempotency key, the key is kept and the text removed."`
	Deliveries string `yaml:"deliveries" doc:"Deliveries that were sent or discarded. For a request with an idempotency key, the key is kept and the text removed."`
	Sessions   string `yaml:"sessions" doc:"Conversations that are unused for this long. They end and are removed with their messages, runs, approvals and files. A rule of SESSION_RESET can keep them. By default, people's conversations are kept forever."`
	Archived   string `yaml:"archived" doc:"Archived and ended sessions of sub-agents, with their messages and runs. agents.defaults.subagents.archiveAfterMinutes sets when they are archived."`
	Audit      string `yaml:"audit" doc:"Not supported: leave it empty. A chain without its start could not be verified."`
	Memories   string `yaml:"memories" doc:"Replaced, deleted and expired versions of memories, for the audit."`
	Media      string `yaml:"media" doc:"Incoming and outgoing files, counted from when they arrived. A file is kept longer while an unfinished delivery or an unfinished run of its session needs it."`
	Usage      string `yaml:"usage" doc:"Model calls with their costs, docs/budgets.md. The sums of each day are kept forever."`
}

// Age is a span of retention; 0 keeps rows forever.
func Age(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	days, ok := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(days)
	if !ok || err != nil || n < 1 || n > 36500 {
		return 0, errors.New("want days such as 90d, or nothing to keep it forever")
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

// Limits are bounds.
type Limits struct {
	PerPerson       scalar.Rate `yaml:"perPerson" doc:"Messages of one person in a period, in all chats together, for example 30/1m. What exceeds it is not answered, and the sender is told. Owners are not limited. Default: no limit."`
	PerConversation scalar.Rate `yaml:"perConversation" doc:"Messages to one conversation in a period, also across /new. Messages of owners do not count. Default: no limit."`
	PerAgent        scalar.Rate `yaml:"perAgent" doc:"Messages to one agent in a period, together with requests of other agents to it. Messages of owners do not count. Default: no limit."`
	PerToken        scalar.Rate `yaml:"perToken" doc:"Requests with one token of the API in a period, for example 600/1m. More are refused with status 429. Tokens with the role owner are not limited. Default: no limit."`

	DeliveryLife    Duration `yaml:"deliveryLife" doc:"A delivery that could not be sent within this time expires."`
	MaxMessageBytes int      `yaml:"maxMessageBytes" min:"1024" max:"16777216" doc:"Longest text of an incoming message. The sender of a longer one is notified; a caller of the API gets 413."`
	MaxMediaBytes   int      `yaml:"maxMediaBytes" min:"1024" max:"268435456" doc:"Largest file in an incoming or outgoing message. The files of one message may have twice this size together."`
	HistoryKeep     int      `yaml:"historyKeep" min:"0" max:"1000" doc:"Messages of a group without a mention that are kept as background for the next reply."`
	RunAttempts     int      `yaml:"runAttempts" min:"1" max:"100" doc:"How many times a run is started, if crashes interrupt it, before it counts as failed."`
	Partitions      int      `yaml:"partitions" min:"1" max:"256" doc:"Number of partitions into which replicas divide the work. Fixed by the first start of a store."`

	WorkspaceBytes Bytes `yaml:"workspaceBytes" doc:"Disk space for the files of all sessions of an agent; each file and folder counts 4 KiB more than its content. Writes above the limit are refused, and commands that exceed it are stopped. It also limits, separately, the stored files of POST /v1/messages."`
	SessionBytes   Bytes `yaml:"sessionBytes" doc:"The same for the files of one session. It also limits, separately, the stored attachments of a session."`
	ReserveBytes   Bytes `yaml:"reserveBytes" doc:"Free space on the disk of the workspaces (by default the disk of the state) that session files may not use, so that messages can still be received and answered. With SQLite, stored attachments leave the same space on the disk of the state. A tenth of the disk if the disk is smaller than ten times this."`

	DiskWarnBytes Bytes `yaml:"diskWarnBytes" doc:"Free space on the disk of the state folder below which the owner is warned, at most a fifth of the disk. 0: never."`
	DiskStopBytes Bytes `yaml:"diskStopBytes" doc:"With SQLite: free space on the disk of the state folder below which no new messages are accepted, so that nothing is half written, at most a fortieth of the disk. Telegram and Discord keep the messages, Slack for about five minutes; programs get an error. The gateway continues when there is a quarter more space than this. 0: never."`

	CommandMemory    Bytes `yaml:"commandMemory" doc:"Memory for a command of the tool exec and everything it starts, together."`
	CommandProcesses int   `yaml:"commandProcesses" min:"8" max:"32768" doc:"Processes and threads of a command of the tool exec at the same time."`
}
