// Files: pictures and sounds are shown, everything else is a button that saves it. Their addresses need the token, so they
// are read first and then shown from memory.

import { bytes, file, html, Icon, save, t, toast, useEffect, useRef, useState, visible } from "../base.js";

const largest = 10 << 20; // bytes of a picture or sound that is shown unasked
const shows = (f) =>
  /^(image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)|audio\/|video\/)/.exec(f.mime ?? "")?.[1].split("/")[0];

export const Files = ({ of }) =>
  of?.length ? html`
    <div class="files">
      ${of.map((f) => html`
        <${One} key=${f.id} f=${f} />
      `)}
    </div>
  ` : null;

function One({ f }) {
  const kind = shows(f);
  const [address, set] = useState("");
  const box = useRef(null);
  useEffect(() => {
    if (!kind || !f.id || (f.size ?? 0) > largest) return;
    let made = "",
      gone = false;
    const near = new IntersectionObserver(async ([seen]) => {
      if (!seen.isIntersecting) return;
      near.disconnect();
      try {
        const content = await file(f.id);
        if (gone) return;
        made = URL.createObjectURL(content);
        set(made);
      } catch {
        // the button below saves it, or says what is wrong
      }
    });
    near.observe(box.current);
    return () => {
      gone = true;
      near.disconnect();
      if (made) URL.revokeObjectURL(made);
    };
  }, [f.id]);
  const name = visible(f.name ?? "");
  return html`
    <figure class="file" ref=${box}>
      ${address && kind === "image" && html`<img src=${address} alt=${name} loading="lazy" />`}
      ${address && kind === "audio" && html`<audio controls src=${address} aria-label=${name}></audio>`}
      ${address && kind === "video" && html`<video controls src=${address} aria-label=${name}></video>`}
      <button
        type="button"
        class="small file-save"
        disabled=${!f.name}
        onClick=${() => save(f).catch((e) => toast(e.message, "bad"))}
      >
        <${Icon} name="file" size="15" />
        ${f.name ? `${name} (${bytes(f.size ?? 0)})` : t("file.gone")}
      </button>
    </figure>
  `;
}
