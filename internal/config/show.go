package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML returns the whole tree, with defaults and with hidden secrets.
func (c *Config) YAML() ([]byte, error) {
	data, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return data, nil
}
