// An agent of kind nats, with the packages @nats-io/transport-node and @nats-io/services:
//
//   npm install
//   AGENT=shouter NATS_URL=127.0.0.1:4222 NKEY_SEED=SU… node agent.mjs
//
// docs/programs.md describes turns and frames.
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { Svcm } from "@nats-io/services";

const { AGENT: agent, NATS_URL: servers, NKEY_SEED: seed } = process.env;
const connection = await connect({
  servers, name: `agent ${agent}`, inboxPrefix: `_INBOX.${agent}`, maxReconnectAttempts: -1,
  authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
});
const service = await new Svcm(connection).add({
  name: "sluice-agent", version: "1.0.0", metadata: { agent }, queue: "agents",
});

service.addEndpoint("runs", {
  subject: `sluice.agent.${agent}.runs`,
  handler: (error, message) => {
    if (error) return console.error(error);
    const turn = message.json();
    const send = (frame) => connection.publish(message.reply, JSON.stringify({ turn: turn.id, ...frame }));
    const said = turn.data.messages.filter((m) => m.role === "user" || m.role === "agent").at(-1)?.text ?? "";
    send({ type: "done", text: said.toUpperCase() });
  },
});
console.log(`agent ${agent} is connected`);
