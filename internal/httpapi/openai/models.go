package openai

import (
	"net/http"
	"strings"

	"sluice/internal/httpapi/wire"
)

// own is the name of the default agent, and begins the long names of all agents.
const own = "sluice"

// modelRecord is an agent as a model.
type modelRecord struct {
	ID      string `json:"id" doc:"the agent's id"`
	Object  string `json:"object" enum:"model"`
	Created int64  `json:"created" doc:"when the gateway was started, in seconds since 1970"`
	OwnedBy string `json:"owned_by" enum:"sluice"`
}

type modelList struct {
	Object string        `json:"object" enum:"list"`
	Data   []modelRecord `json:"data"`
}

// Models lists the published agents.
func (a *API) Models(w http.ResponseWriter, _ *http.Request) error {
	out := modelList{Object: "list", Data: []modelRecord{}}
	for _, agent := range a.Agents() {
		if agent.Published {
			out.Data = append(out.Data, a.model(agent))
		}
	}
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

// Model answers with one published agent.
func (a *API) Model(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r.PathValue("path"))
	if err == nil {
		wire.WriteJSON(w, http.StatusOK, a.model(agent))
	}
	return err
}

func (a *API) model(agent Agent) modelRecord {
	return modelRecord{ID: agent.ID, Object: "model", Created: a.Started.Unix(), OwnedBy: own}
}

// agent finds the published agent that a model's name means. An agent that is not published is as one that does not exist.
func (a *API) agent(name string) (Agent, error) {
	if name == "" {
		return Agent{}, refuse("model", codeMissing, "is missing; %s lists the models", modelsPath)
	}
	all := a.Agents()
	for _, fits := range []func(Agent) bool{
		func(agent Agent) bool { return agent.ID == name },
		func(agent Agent) bool { return agent.ID == strings.TrimPrefix(name, own+"/") },
		func(agent Agent) bool { return name == own && agent.Default },
	} {
		for _, agent := range all {
			if agent.Published && fits(agent) {
				return agent, nil
			}
		}
	}
	return Agent{}, &fault{wire.NewError(http.StatusNotFound, "model_not_found", "model: "+wire.Printable(name)+" is not a model here; "+modelsPath+" lists those that are, and publish.openai in agents.list publishes an agent"), "model"}
}

// published reports whether clients may talk to an agent.
func (a *API) published(id string) bool {
	for _, agent := range a.Agents() {
		if agent.ID == id {
			return agent.Published
		}
	}
	return false
}
