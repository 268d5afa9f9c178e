package automation

// Nodes are the settings of nodes.
type Nodes struct {
	Pairing string `yaml:"pairing" enum:"approval,disabled" doc:"How programs and devices become nodes. approval: an owner approves the code that sluice node pair shows. disabled: no new ones; approved nodes stay."`
}

// The values of Nodes.Pairing.
const (
	PairingApproval = "approval"
	PairingDisabled = "disabled"
)
