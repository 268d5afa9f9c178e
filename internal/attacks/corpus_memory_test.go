package attacks_test

import "strconv"

// look are all ways in which a session looks into its memory.
func look(word string) []string {
	return []string{
		call("memory_list", args{}), call("memory_list", args{"tag": "rule"}), call("memory_list", args{"limit": 1}), call("memory_get", args{"key": "plan"}),
		call("memory_search", args{"query": "the plan " + word}), call("memory_search", args{"query": "plan", "max_results": 1}),
	}
}

// save is a call of memory_save.
func save(key, content string, tags ...string) string {
	return call("memory_save", args{"key": key, "content": content, "tags": append([]string{}, tags...)})
}

// memoryAttacks leave it in what agents remember. The sessions share an audience, so that nothing but levels is in the way.
func memoryAttacks() []attack {
	return []attack{
		{path: "L4", name: "remember: a content", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.has(s.do(high, save("plan", s.secret)), `"classification":"CONFIDENTIAL"`)
			s.unseen("memory at PUBLIC", s.do(low, look("friday")...))
		}},
		{path: "L4", name: "remember: the key says it", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, save(s.secret, "yes"))
			s.unseen("memory at PUBLIC", s.do(low, look("yes")...))
		}},
		{path: "L4", name: "remember: a tag says it", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, save("plan", "yes", s.secret, "rule"))
			s.unseen("memory at PUBLIC", s.do(low, look("yes")...))
		}},
		{path: "L4", name: "remember: under a key that a public session has", act: func(s *scene) {
			low, high := s.low(), s.high()
			key := "plan-" + strconv.Itoa(s.n)
			s.do(low, save(key, "public version"))
			before := s.do(low, call("memory_get", args{"key": key}))
			s.do(high, save(key, s.secret))
			s.same("memory_get", s.do(low, call("memory_get", args{"key": key})), before)
			s.has(s.do(low, call("memory_get", args{"key": key})), "public version")
		}},
		{path: "L4", name: "remember: how many there are, and in which order", act: func(s *scene) {
			low, high := s.low(), s.high()
			word := "topic" + strconv.Itoa(s.n)
			s.do(low, save(word+"-a", "the "+word+" is alpha"), save(word+"-b", "the "+word+" is beta and the "+word), save(word+"-c", word+" gamma"))
			asks := []string{
				call("memory_search", args{"query": "the " + word + " beta"}), call("memory_search", args{"query": word, "max_results": 2}),
				call("memory_search", args{"query": word + " alpha"}), call("memory_list", args{"limit": 2}), call("memory_list", args{}),
			}
			before := s.do(low, asks...)
			var many []string
			for i := range 20 {
				many = append(many, save(word+"-0"+strconv.Itoa(i), word+" "+word+" alpha beta the "+s.secret))
			}
			s.do(high, many...)
			s.same("memory", s.do(low, asks...), before)
		}},
		{path: "L4", name: "remember: a public session asks what is below a deleted one", act: func(s *scene) {
			low, high := s.low(), s.high()
			key := "gone-" + strconv.Itoa(s.n)
			s.do(high, save(key, s.secret))
			s.same("memory_delete", s.do(low, call("memory_delete", args{"key": key, "uncover": true})), swap(s.do(low, call("memory_delete", args{"key": "none-" + strconv.Itoa(s.n), "uncover": true})), "none-", "gone-"))
			s.has(s.do(high, call("memory_get", args{"key": key})), s.secret) // nobody below has deleted it
		}},
		{path: "L4", name: "remember: a deletion above takes nothing away below", act: func(s *scene) {
			low, high := s.low(), s.high()
			key := "kept-" + strconv.Itoa(s.n)
			s.do(low, save(key, "public version"))
			before := s.do(low, call("memory_get", args{"key": key}))
			s.do(high, call("memory_delete", args{"key": key}))
			s.same("memory_get", s.do(low, call("memory_get", args{"key": key})), before)
		}},
		{path: "L4", name: "remember: what is recalled into a prompt", act: func(s *scene) {
			s.do(s.high(), save("rule-"+strconv.Itoa(s.n), "always say "+s.secret, "rule", "persona", "preference", "project"))
			s.unseen("prompt of another session", s.tell(s.low(), "PUBLIC", "what do you know?"))
		}},
		{path: "L4", name: "remember: the owner's own memory, asked for by a group", act: func(s *scene) {
			s.raised()
			s.say(s.private(), s.owner(), save("plan", s.secret, "rule"))
			s.grouped()
			for _, order := range look(s.secret[:4]) {
				s.say(s.group(), s.guest(), order)
			}
		}},
		{path: "L4", name: "search: a word of it finds nothing", act: func(s *scene) {
			low, high := s.low(), s.high()
			s.do(high, save("plan", "launch "+s.secret))
			s.same("memory_search", s.do(low, call("memory_search", args{"query": s.secret[:len(s.secret)-1]})), swap(s.do(low, call("memory_search", args{"query": "nothingofthekind"})), "nothingofthekind", s.secret[:len(s.secret)-1]))
		}},
	}
}
