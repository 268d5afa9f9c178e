package telegramtest

// Appoint makes people administrators of a chat.
func (b *Bot) Appoint(chatID int64, people ...User) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	b.admins[chatID] = append(b.admins[chatID], people...)
}

func (b *Bot) getChat(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c, apiErr := b.target(req)
	if apiErr != nil {
		return nil, apiErr
	}
	j := c.Chat.append(nil)
	j = append(j[:len(j)-1], `,"accent_color_id":1,"max_reaction_count":11`...)
	return append(j, '}'), nil
}

func (b *Bot) administrators(req *request) ([]byte, *apiError) {
	b.srv.mu.Lock()
	defer b.srv.mu.Unlock()
	c, apiErr := b.target(req)
	if apiErr != nil {
		return nil, apiErr
	}
	if c.Type == "private" {
		return nil, badRequest("there are no administrators in the private chat")
	}
	j := []byte{'['}
	for i, u := range b.admins[c.ID] {
		if i > 0 {
			j = append(j, ',')
		}
		j = append(j, `{"status":"administrator","user":`...)
		j = append(u.append(j), `,"is_anonymous":false}`...)
	}
	return append(j, ']'), nil
}
