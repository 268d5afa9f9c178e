// Markdown to DOM nodes. Text becomes text nodes only, so that nothing a model
// writes can become markup; links go to http, https and mailto only.

const fence = /^(`{3,}|~{3,})\s*([\w+-]*)\s*$/;
const bullet = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

export function markdown(text) {
  const out = document.createDocumentFragment();
  blocks(text.replace(/\r\n?/g, "\n").split("\n"), out);
  return out;
}

function blocks(lines, out) {
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    const open = fence.exec(line.trim());
    if (open) {
      const code = [];
      for (i++; i < lines.length && !closes(lines[i], open[1]); i++) code.push(lines[i]);
      i++;
      const pre = node("pre", node("code"));
      pre.firstChild.textContent = code.join("\n");
      out.append(pre);
    } else if (line.trim() === "") {
      i++;
    } else if (/^#{1,6}\s/.test(line)) {
      out.append(inline(line.replace(/^#+\s+/, ""), node("h" + Math.min(3, line.match(/^#+/)[0].length))));
      i++;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      out.append(node("hr"));
      i++;
    } else if (line.startsWith(">")) {
      const quoted = [];
      for (; i < lines.length && lines[i].startsWith(">"); i++) quoted.push(lines[i].replace(/^>\s?/, ""));
      const quote = node("blockquote");
      blocks(quoted, quote);
      out.append(quote);
    } else if (bullet.test(line)) {
      i = list(lines, i, out);
    } else {
      const words = [];
      for (; i < lines.length && lines[i].trim() !== "" && !fence.test(lines[i].trim()) && !(words.length && starts(lines[i])); i++) words.push(lines[i]);
      out.append(inline(words.join("\n"), node("p")));
    }
  }
}

function closes(line, mark) {
  const t = line.trim();
  return t.length >= mark.length && t === t[0].repeat(t.length) && t[0] === mark[0];
}

function starts(line) {
  return line.startsWith(">") || /^#{1,6}\s/.test(line) || bullet.test(line);
}

function list(lines, i, out) {
  const [, indent, mark] = bullet.exec(lines[i]);
  const ordered = /\d/.test(mark);
  const box = node(ordered ? "ol" : "ul");
  if (ordered) box.start = parseInt(mark, 10);
  while (i < lines.length) {
    const m = bullet.exec(lines[i]);
    if (!m || m[1].length < indent.length || /\d/.test(m[2]) !== ordered) break;
    const inner = [m[3]];
    for (i++; i < lines.length; i++) {
      const next = bullet.exec(lines[i]);
      if (next && next[1].length <= indent.length) break;
      if (lines[i].trim() === "" && !/^\s+\S/.test(lines[i + 1] ?? "")) break;
      if (!/^\s/.test(lines[i]) && lines[i].trim() !== "") break;
      inner.push(lines[i].replace(new RegExp("^\\s{0," + (indent.length + 4) + "}"), ""));
    }
    const item = node("li");
    if (inner.length === 1) inline(inner[0], item);
    else blocks(inner, item);
    box.append(item);
    while (i + 1 < lines.length && lines[i].trim() === "" && bullet.test(lines[i + 1])) i++;
  }
  out.append(box);
  return i;
}

const spans = /(`+)([\s\S]*?[^`])\1(?!`)|\*\*([\s\S]+?)\*\*|__([\s\S]+?)__|~~([\s\S]+?)~~|\*([^\s*](?:[\s\S]*?[^\s*])?)\*|(?<![\w])_([^\s_](?:[\s\S]*?[^\s_])?)_(?![\w])|\[([^\]]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>)\]]*[^\s<>)\].,;:!?])|\\([\\`*_{}[\]()#+\-.!~>])/;

function inline(text, into) {
  for (;;) {
    const m = spans.exec(text);
    if (!m) break;
    into.append(text.slice(0, m.index));
    if (m[2] !== undefined) {
      const code = node("code");
      code.textContent = m[2];
      into.append(code);
    } else if (m[3] ?? m[4]) into.append(inline(m[3] ?? m[4], node("strong")));
    else if (m[5]) into.append(inline(m[5], node("s")));
    else if (m[6] ?? m[7]) into.append(inline(m[6] ?? m[7], node("em")));
    else if (m[8]) into.append(link(m[8], m[9]));
    else if (m[10]) into.append(link(m[10], m[10]));
    else into.append(m[11]);
    text = text.slice(m.index + m[0].length);
  }
  text.split("\n").forEach((part, i) => into.append(...(i ? [node("br"), part] : [part])));
  return into;
}

function link(text, target) {
  if (!/^(https?:|mailto:)/i.test(target)) return document.createTextNode(text);
  const a = node("a");
  a.href = target;
  a.rel = "noopener noreferrer";
  a.target = "_blank";
  a.textContent = text;
  return a;
}

function node(name, child) {
  const n = document.createElement(name);
  if (child) n.append(child);
  return n;
}
