// Cards: things of which there are few, each with a title, facts and buttons.

import { html, Loaded } from "../base.js";

// Cards draws a card for each thing of a read. take finds the things in its response; id identifies a thing,
// so that what is unfolded in its card stays with it when another card goes.
export const Cards = ({ of: read, take, id, empty, children: card }) => html`
  <${Loaded} of=${read}>
    ${(body) =>
      take(body).length === 0 ? html`
        <p class="empty">${empty}</p>
      ` : html`
        <div class="cards">
          ${take(body).map((one) => html`
            <${One} key=${id(one)} of=${one} card=${card} />
          `)}
        </div>
      `
    }
  <//>
`;

const One = ({ of: one, card }) => card(one);

// Card is one of them; mark is shown beside its title, acts are its buttons.
export const Card = ({ title, mark, acts, children }) => html`
  <article class="card">
    <header>
      <h2>${title}</h2>
      ${mark}
    </header>
    ${children}
    ${acts && html`<div class="acts">${acts}</div>`}
  </article>
`;
