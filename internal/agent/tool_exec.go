package agent

// execName is the tool that runs commands.
const execName = "exec"

// fileTools are those of an agent with a workspace.
var fileTools = []string{"read", "write", "edit", "list", "find", "grep", execName}
