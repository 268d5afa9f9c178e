package agents

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"sluice/internal/skill"
)

// Skills says what of the agents' skills is trusted.
type Skills struct {
	PromptChars int                 `yaml:"promptChars" min:"0" max:"100000" doc:"Characters of each prompt for the names and descriptions of the agent's skills. 0: none."`
	Trust       []string            `yaml:"trust" doc:"Skills that are trusted, by the SHA-256 of their content as sluice skills check prints it: sha256:…"`
	Keys        map[string]SkillKey `yaml:"keys" doc:"Keys that sign skills, by names of your choice. A skill that is signed with one of them can be added from a URL without a hash."`
}

// SkillKey is a key that signs skills.
type SkillKey struct {
	Key   string `yaml:"key" doc:"Required. The ed25519 public key in base64, as sluice skills keygen prints it."`
	Trust bool   `yaml:"trust" doc:"Trust the skills that are signed with it."`
}

var digestShape = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Settings are the settings as skills have them; faults are told with their place.
func (s *Skills) Settings(fault func(path, text string)) skill.Settings {
	out := skill.Settings{Trusted: s.Trust}
	for i, digest := range s.Trust {
		if !digestShape.MatchString(digest) {
			fault(fmt.Sprintf("skills.trust[%d]", i), fmt.Sprintf("%q: want sha256: and 64 hexadecimal digits, as sluice skills check prints them", digest))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Keys)) {
		key, err := skill.ParseKey(s.Keys[name].Key)
		if err != nil {
			fault("skills.keys."+name+".key", err.Error())
			continue
		}
		out.Keys = append(out.Keys, skill.Key{Name: name, Public: key, Trust: s.Keys[name].Trust})
	}
	return out
}
