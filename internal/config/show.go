package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML writes the whole tree, defaults included and secrets hidden.
func (c *Config) YAML() ([]byte, error) {
	data, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return data, nil
}
