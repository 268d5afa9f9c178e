package agents

// Media says what becomes of recordings.
type Media struct {
	Speech Speech `yaml:"speech,omitempty" doc:"Who speaks the replies in conversations where somebody has said /voice on. The text is always sent, too."`

	Transcription Transcription `yaml:"transcription" doc:"Who turns voice messages into text for the agents. Without it, agents are told that they can't hear them, and people get one notice."`
}

// Transcription is a model that writes down what is said.
type Transcription struct {
	Command  []string `yaml:"command,omitempty" doc:"A program on this machine in place of a provider, with its arguments. It runs in the sandbox, without network, within limits.commandMemory and for at most a minute, gets the recording as its input and prints what is said. {file} in an argument stands for the path of the recording. It can read the files and folders that it names with absolute paths, such as its model."`
	Provider string   `yaml:"provider" doc:"Name of a provider in models.providers of kind openai: any server with OpenAI's Audio API, such as a local Whisper server. Its classification limits which recordings it gets. Empty: recordings are not transcribed."`
	Model    string   `yaml:"model" doc:"Name of the model, such as whisper-1."`
}

// Speech is a model that speaks.
type Speech struct {
	Provider string `yaml:"provider" doc:"Name of a provider in models.providers of kind openai: any server with OpenAI's Audio API. Its classification limits which replies it gets. Empty: replies are not spoken."`
	Model    string `yaml:"model" doc:"Name of the model, such as gpt-4o-mini-tts or kokoro."`
	Voice    string `yaml:"voice" doc:"Name of the voice, such as alloy."`
}

// Models returns the models for transcription and speech, as <provider>/<model>, without commands.
func (m Media) Models() (names []string) {
	for _, of := range [][2]string{{m.Transcription.Provider, m.Transcription.Model}, {m.Speech.Provider, m.Speech.Model}} {
		if of[0] != "" {
			names = append(names, of[0]+"/"+of[1])
		}
	}
	return names
}

// Check reports what is wrong with the section. openAI says whether a provider is configured and of kind openai.
func (m Media) Check(must func(ok bool, key, format string, args ...any), openAI func(provider string) bool) {
	const kind = "want the name of a provider of kind openai in models.providers, not %q"
	t := m.Transcription
	switch {
	case len(t.Command) > 0:
		must(t.Provider == "" && t.Model == "", "transcription.command", "give either a command, or a provider and its model")
		must(t.Command[0] != "", "transcription.command", "want a program and its arguments")
	case t.Provider == "":
		must(t.Model == "", "transcription.provider", "is missing: name a provider of kind openai")
	default:
		must(openAI(t.Provider), "transcription.provider", kind, t.Provider)
		must(t.Model != "", "transcription.model", "is missing, such as whisper-1")
	}
	s := m.Speech
	if s.Provider == "" {
		must(s.Model == "" && s.Voice == "", "speech.provider", "is missing: name a provider of kind openai")
		return
	}
	must(openAI(s.Provider), "speech.provider", kind, s.Provider)
	must(s.Model != "", "speech.model", "is missing, such as gpt-4o-mini-tts")
	must(s.Voice != "", "speech.voice", "is missing, such as alloy")
}
