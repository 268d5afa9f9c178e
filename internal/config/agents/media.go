package agents

// Media says what becomes of recordings.
type Media struct {
	Transcription Transcription `yaml:"transcription" doc:"Who turns voice messages into text for the agents. Without it, agents are told that they can't hear them."`
}

// Transcription is a model that writes down what is said.
type Transcription struct {
	Provider string `yaml:"provider" doc:"Name of a provider in models.providers of kind openai: any server with OpenAI's Audio API, such as a local Whisper server. Its classification limits which recordings it gets. Empty: recordings are not transcribed."`
	Model    string `yaml:"model" doc:"Name of the model, such as whisper-1."`
}
