package skills

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
	"sluice/internal/skill"
)

func (d Deps) check() *cobra.Command {
	var agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [FOLDER|NAME]", Short: "Check the folder of a new skill, or the skills of agents", Args: command.Args(0, 1),
		Long: `Check the folder of a new skill; this needs no gateway. Without a folder, check that the
skills of agents can be read and are unchanged since they were added.`,
		RunE: d.Run(func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
					return d.checkFolder(args[0], asJSON)
				}
			}
			got, answer, err := call[list](ctx, d, api.Request{Path: "/v1/skills", Query: api.Query("agent", agent)})
			if err != nil {
				return err
			}
			if asJSON {
				return d.reportJSON(got.Skills, answer, args)
			}
			return d.report(got.Skills, args)
		}),
	}
	agentFlag(cmd, &agent, "all agents")
	return command.ResultJSON(cmd, &asJSON)
}

// checkFolder checks a folder of this machine.
func (d Deps) checkFolder(folder string, asJSON bool) error {
	content, err := skill.Read(folder)
	if err != nil {
		return err
	}
	if asJSON {
		return d.Screen.Object(map[string]any{
			"name": content.Name, "description": content.Description, "files": len(content.Files), "bytes": content.Bytes,
			"signed": content.Signature != "", "digest": content.Digest,
		})
	}
	signed := "no"
	if content.Signature != "" {
		signed = "yes"
	}
	return d.Screen.Pairs("skill", content.Name, "description", content.Description, "files", strconv.Itoa(len(content.Files)), "size", strconv.FormatInt(content.Bytes, 10),
		"signed", signed, "content", content.Digest)
}

// report prints what is wrong with skills, and returns an error if anything is.
func (d Deps) report(all []record, names []string) error {
	known, wrong := false, 0
	for _, r := range all {
		if len(names) == 1 && r.Name != names[0] {
			continue
		}
		known = true
		mark, text := "ok", r.Digest+", "+r.Trust
		switch {
		case r.Problem != "":
			mark, text = "FAIL", r.State+": "+r.Problem
			wrong++
		case r.State == string(skill.Unpinned):
			mark, text = "note", r.Digest+", added by hand: untrusted until sluice skills trust "+r.Name+" --agent "+r.Agent
		}
		if err := d.Screen.Printf("%-4s  %-24s %s", mark, terminal.Line(r.Agent+"/"+r.Name), terminal.Line(text)); err != nil {
			return err
		}
	}
	switch {
	case len(names) == 1 && !known:
		return unknownSkill(names[0])
	case !known:
		return d.Screen.Printf(noSkills)
	case wrong > 0:
		return terminal.ErrReported
	}
	return nil
}

// reportJSON prints skills as the gateway lists them, and returns an error as [Deps.report] does.
func (d Deps) reportJSON(all []record, answer api.Answer, names []string) error {
	raw, err := api.Decode[struct{ Skills []json.RawMessage }](answer)
	if err != nil {
		return err
	}
	chosen, wrong := []json.RawMessage{}, false
	for i, r := range all {
		if len(names) == 0 || r.Name == names[0] {
			chosen, wrong = append(chosen, raw.Skills[i]), wrong || r.Problem != ""
		}
	}
	if len(names) == 1 && len(chosen) == 0 {
		return unknownSkill(names[0])
	}
	if err := d.Screen.Object(map[string]any{"skills": chosen}); err != nil || !wrong {
		return err
	}
	return terminal.ErrReported
}

func unknownSkill(name string) error {
	return fmt.Errorf("no agent has a skill named %q, and no folder with that name exists", name)
}

func (d Deps) keygen() *cobra.Command {
	var asJSON bool
	return command.ResultJSON(&cobra.Command{
		Use: "keygen FILE", Short: "Create a key that signs skills", Args: command.Args(1, 1),
		Long: `Create a key that signs skills. The private key is written to a new file; keep it secret. The
public key is printed: add it to skills.keys of the gateways that use your skills.`,
		RunE: d.Run(func(_ context.Context, args []string) error {
			public, private, err := ed25519.GenerateKey(rand.Reader)
			if err != nil {
				return fmt.Errorf("make key: %w", err)
			}
			encoded, err := x509.MarshalPKCS8PrivateKey(private)
			if err != nil {
				return fmt.Errorf("make key: %w", err)
			}
			file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("write key: %w", err)
			}
			err = pem.Encode(file, &pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
			if err = errors.Join(err, file.Close()); err != nil {
				return fmt.Errorf("write key: %w", err)
			}
			text := base64.StdEncoding.EncodeToString(public)
			return d.Screen.Result(asJSON, map[string]string{"file": args[0], "public": text}, text)
		}),
	}, &asJSON)
}

func (d Deps) sign() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "sign FOLDER --key FILE", Short: "Sign a skill: writes " + skill.SignatureName + " into its folder", Args: command.Args(1, 1),
		RunE: d.Run(func(_ context.Context, args []string) error {
			key, err := privateKey(file)
			if err != nil {
				return err
			}
			content, err := skill.Read(args[0])
			if err != nil {
				return err
			}
			signature := filepath.Join(args[0], skill.SignatureName)
			if err := os.WriteFile(signature, []byte(skill.Sign(content.Digest, key)+"\n"), 0o600); err != nil {
				return fmt.Errorf("write signature: %w", err)
			}
			return d.Screen.Result(asJSON, map[string]string{"name": content.Name, "digest": content.Digest, "file": signature},
				fmt.Sprintf("%s: signed %s", terminal.Line(content.Name), content.Digest))
		}),
	}
	cmd.Flags().StringVar(&file, "key", "", "`file` with the private key, see sluice skills keygen")
	_ = cmd.MarkFlagRequired("key") // the flag is defined
	return command.ResultJSON(cmd, &asJSON)
}

// privateKey reads a private key.
func privateKey(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := parsed.(ed25519.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, fmt.Errorf("%s has no ed25519 private key: sluice skills keygen makes one", file)
}
