// Package program lets programs outside the gateway be agents.
//
// A program stands where a model stands: it gets the conversation and the tools, and returns an answer or calls of tools. So
// everything around it is that of the built-in agent: the calls run in the gateway, below the monitor and with approvals;
// each step is stored; labels, levels, deadlines, cancelling, streaming and the work after a restart are the same.
//
// A [Carrier] brings turns to a program and frames back: over the bus (package bus), or over the standard streams of a
// process (package command). [agentkit] defines the turns and frames.
package program
