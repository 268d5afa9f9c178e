package slack

import "strings"

// emoji has Slack's names of the most common reactions. Slack has no call that translates names.
const emoji = `👍=+1 👎=-1 👀=eyes ✅=white_check_mark ☑️=ballot_box_with_check ✔️=heavy_check_mark ❌=x ❎=negative_squared_cross_mark
⏳=hourglass_flowing_sand ⌛=hourglass ⏰=alarm_clock 🕐=clock1 🤔=thinking_face 🎉=tada ❤️=heart 💙=blue_heart 💚=green_heart
🔥=fire 🚀=rocket 👏=clap 🙏=pray 💯=100 😂=joy 😄=smile 😀=grinning 😃=smiley 🙂=slightly_smiling_face 😊=blush 😍=heart_eyes
😢=cry 😭=sob 😮=open_mouth 😱=scream 😡=rage 😕=confused 🙁=slightly_frowning_face 🤣=rolling_on_the_floor_laughing 😎=sunglasses 🤖=robot_face
👋=wave 👌=ok_hand 🙌=raised_hands 💪=muscle 🤝=handshake ✋=hand 🤷=shrug 🤦=face_palm 👉=point_right ⚠️=warning
❓=question ❗=exclamation ℹ️=information_source 🛑=octagonal_sign 🚫=no_entry_sign ⛔=no_entry 🔒=lock 🔓=unlock 🔔=bell 🔕=no_bell
⭐=star ✨=sparkles 💡=bulb 📌=pushpin 📎=paperclip 📝=memo ✏️=pencil2 🔍=mag 🔁=repeat 🔄=arrows_counterclockwise
▶️=arrow_forward ⏸️=double_vertical_bar ⏹️=black_square_for_stop 💬=speech_balloon 🐛=bug 🏁=checkered_flag 🟢=large_green_circle
🟡=large_yellow_circle 🔴=red_circle 🆗=ok 🆕=new`

// variant selects the coloured form of a character; people leave it out.
const variant = "\uFE0F"

// emojiOf returns the character of one of Slack's names, without the skin tone. It returns an unknown name as it is.
func emojiOf(name string) string {
	name, _, _ = strings.Cut(name, "::")
	name = alias(name)
	for pair := range strings.FieldsSeq(emoji) {
		if char, known, _ := strings.Cut(pair, "="); known == name {
			return char
		}
	}
	return name
}

// alias: some emoji have a second name at Slack.
func alias(name string) string {
	switch name {
	case "thumbsup":
		return "+1"
	case "thumbsdown":
		return "-1"
	case "raised_hand":
		return "hand"
	case "satisfied":
		return "laughing"
	}
	return name
}

// emojiName is Slack's name of an emoji: of the character, or what was given as a name. Empty if it has no name.
func emojiName(text string) string {
	text = strings.Trim(text, ":")
	for pair := range strings.FieldsSeq(emoji) {
		char, name, _ := strings.Cut(pair, "=")
		if strings.TrimSuffix(char, variant) == strings.TrimSuffix(text, variant) {
			return name
		}
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return !nameRune(r) }) {
		return ""
	}
	return text
}

// nameRune: of what names of emoji consist.
func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("_+-'", r)
}
