package attacks_test

import (
	"net/http"

	"sluice/policy"
)

// operatorAttacks have the bearer of a named token, an operator who sees what is PUBLIC, decide what is not theirs to decide.
func operatorAttacks() []attack {
	check := []policy.Checkpoint{policy.CheckApprover}
	return []attack{
		{path: "L8", name: "HTTP: a PUBLIC operator allows a call that brings in what is CONFIDENTIAL", without: check, act: func(s *scene) {
			s.allowed(s.open(masterToken), masterToken, call("mcp_high_tell", args{"text": "ask an approver first"}))
		}},
		{path: "trust", name: "HTTP: an operator allows the call that its own words led to", without: check, act: func(s *scene) {
			s.allowed(s.open(lowToken), lowToken, call("todo_add", args{"items": []string{"ask somebody"}}))
		}},
		{path: "trust", name: "HTTP: an operator allows its own call by a chat command", without: check, act: func(s *scene) {
			row := s.open(lowToken)
			id := s.waits(row, lowToken, call("todo_add", args{"items": []string{"ask somebody"}}))
			s.tellAs(lowToken, s.open(lowToken), "PUBLIC", "/approve "+id+" allow")
			s.undecided(id)
		}},
		{path: "trust", name: "HTTP: an operator always allows a call", act: func(s *scene) {
			id := s.waits(s.open(masterToken), masterToken, call("todo_add", args{"items": []string{"ask somebody"}}))
			if a := s.as(lowToken, http.MethodPost, "/v1/approvals/"+id+"/always", ""); a.status != http.StatusForbidden && a.status != http.StatusNotFound {
				s.leak("always: %d %s", a.status, a.body)
			}
			s.undecided(id)
		}},
		{path: "trust", name: "HTTP: an operator lifts the owner's /send off", act: func(s *scene) {
			row := s.open(masterToken)
			s.read(s.patch(row, `{"send_policy":"deny"}`), nil)
			if a := s.as(lowToken, http.MethodPatch, "/v1/sessions/"+row.ID, `{"send_policy":"allow"}`); a.status != http.StatusForbidden {
				s.leak("PATCH: an operator has changed the send policy: %d %s", a.status, a.body)
			}
		}},
	}
}

// allowed has the low token say yes to a call that somebody's words lead to, and notes a leak if that counts.
func (s *scene) allowed(row sessionRow, speaker, order string) {
	s.t.Helper()
	id := s.waits(row, speaker, order)
	if a := s.as(lowToken, http.MethodPost, "/v1/approvals/"+id+"/allow", ""); a.status != http.StatusForbidden && a.status != http.StatusNotFound {
		s.leak("allow: %d %s", a.status, a.body)
	}
	s.undecided(id)
}

// waits has a session make a call that waits for somebody's decision, and gives the approval.
func (s *scene) waits(row sessionRow, speaker, order string) (id string) {
	s.t.Helper()
	s.streams.Go(func() { _ = s.tellAs(speaker, row, "PUBLIC", order) }) // it is answered once somebody has decided
	s.until("the call to wait", func() bool {
		var list struct{ Approvals []struct{ ID string } }
		s.read(s.as(masterToken, http.MethodGet, "/v1/approvals?session="+row.ID, ""), &list)
		if len(list.Approvals) > 0 {
			id = list.Approvals[0].ID
		}
		return id != ""
	})
	return id
}

// undecided notes a leak if somebody has allowed a call, and denies it.
func (s *scene) undecided(id string) {
	s.t.Helper()
	var got struct{ Status, By string }
	s.read(s.as(masterToken, http.MethodGet, "/v1/approvals/"+id, ""), &got)
	if got.Status != "pending" {
		s.leak("approval: it is %s by %s", got.Status, got.By)
	} else {
		s.read(s.as(masterToken, http.MethodPost, "/v1/approvals/"+id+"/deny", "{}"), nil)
	}
	s.settle()
}
