// A client of OpenAI's API, with its package openai. The agent calls the client's function.
//
//   npm install
//   SLUICE_URL=http://127.0.0.1:8484/v1 SLUICE_TOKEN=… WEATHER_URL=http://127.0.0.1:8000/?city= \
//     node functions.mjs "What is the weather in Paris?"
//
// docs/openai.md describes what the gateway does with functions.
import OpenAI from "openai";

const { SLUICE_URL: baseURL, SLUICE_TOKEN: apiKey, WEATHER_URL: weather } = process.env;
const client = new OpenAI({ baseURL, apiKey });

const runner = client.chat.completions.runTools({
  model: "main",
  stream: true,
  messages: [{ role: "user", content: process.argv[2] }],
  tools: [{
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather in a city, now.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      parse: JSON.parse,
      function: async ({ city }) => (await fetch(weather + encodeURIComponent(city))).text(),
    },
  }],
});
runner.on("content", (text) => process.stdout.write(text));
await runner.done();
process.stdout.write("\n");
