package config

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"sluice/policy/flow"
)

// Config is the whole configuration. What [Load] returns is complete: every
// default is filled in and every level is valid.
type Config struct {
	Gateway   Gateway   `yaml:"gateway" doc:"The gateway's own HTTP server: page, API, callbacks."`
	State     string    `yaml:"state" doc:"Folder of the embedded database, the bus's files and the token. $SLUICE_STATE overrides it."`
	Store     Store     `yaml:"store" doc:"Where sessions, messages, runs and deliveries are kept."`
	Bus       Bus       `yaml:"bus" doc:"What wakes the owners of partitions and carries live events."`
	Log       Log       `yaml:"log" doc:"The log on standard error."`
	Owners    []string  `yaml:"owners" doc:"Who the gateway belongs to, each <channel>:<user id>. Owners may use every command."`
	Channels  Channels  `yaml:"channels" doc:"The chat platforms."`
	Models    Models    `yaml:"models" doc:"Language models and who provides them."`
	Agents    Agents    `yaml:"agents" doc:"The agents that answer."`
	Bindings  []Binding `yaml:"bindings" doc:"Which agent hears what; the first that matches counts. What none matches goes to the default agent."`
	Session   Session   `yaml:"session" doc:"How messages become sessions, and how a session's queue works."`
	Tools     Tools     `yaml:"tools" doc:"What agents' tools may do."`
	MCP       MCP       `yaml:"mcp" doc:"Servers outside the gateway whose tools agents have: docs/tools.md."`
	Policy    Policy    `yaml:"policy" doc:"What sessions may learn, and rules about what enters them, what they do and what leaves: docs/policy.md."`
	Vault     Vault     `yaml:"secrets" doc:"Values that agents use by their names alone: {{secret:NAME}} in a tool's arguments. No model, message or log ever shows them."`
	Limits    Limits    `yaml:"limits" doc:"Bounds."`
	Retention Retention `yaml:"retention" doc:"How long what has ended is kept: docs/operations.md. Days such as 90d; nothing keeps for ever."`

	_ struct{} `later:"cron,hooks"`
}

// Gateway is the HTTP server.
type Gateway struct {
	Listen         string     `yaml:"listen" doc:"Address and port to listen on."`
	Token          Secret     `yaml:"token" doc:"Bearer token of the API. Empty: one is made at the first start and kept in <state>/token, mode 0600. At least 16 characters, where other machines can reach the gateway."`
	Classification flow.Level `yaml:"classification" doc:"The most that the bearer of token sees. What is above it is not there for them."`
	Tokens         []APIToken `yaml:"tokens" doc:"Further tokens of the API, each with a level and a role of its own."`
	PublicURL      string     `yaml:"publicURL" doc:"Address under which others reach the gateway, for example behind a proxy. Its host is allowed in requests."`
	AllowedHosts   []string   `yaml:"allowedHosts" doc:"Further Host names that requests may carry. Loopback names and the listen address always may."`
}

// Vault is the named secrets by their names.
type Vault map[string]NamedSecret

// NamedSecret is a value that agents know by its name.
type NamedSecret struct {
	Value          Secret     `yaml:"value" doc:"Required. For example ${GITHUB_TOKEN} or ${file:/run/secrets/github}."`
	Classification flow.Level `yaml:"classification" doc:"Sessions and tools below it do not get it."`
	Tools          []string   `yaml:"tools" doc:"Required. Names of the tools that it may be given to, or patterns with *. It is given only to those that have a level: of MCP servers, web_fetch, and over files with workspaceClassification."`
}

// APIToken is a further token of the API.
type APIToken struct {
	Name           string     `yaml:"name" doc:"Required. What its bearer does stands in the audit trail as token:<name>."`
	Token          Secret     `yaml:"token" doc:"Required. The bearer token. At least 16 characters, where other machines can reach the gateway."`
	Classification flow.Level `yaml:"classification" doc:"The most that its bearer sees. What is above it is not there for them."`
	Role           string     `yaml:"role" enum:"operator,reader" doc:"A reader only looks (GET); an operator acts, up to the token's level, but never as the owner: see docs/http.md."`
}

// Store is the database.
type Store struct {
	URL Secret `yaml:"url" doc:"Empty: SQLite in the state folder. postgres://…: PostgreSQL."`
}

// Bus is the message bus.
type Bus struct {
	URL Secret `yaml:"url" doc:"Empty: NATS JetStream inside the gateway. nats://a,nats://b,…: a NATS cluster."`
}

// Log is the log.
type Log struct {
	Level  string `yaml:"level" enum:"debug,info,warn,error" doc:"The least level that is written."`
	Format string `yaml:"format" enum:"text,json" doc:"One line of text, or one JSON object, a record."`
}

// Access says who may talk on a channel, and what may leave through it.
type Access struct {
	Classification flow.Level           `yaml:"classification" doc:"Ceiling of what may leave through this channel; what is heard on it is labelled so too."`
	DMPolicy       string               `yaml:"dmPolicy" enum:"pairing,allowlist,open,disabled" doc:"Who may talk in direct chats besides owners: those who paired with a code, those in allowFrom, anyone, nobody."`
	GroupPolicy    string               `yaml:"groupPolicy" enum:"allowlist,open,disabled" doc:"Which groups are heard: those in groups, any, none."`
	AllowFrom      []string             `yaml:"allowFrom" doc:"User ids that may talk in direct chats; \"*\" is anyone."`
	Groups         map[string]Group     `yaml:"groups" doc:"Settings by the id of a group or channel; \"guild:<id>\" and \"team:<id>\" are all those of a Discord guild or a Slack workspace, \"*\" any other. The first of these that there is counts; lists of who is heard that are left out are those of the next."`
	Recipients     map[string]Recipient `yaml:"recipients" doc:"Levels by the user id of a person, for direct chats with them, or by the id of a conversation."`
	AllowBots      string               `yaml:"allowBots" enum:"off,mentions,on" doc:"Whether other bots are heard: never, where they mention the bot, like people. Bots that answer each other six times within ten minutes are not heard there until a person speaks."`
	OnUnknown      string               `yaml:"onUnknown" enum:"resend,hold" doc:"When the platform's answer to a send was lost and can't be looked up: send again (it may then be there twice), or hold it for a person to decide. Slack and Discord can be asked, so that there it is decided without either."`
	AckReaction    string               `yaml:"ackReaction" doc:"Emoji that the bot puts on each message that it works on, for example \"👀\". Default: none."`
	AckRemove      bool                 `yaml:"ackRemove" doc:"Take ackReaction off when the answer is there."`
}

// Recipient is a person, or a conversation, with a level of their own.
type Recipient struct {
	External       bool       `yaml:"external" doc:"They are not of the house: only what is PUBLIC is said to them, whatever the channel may carry."`
	Classification flow.Level `yaml:"classification,omitempty" doc:"Ceiling of what is said to them, where it is lower than the channel's. Default: the channel's."`
}

// Level is the most that is said to them; invalid where the channel's counts.
func (r Recipient) Level() flow.Level {
	if r.External {
		return flow.Public
	}
	return r.Classification
}

// Group is one group of a channel.
type Group struct {
	AllowFrom      []string         `yaml:"allowFrom" doc:"User ids that are heard in the group; \"*\" is anyone. Default, without allowRoles too: everybody. Owners always are."`
	AllowRoles     []string         `yaml:"allowRoles" doc:"Ids of Discord roles whose holders are heard in the group, besides allowFrom."`
	Topics         map[string]Topic `yaml:"topics" doc:"Settings by the id of a topic or thread of the group."`
	RequireMention bool             `yaml:"requireMention" doc:"Only messages that mention the bot or answer it are worked on; others are kept as history."`
	Classification flow.Level       `yaml:"classification" doc:"Ceiling of this group, where it is lower than the channel's. Default: the channel's."`
}

// Topic is one topic or thread of a group.
type Topic struct {
	RequireMention bool `yaml:"requireMention" doc:"As for the group, for this topic alone."`
}

// Models are the language models.
type Models struct {
	Default   string              `yaml:"default" doc:"<provider>/<model>. offline/guide needs no provider, no key and no network; it is a demonstration, not an AI."`
	Providers map[string]Provider `yaml:"providers" doc:"Providers by the name used before the / of a model."`
}

// Provider is one model provider.
type Provider struct {
	Kind           string     `yaml:"kind" enum:"anthropic,openai" doc:"The API that it speaks; openai is any Chat Completions server. Required."`
	APIKey         Secret     `yaml:"apiKey" doc:"Required where baseURL is empty."`
	BaseURL        string     `yaml:"baseURL" doc:"Empty: the provider's own."`
	Classification flow.Level `yaml:"classification" doc:"The highest level that may be sent to it. A session above it gets an error that names this setting."`
	ContextWindow  int        `yaml:"contextWindow" min:"0" doc:"Tokens that a prompt and its answer may have; 0: as known of the model."`
	Models         []string   `yaml:"models" doc:"Names of its models, as they stand after the /, that people and agents may choose with /model, session_status, sessions_spawn and the API; \"*\" is any name. Those that models.default and the agents name can always be chosen. Default: these alone."`
}

// Agents are the agents.
type Agents struct {
	Defaults AgentDefaults `yaml:"defaults" doc:"What an agent has that does not say otherwise."`
	List     []Agent       `yaml:"list" doc:"The agents. Empty: one agent, main."`
}

// AgentDefaults are what agents share.
type AgentDefaults struct {
	Model        string `yaml:"model" doc:"<provider>/<model>. Default: models.default."`
	SystemPrompt string `yaml:"systemPrompt" doc:"What the model is told first, a template: docs/workspace.md. Default: that it is an assistant in a chat, answers briefly, and may say nothing; and the instruction file of its workspace."`
	Thinking     string `yaml:"thinking" enum:"off,low,medium,high" doc:"How much models may reason before they answer. Default: as the provider does."`
	Verbose      string `yaml:"verbose" enum:"off,on,full" doc:"How much of the work on an answer people are shown: nothing, the tools that are called, their results too."`
	Permission   string `yaml:"permission" enum:"ask,auto,deny" doc:"Calls of tools that do more than read: they wait for an owner's word, run, are refused."`
	Workspace    string `yaml:"workspace" doc:"Folder in which each agent has a folder of its own, named by its id. Default: <state>/workspaces."`

	Sandbox   Sandbox          `yaml:"sandbox" doc:"How commands of the tool exec run, and what their sessions see."`
	Tools     AgentTools       `yaml:"tools" doc:"Which tools they have."`
	Memory    Memory           `yaml:"memory" doc:"What they remember across sessions: docs/memory.md."`
	Subagents SubagentDefaults `yaml:"subagents" doc:"Bounds of the sub-agents that agents start."`
}

// Sandbox says how commands of an agent's tools run.
type Sandbox struct {
	Mode string `yaml:"mode" enum:"off,optional,required" doc:"off: as the gateway itself does, and only for an agent whose tools.allow names exec. optional: in a sandbox where bubblewrap is installed, else as with off. required: in a sandbox or not at all."`

	SessionToolsVisibility string `yaml:"sessionToolsVisibility" enum:"spawned,all" doc:"Which sessions the tools of a session with a sandbox (mode optional or required) see at most: its own and those that it started, or what tools.sessions.visibility says."`
}

// AgentTools are the tools of an agent.
type AgentTools struct {
	Allow []string `yaml:"allow" doc:"The only tools that it has: names, or patterns with *, such as mcp_github_*. Default: all. exec outside a sandbox needs its name here: [\"*\", exec]."`
	Deny  []string `yaml:"deny" doc:"Tools that it does not have: names, or patterns with *."`
}

// Memory says what agents remember across sessions.
type Memory struct {
	Namespace   string `yaml:"namespace" doc:"Agents with the same namespace share what they remember. a-z 0-9 _ -. Default: the agent's id, so that each has its own."`
	Audience    string `yaml:"audience" enum:"own,shared" doc:"own: a conversation reads what it has told itself, and only owners in private read everything. shared: every conversation with the agent reads what all of them have told, up to its level."`
	MaxEntries  int    `yaml:"maxEntries" min:"0" doc:"Memories of one conversation at one level. 0 at an agent: as agents.defaults says."`
	MaxBytes    int    `yaml:"maxBytes" min:"0" doc:"Bytes of one conversation's memories at one level, former versions included. 0 at an agent: as agents.defaults says."`
	RecallChars int    `yaml:"recallChars" min:"0" max:"100000" doc:"Characters of what is recalled into each prompt by itself. 0 at an agent: as agents.defaults says, where it means nothing at all."`
}

// SubagentDefaults bound sub-agents.
type SubagentDefaults struct {
	ArchiveAfterMinutes int `yaml:"archiveAfterMinutes" min:"0" max:"525600" doc:"A sub-agent's session ends so long after its report. 0: never."`
	MaxConcurrent       int `yaml:"maxConcurrent" min:"1" max:"1000" doc:"Sub-agents that work at once in one gateway process; others wait."`
	MaxChildren         int `yaml:"maxChildren" min:"1" max:"100" doc:"Sub-agents of one session that have not reported yet."`
}

// Subagents says which agents an agent may start.
type Subagents struct {
	AllowAgents []string `yaml:"allowAgents" doc:"Ids of agents that it may start as sub-agents besides itself; \"*\" is any."`
}

// Agent is one agent.
type Agent struct {
	ID           string `yaml:"id" doc:"Its name in session keys: a-z 0-9 _ -. Required."`
	Default      bool   `yaml:"default" doc:"Hears what no binding matches. Default: the first."`
	Name         string `yaml:"name" doc:"Its name for people. Default: its id."`
	SystemPrompt string `yaml:"systemPrompt" doc:"Default: that of agents.defaults."`
	Model        string `yaml:"model" doc:"Default: that of agents.defaults."`
	Thinking     string `yaml:"thinking" enum:"off,low,medium,high" doc:"Default: that of agents.defaults."`
	Verbose      string `yaml:"verbose" enum:"off,on,full" doc:"Default: that of agents.defaults."`
	Permission   string `yaml:"permission" enum:"ask,auto,deny" doc:"Default: that of agents.defaults."`
	Workspace    string `yaml:"workspace" doc:"Its own folder: its instruction file, and below it a folder for each of its sessions. Default: the folder of its id in that of agents.defaults."`

	WorkspaceLevel flow.Level `yaml:"workspaceClassification,omitempty" doc:"Level of its sessions' files: who reads one has learnt what is of this level, and who has learnt more can't write there. Default: a session's files are as secret as the session, which alone has them."`

	Sandbox   Sandbox    `yaml:"sandbox" doc:"What it leaves out is that of agents.defaults."`
	Tools     AgentTools `yaml:"tools" doc:"Where it says allow, or deny, that counts instead of the one of agents.defaults."`
	Memory    Memory     `yaml:"memory" doc:"What it leaves out is that of agents.defaults."`
	Subagents Subagents  `yaml:"subagents" doc:"Which agents it may start."`
}

// Binding sends what matches to an agent.
type Binding struct {
	Match BindingMatch `yaml:"match" doc:"What must be so; what is left out may be anything."`
	Agent string       `yaml:"agent" doc:"Id of the agent. Required."`
}

// BindingMatch is what a binding looks at.
type BindingMatch struct {
	Channel string `yaml:"channel" doc:"Platform, for example telegram."`
	Account string `yaml:"account" doc:"Account on it."`
	Peer    string `yaml:"peer" doc:"User id of the person in a direct chat."`
	Group   string `yaml:"group" doc:"Id of the group or channel."`
	Guild   string `yaml:"guild" doc:"Id of the Discord guild that it is in."`
	Team    string `yaml:"team" doc:"Id of the Slack workspace that it is in."`
}

// Session is how messages become sessions.
type Session struct {
	Scope         string              `yaml:"scope" enum:"per-sender,global" doc:"per-sender: sessions are told apart by who speaks where. global: all that is said to an agent, in direct chats and groups, is one session, its main one; answers still go where they were asked for."`
	DMScope       string              `yaml:"dmScope" enum:"main,per-peer,per-channel-peer,per-account-channel-peer" doc:"Which direct chats share a session: all of an agent, those of a person id, of a person on a channel, of a person on an account. With main others whom you let in talk in your own session: set per-account-channel-peer first."`
	MainKey       string              `yaml:"mainKey" doc:"Last part of the main session's key."`
	IdentityLinks map[string][]string `yaml:"identityLinks" doc:"People by a name of your choice, each with their ids on the channels, <channel>:<user id>. Where dmScope tells people apart, the name stands for the id, so that one person's direct chats share a session."`
	Queue         Queue               `yaml:"queue" doc:"What happens to messages that come while the agent works."`
	SendPolicy    SendPolicy          `yaml:"sendPolicy" doc:"What may be sent where. Any deny that matches counts, else any allow, else the default. A session's own /send on or off comes first."`
	AgentToAgent  AgentToAgent        `yaml:"agentToAgent" doc:"Bounds of what agents may cause in one another."`
	RunTimeout    Duration            `yaml:"runTimeout" doc:"How long one run may work, from its start."`

	Reset          Reset            `yaml:"reset" doc:"When a session begins anew by itself. It is looked at when somebody speaks in it, and at no other time: what agents say to each other neither resets a session nor keeps it."`
	ResetByType    map[string]Reset `yaml:"resetByType" doc:"What counts instead in direct chats, groups (channels too), and threads (topics too), by the names direct, group and thread."`
	ResetByChannel map[string]Reset `yaml:"resetByChannel" doc:"What counts instead on a channel, for example telegram, whatever resetByType says."`
}

// Reset says when a session begins anew by itself.
type Reset struct {
	Mode        string `yaml:"mode" enum:"none,daily,idle" doc:"none: only with /new. daily: with the first message after atHour; also after idleMinutes, if that is set. idle: when nobody has spoken in it for idleMinutes."`
	AtHour      int    `yaml:"atHour" min:"0" max:"23" doc:"Hour of the gateway's local time."`
	IdleMinutes int    `yaml:"idleMinutes" min:"0" max:"525600" doc:"Minutes. Needed with idle."`
}

// AgentToAgent bounds what agents may cause in one another.
type AgentToAgent struct {
	MaxPingPongTurns int      `yaml:"maxPingPongTurns" min:"0" max:"5" doc:"How often two agents answer each other after the first answer."`
	MaxHops          int      `yaml:"maxHops" min:"1" max:"32" doc:"Sessions through which one request may be passed on. One that comes round is refused in any case."`
	MaxSteps         int      `yaml:"maxSteps" min:"1" max:"10000" doc:"Runs that one request may cause in all sessions together."`
	MaxTokens        int      `yaml:"maxTokens" min:"1000" doc:"Tokens, in and out, that these runs may use together."`
	MaxAge           Duration `yaml:"maxAge" doc:"How long they may go on."`
}

// Queue bounds a session's queue.
type Queue struct {
	Mode       string `yaml:"mode" enum:"steer,followup,collect,interrupt" doc:"What becomes of a message that comes while a run works. steer: it is given to that run, between two steps of its work. followup: it is a run of its own, afterwards. collect: all that waits becomes one run, afterwards. interrupt: it ends that run, and is worked with what was said before. /queue sets it for one session."`
	Cap        int    `yaml:"cap" min:"1" max:"1000" doc:"Messages that may wait behind a run."`
	Drop       string `yaml:"drop" enum:"old,new" doc:"Which message goes when the queue is full; its sender is told."`
	DebounceMs int    `yaml:"debounceMs" min:"0" max:"60000" doc:"In mode collect: quiet milliseconds before what waits is taken."`
}

// SendPolicy is what may be sent where.
type SendPolicy struct {
	Default string     `yaml:"default" enum:"allow,deny" doc:"Where no rule matches."`
	Rules   []SendRule `yaml:"rules" doc:"Rules; their order does not count."`
}

// SendRule is one rule of the send policy.
type SendRule struct {
	Match  SendMatch `yaml:"match" doc:"What must be so; what is left out may be anything."`
	Action string    `yaml:"action" enum:"allow,deny" doc:"Required."`
}

// SendMatch is what a rule looks at.
type SendMatch struct {
	Channel      string `yaml:"channel" doc:"Platform."`
	ChatType     string `yaml:"chatType" enum:"direct,group,channel" doc:"Kind of the conversation."`
	Account      string `yaml:"account" doc:"Account on the platform."`
	To           string `yaml:"to" doc:"Id of the conversation."`
	Thread       string `yaml:"thread" doc:"Id of the thread or topic."`
	Agent        string `yaml:"agent" doc:"Id of the agent."`
	Kind         string `yaml:"kind" enum:"reply,announce,notice,message" doc:"What the text is: an answer, what came of an exchange between agents, the gateway's own word, a proactive message."`
	KeyPrefix    string `yaml:"keyPrefix" doc:"Beginning of the session's key, with or without agent:<id>:."`
	RawKeyPrefix string `yaml:"rawKeyPrefix" doc:"Beginning of the session's whole key."`
}

// Tools are what agents' tools may do.
type Tools struct {
	Sessions SessionTools `yaml:"sessions" doc:"The tools that look at sessions."`

	AgentToAgent ToolsAgentToAgent `yaml:"agentToAgent" doc:"Which agents may speak to each other. They must see each other too: sessions.visibility all."`
	Subagents    SubagentTools     `yaml:"subagents" doc:"What sub-agents may do."`
	Web          WebTools          `yaml:"web" doc:"The tool web_fetch, which reads pages of the web: docs/tools.md."`
}

// WebTools are the tools that reach the web.
type WebTools struct {
	Enabled        bool       `yaml:"enabled" doc:"Agents have web_fetch."`
	Classification flow.Level `yaml:"classification" doc:"The highest level that an address may have, as asking for it is saying it; what pages say has this level too, and is untrusted. A session above it gets an error that names this setting."`
	Allow          []string   `yaml:"allow" doc:"Hosts that may be asked: names, or patterns with *; *.example.org is not example.org. Addresses of the own machine and network never may."`
	Deny           []string   `yaml:"deny" doc:"Hosts that may not be asked, whatever allow says."`
	MaxBytes       int        `yaml:"maxBytes" min:"1024" max:"16777216" doc:"Most that is read of one page."`
}

// MCP is the gateway as a client of MCP servers.
type MCP struct {
	Servers map[string]MCPServer `yaml:"servers" doc:"The servers by a name of your choice: a-z 0-9 -. Their tools are named mcp_<name>_<tool>."`
}

// MCPServer is one MCP server.
type MCPServer struct {
	Command        []string          `yaml:"command" doc:"A program and its arguments, which speaks on its standard input and output. It runs with the gateway's rights. This or url is required."`
	URL            Secret            `yaml:"url" doc:"Address of a server over streamable HTTP."`
	Env            map[string]Secret `yaml:"env" doc:"Environment of command. Of the gateway's own it has PATH and HOME only."`
	Headers        map[string]Secret `yaml:"headers" doc:"Headers that each request to url carries."`
	Classification flow.Level        `yaml:"classification" doc:"The highest level that it may be told, and the level of what it says. A session above it gets an error that names this setting."`
	Trusted        bool              `yaml:"trusted" doc:"What it says counts as the owner's own word. Only for one whose every answer you have written yourself."`
	Tools          MCPTools          `yaml:"tools" doc:"Which of its tools there are."`
	TimeoutSeconds int               `yaml:"timeoutSeconds" min:"1" max:"600" doc:"How long a call may take."`
}

// MCPTools choose among a server's tools.
type MCPTools struct {
	Allow []string `yaml:"allow" doc:"The only ones that there are: names as the server has them, or patterns with *. Default: all."`
	Deny  []string `yaml:"deny" doc:"Those that there are not."`
}

// ToolsAgentToAgent says which agents may speak to each other.
type ToolsAgentToAgent struct {
	Enabled bool     `yaml:"enabled" doc:"Agents may speak to the sessions of other agents."`
	Allow   []string `yaml:"allow" doc:"Agents that may speak to others and be spoken to: ids, or patterns with *."`
}

// SubagentTools are the tools of sub-agents.
type SubagentTools struct {
	Tools ToolFilter `yaml:"tools" doc:"They have every tool but sessions_spawn and those of sessions."`
}

// ToolFilter changes a set of tools.
type ToolFilter struct {
	Allow []string `yaml:"allow" doc:"Tools that they have as well: names, or patterns with *. sessions_spawn never is one."`
	Deny  []string `yaml:"deny" doc:"Tools that they do not have: names, or patterns with *."`
}

// SessionTools are the tools that look at sessions.
type SessionTools struct {
	Visibility string `yaml:"visibility" enum:"self,tree,agent,all" doc:"Which sessions they see: their own, those they started too, all of their agent, all."`
}

// Retention is how long what has ended is kept.
type Retention struct {
	Events     string `yaml:"events" doc:"What an event of a platform has led to, once its run has gone. Its key stays for ever, so that a repeat is known."`
	Runs       string `yaml:"runs" doc:"Runs that have ended, but for the last one of each session; and exchanges between agents that have ended, with their runs. Of a task that was given with an idempotency key the key stays and the text goes."`
	Deliveries string `yaml:"deliveries" doc:"Deliveries that were sent or discarded. Where a request had an idempotency key, the key stays and the text goes."`
	Sessions   string `yaml:"sessions" doc:"Conversations in which nothing has happened for so long: they end, and go with their messages, runs, approvals and files. A rule at SESSION_RESET can keep them. By default people's conversations are kept for ever."`
	Archived   string `yaml:"archived" doc:"Sessions of sub-agents that have ended, with their messages and runs: agents.defaults.subagents.archiveAfterMinutes says when they end."`
	Audit      string `yaml:"audit" doc:"Not supported: leave it empty. A chain that lost its beginning could not be verified."`
	Media      string `yaml:"media" doc:"Files that came with messages or were sent, counted from when they came. A file stays while a delivery that is not settled or an unfinished run of its session needs it."`
}

// Age is a span of retention; 0 for what is kept for ever.
func Age(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	days, ok := strings.CutSuffix(text, "d")
	n, err := strconv.Atoi(days)
	if !ok || err != nil || n < 1 || n > 36500 {
		return 0, errors.New("want days such as 90d, or nothing to keep for ever")
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

// Limits are bounds.
type Limits struct {
	DeliveryLife    Duration `yaml:"deliveryLife" doc:"A delivery that could not be sent for so long expires."`
	MaxMessageBytes int      `yaml:"maxMessageBytes" min:"1024" max:"16777216" doc:"Longest text of one message in; the sender of a longer one is told."`
	MaxMediaBytes   int      `yaml:"maxMediaBytes" min:"1024" max:"268435456" doc:"Largest file that is taken in with a message or sent with one; the files of one message have twice as much together."`
	HistoryKeep     int      `yaml:"historyKeep" min:"0" max:"1000" doc:"Unmentioned messages of a group that are kept for the next answer."`
	RunAttempts     int      `yaml:"runAttempts" min:"1" max:"100" doc:"Starts of one run, interrupted by crashes, before it counts as failed."`
	Partitions      int      `yaml:"partitions" min:"1" max:"256" doc:"Parts that the work is cut into among replicas. It is fixed with the first start of a store."`

	WorkspaceBytes Bytes `yaml:"workspaceBytes" doc:"Most that the files of all sessions of an agent take on the disk; each file and folder counts 4 KiB besides its content. Writes beyond it are refused, and commands that go beyond it are ended."`
	SessionBytes   Bytes `yaml:"sessionBytes" doc:"The same for the files of one session."`
	ReserveBytes   Bytes `yaml:"reserveBytes" doc:"Free space on the disk of the workspaces, which by default is that of the state, that no session's files may take: so messages are still taken in and answered. On a disk smaller than ten times this it is a tenth of the disk."`

	CommandMemory    Bytes `yaml:"commandMemory" doc:"Most memory that a command of the tool exec and all that it has started use together."`
	CommandProcesses int   `yaml:"commandProcesses" min:"8" max:"32768" doc:"Most processes and threads that a command of the tool exec has at once."`
}
