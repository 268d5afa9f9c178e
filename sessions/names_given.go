package sessions

import "sluice/sessions/port"

// Agent and the others: what a session is given: models, tools, sub-agents, a monitor and a sandbox, see package port.
//
//nolint:revive // each is documented in its package
type (
	Agent           = port.Agent
	CallVerdict     = port.CallVerdict
	Caller          = port.Caller
	Chunk           = port.Chunk
	Classified      = port.Classified
	Completion      = port.Completion
	Encoded         = port.Encoded
	FlowEnd         = port.FlowEnd
	Form            = port.Form
	Model           = port.Model
	ModelError      = port.ModelError
	ModelErrorKind  = port.ModelErrorKind
	Monitor         = port.Monitor
	MonitoredCall   = port.MonitoredCall
	PermissionMode  = port.PermissionMode
	Reach           = port.Reach
	RemoteTool      = port.RemoteTool
	Request         = port.Request
	Response        = port.Response
	Ruling          = port.Ruling
	Sandbox         = port.Sandbox
	SandboxConfig   = port.SandboxConfig
	SandboxMode     = port.SandboxMode
	SandboxSettings = port.SandboxSettings
	SubAgent        = port.SubAgent
	SubAgentPlan    = port.SubAgentPlan
	Tempered        = port.Tempered
	Terms           = port.Terms
	Tool            = port.Tool
	ToolFlow        = port.ToolFlow
	ToolResult      = port.ToolResult
	ToolSpec        = port.ToolSpec
)

// Kinds of failures, ends of data flows, rulings, reaches and modes.
const (
	FlowAgent        = port.FlowAgent
	FlowDelivery     = port.FlowDelivery
	FlowMemory       = port.FlowMemory
	FlowNone         = port.FlowNone
	FlowOutside      = port.FlowOutside
	FlowSession      = port.FlowSession
	ModelAuth        = port.ModelAuth
	ModelCut         = port.ModelCut
	ModelOverflow    = port.ModelOverflow
	ModelOverloaded  = port.ModelOverloaded
	ModelRateLimited = port.ModelRateLimited
	ModelRefused     = port.ModelRefused
	ModelUnavailable = port.ModelUnavailable
	PermissionAsk    = port.PermissionAsk
	PermissionAuto   = port.PermissionAuto
	PermissionDeny   = port.PermissionDeny
	ReachBeyond      = port.ReachBeyond
	ReachHere        = port.ReachHere
	ReachUnknown     = port.ReachUnknown
	RulingAsk        = port.RulingAsk
	RulingRefuse     = port.RulingRefuse
	RulingRun        = port.RulingRun
	SandboxOff       = port.SandboxOff
	SandboxOptional  = port.SandboxOptional
	SandboxRequired  = port.SandboxRequired
)

// Functions and an error of package port.
//
//nolint:gochecknoglobals // they are never set
var (
	ErrNoSandbox        = port.ErrNoSandbox
	MakeFolder          = port.MakeFolder
	MaxTemperature      = port.MaxTemperature
	ModelLevel          = port.ModelLevel
	ParsePermissionMode = port.ParsePermissionMode
	ParseSandboxMode    = port.ParseSandboxMode
)
