package sessions

// The names of the packages below this one. They are a part of the published step API (docs/session-library.md): a program
// that drives sessions needs one import, and the packages below may be cut in other ways. A package that needs only some of
// them may import the package that has them. Revive wants a comment for each alias, which would repeat the one of the name;
// gochecknoglobals takes the functions for variables that change.

import (
	"sluice/sessions/address"
	"sluice/sessions/audit"
	"sluice/sessions/message"
	"sluice/sessions/notes"
	"sluice/sessions/prompt"
	"sluice/sessions/record"
	"sluice/sessions/turn"
)

// ChatType and the others: addresses and ids, see package address.
//
//nolint:revive // each is documented in its package
type (
	ChatType          = address.ChatType
	ConversationID    = address.ConversationID
	DMScope           = address.DMScope
	ID                = address.ID
	Key               = address.Key
	KeyKind           = address.KeyKind
	Keyer             = address.Keyer
	Lane              = address.Lane
	MediaID           = address.MediaID
	MessageID         = address.MessageID
	Peer              = address.Peer
	PlatformMessageID = address.PlatformMessageID
	Route             = address.Route
	RunID             = address.RunID
	ThreadID          = address.ThreadID
	UserID            = address.UserID
)

// Chat types, kinds of keys, scopes of direct chats, and the alias of a main session.
const (
	Channel                    = address.Channel
	Direct                     = address.Direct
	Group                      = address.Group
	KindCron                   = address.KindCron
	KindGroup                  = address.KindGroup
	KindHook                   = address.KindHook
	KindMain                   = address.KindMain
	KindNode                   = address.KindNode
	KindOther                  = address.KindOther
	MainAlias                  = address.MainAlias
	ScopeMain                  = address.ScopeMain
	ScopePerAccountChannelPeer = address.ScopePerAccountChannelPeer
	ScopePerChannelPeer        = address.ScopePerChannelPeer
	ScopePerPeer               = address.ScopePerPeer
)

// Functions of package address.
//
//nolint:gochecknoglobals // they are never set
var (
	NewID          = address.NewID
	NewMediaID     = address.NewMediaID
	NewMessageID   = address.NewMessageID
	NewRunID       = address.NewRunID
	ParseID        = address.ParseID
	ParseKey       = address.ParseKey
	ParseMessageID = address.ParseMessageID
	ParsePrincipal = address.ParsePrincipal
	ParseRunID     = address.ParseRunID
	Principal      = address.Principal
	SessionLane    = address.SessionLane
	SubAgentKey    = address.SubAgentKey
)

// Attachment and the others: what is said, see package message.
//
//nolint:revive // each is documented in its package
type (
	Attachment    = message.Attachment
	Button        = message.Button
	Event         = message.Event
	EventType     = message.EventType
	SilenceFilter = message.SilenceFilter
	Message       = message.Message
	Part          = message.Part
	PartType      = message.PartType
	Quotation     = message.Quotation
	QuotationKind = message.QuotationKind
	Role          = message.Role
	Usage         = message.Usage
)

// Roles, kinds of parts and quotations, silent answers and types of events.
const (
	AnnounceSkip   = message.AnnounceSkip
	EventAborted   = message.EventAborted
	EventDecided   = message.EventDecided
	EventDelta     = message.EventDelta
	EventDone      = message.EventDone
	EventDropped   = message.EventDropped
	EventFailed    = message.EventFailed
	EventNotice    = message.EventNotice
	EventRetrying  = message.EventRetrying
	EventStarted   = message.EventStarted
	EventThinking  = message.EventThinking
	EventToolCall  = message.EventToolCall
	EventToolDone  = message.EventToolDone
	EventUser      = message.EventUser
	NoReply        = message.NoReply
	HeartbeatOK    = message.HeartbeatOK
	PartAttachment = message.PartAttachment
	PartText       = message.PartText
	PartThinking   = message.PartThinking
	PartToolCall   = message.PartToolCall
	PartToolResult = message.PartToolResult
	PictureMax     = message.PictureMax
	QuoteForward   = message.QuoteForward
	QuoteLink      = message.QuoteLink
	QuoteCheck     = message.QuoteCheck
	QuoteReply     = message.QuoteReply
	QuoteResult    = message.QuoteResult
	QuoteThread    = message.QuoteThread
	QuoteWake      = message.QuoteWake
	ReplySkip      = message.ReplySkip
	RoleAgent      = message.RoleAgent
	RoleAssistant  = message.RoleAssistant
	RoleSummary    = message.RoleSummary
	RoleToolResult = message.RoleToolResult
	RoleUser       = message.RoleUser
)

// Functions of package message.
//
//nolint:gochecknoglobals // they are never set
var (
	MayBeSilent = message.MayBeSilent
	VisibleText = message.VisibleText
	Silent      = message.Silent
	TextPart    = message.TextPart
)

// AbortCause and the others: runs and what they work on, see package turn.
//
//nolint:revive // each is documented in its package
type (
	AbortCause  = turn.AbortCause
	Chain       = turn.Chain
	ClientCall  = turn.ClientCall
	Function    = turn.Function
	HistoryLine = turn.HistoryLine
	Input       = turn.Input
	Order       = turn.Order
	OrderKind   = turn.OrderKind
	QueueMode   = turn.QueueMode
	Run         = turn.Run
	RunKind     = turn.RunKind
	RunStatus   = turn.RunStatus
	WorkError   = turn.WorkError
)

// Where a run stands, what caused it, what it does to its session, and how messages wait.
const (
	AbortNone      = turn.AbortNone
	AbortReplaced  = turn.AbortReplaced
	AbortStopped   = turn.AbortStopped
	KindAnnounce   = turn.KindAnnounce
	KindAsk        = turn.KindAsk
	KindCommand    = turn.KindCommand
	KindMessage    = turn.KindMessage
	KindNote       = turn.KindNote
	KindReply      = turn.KindReply
	KindReport     = turn.KindReport
	KindTask       = turn.KindTask
	KindTrigger    = turn.KindTrigger
	OrderCompact   = turn.OrderCompact
	OrderEdit      = turn.OrderEdit
	OrderRaise     = turn.OrderRaise
	OrderRetry     = turn.OrderRetry
	OrderSwitch    = turn.OrderSwitch
	OrderUndo      = turn.OrderUndo
	QueueCollect   = turn.QueueCollect
	QueueFollowup  = turn.QueueFollowup
	QueueInherit   = turn.QueueInherit
	QueueInterrupt = turn.QueueInterrupt
	QueueSteer     = turn.QueueSteer
	RunAborted     = turn.RunAborted
	RunDone        = turn.RunDone
	RunDropped     = turn.RunDropped
	RunFailed      = turn.RunFailed
	RunQueued      = turn.RunQueued
	RunRunning     = turn.RunRunning
	RunTimeout     = turn.RunTimeout
)

// Abort and the others: what is stored of a session, and the port of the store, see package record.
//
//nolint:revive // each is documented in its package
type (
	Abort         = record.Abort
	Activation    = record.Activation
	Change        = record.Change
	End           = record.End
	Child         = record.Child
	FileAccess    = record.FileAccess
	Interrupt     = record.Interrupt
	Patch         = record.Patch
	Record        = record.Record
	RunMove       = record.RunMove
	SendPolicy    = record.SendPolicy
	Store         = record.Store
	StoredMessage = record.StoredMessage
	Temperature   = record.Temperature
	ThinkingLevel = record.ThinkingLevel
	Tree          = record.Tree
	VerboseLevel  = record.VerboseLevel
)

// Settings and their bounds.
const (
	ActivationAlways  = record.ActivationAlways
	ActivationInherit = record.ActivationInherit
	ActivationMention = record.ActivationMention
	BranchesMax       = record.BranchesMax
	LabelMax          = record.LabelMax
	MetadataMax       = record.MetadataMax
	OutputTokensMax   = record.OutputTokensMax
	SendAllow         = record.SendAllow
	SendDeny          = record.SendDeny
	SendInherit       = record.SendInherit
	TemperatureMax    = record.TemperatureMax
	ThinkingHigh      = record.ThinkingHigh
	ThinkingInherit   = record.ThinkingInherit
	ThinkingLow       = record.ThinkingLow
	ThinkingMedium    = record.ThinkingMedium
	ThinkingOff       = record.ThinkingOff
	VerboseFull       = record.VerboseFull
	VerboseInherit    = record.VerboseInherit
	VerboseOff        = record.VerboseOff
	VerboseOn         = record.VerboseOn
)

// Functions of package record.
//
//nolint:gochecknoglobals // they are never set
var (
	ParseTemperature = record.ParseTemperature
	WholeWorkspace   = record.WholeWorkspace
)

// Errors of the store.
var (
	ErrConflict    = record.ErrConflict
	ErrDuplicate   = record.ErrDuplicate
	ErrFenced      = record.ErrFenced
	ErrNotFound    = record.ErrNotFound
	ErrUnavailable = record.ErrUnavailable
)

// Audience and the others: memories and to-do lists, see package notes.
//
//nolint:revive // each is documented in its package
type (
	Audience      = notes.Audience
	Memory        = notes.Memory
	MemoryDelete  = notes.MemoryDelete
	MemoryEnding  = notes.MemoryEnding
	MemoryID      = notes.MemoryID
	MemoryPlace   = notes.MemoryPlace
	MemoryQuery   = notes.MemoryQuery
	MemoryHistory = notes.MemoryHistory
	MemoryKeyed   = notes.MemoryKeyed
	MemorySave    = notes.MemorySave
	MemoryScope   = notes.MemoryScope
	MemorySearch  = notes.MemorySearch
	Todo          = notes.Todo
	TodoChange    = notes.TodoChange
	TodoID        = notes.TodoID
	TodoStatus    = notes.TodoStatus
)

// Their bounds and states.
const (
	AudienceOwner    = notes.AudienceOwner
	MemoryDeleted    = notes.MemoryDeleted
	MemoryExpired    = notes.MemoryExpired
	MemoryContentMax = notes.MemoryContentMax
	MemoryKeyMax     = notes.MemoryKeyMax
	MemoryTagMax     = notes.MemoryTagMax
	MemoryTagsMax    = notes.MemoryTagsMax
	MemoryReplaced   = notes.MemoryReplaced
	MemoryUncovered  = notes.MemoryUncovered
	TodoDoing        = notes.TodoDoing
	TodoDone         = notes.TodoDone
	TodoTextMax      = notes.TodoTextMax
	TodoOpen         = notes.TodoOpen
	TodosMax         = notes.TodosMax
)

// Errors of memories.
var (
	ErrMemoryFull = notes.ErrMemoryFull
)

// Functions of package notes.
//
//nolint:gochecknoglobals // they are never set
var (
	NewMemoryID      = notes.NewMemoryID
	ParseMemoryPlace = notes.ParseMemoryPlace
	TodoStatuses     = notes.TodoStatuses
)

// AuditEntry and the others: the audit trail, see package audit.
//
//nolint:revive // each is documented in its package
type (
	AuditEntry = audit.Entry
	Trail      = audit.Trail
)

// AgentData and the others: system prompts as templates, see package prompt.
//
//nolint:revive // each is documented in its package
type (
	AgentData    = prompt.AgentData
	Prompt       = prompt.Prompt
	SessionData  = prompt.SessionData
	TemplateData = prompt.TemplateData
)

// Bounds and names of the files in a workspace.
const (
	InstructionsMax = prompt.InstructionsMax
	SpineFileName   = prompt.SpineFileName
)

// Functions of package prompt.
//
//nolint:gochecknoglobals // they are never set
var (
	HeadWord             = prompt.HeadWord
	LocalAgentsFileNames = prompt.LocalAgentsFileNames
	ParsePrompt          = prompt.ParsePrompt
	ReadInstructions     = prompt.ReadInstructions
	ReadSpine            = prompt.ReadSpine
)
