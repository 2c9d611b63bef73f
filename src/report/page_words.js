"use strict";
/* What the page's script stands on: words for numbers, elements, C text with colours, places
 * of boxes where Graphviz gave none. */
const SVG = "http://www.w3.org/2000/svg";

const bytes = n => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; Math.abs(n) >= 1024 && unit + 1 < units.length; unit++) n /= 1024;
  return (Math.abs(n) < 10 && unit ? n.toFixed(1) : n.toFixed(0)) + " " + units[unit];
};
const number = n => n >= 1e9 ? (n / 1e9).toFixed(2) + " G" : n >= 1e6 ? (n / 1e6).toFixed(2) + " M" : n >= 1e4 ? (n / 1e3).toFixed(1) + " k" : String(Math.round(n));
const plural = (n, word) => n + " " + word + (n === 1 ? "" : "s");
const tail = path => path.split("/").slice(-2).join("/");

const make = (tag, attributes, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value);
  node.append(...children.flat().filter(child => child !== undefined && child !== null && child !== false));
  return node;
};
const draw = (tag, attributes, ...children) => {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

/* ---- C with colours ---- */

const keywords = new Set("const for if else return void while do break continue static restrict struct switch case default sizeof goto".split(" "));
const types = new Set("int float double char bool size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t unsigned signed long short".split(" "));
function colour(code) {
  const pattern = /(\/\*[\s\S]*?\*\/|\/\/[^\n]*)|("(?:[^"\\]|\\.)*")|\b(0x[0-9a-fA-F]+\w*|\d[\d.]*(?:[eE][-+]?\d+)?\w*)|([A-Za-z_]\w*)/g;
  const out = [];
  let at = 0;
  for (const match of code.matchAll(pattern)) {
    if (match.index > at) out.push(code.slice(at, match.index));
    at = match.index + match[0].length;
    const word = match[4];
    const kind = match[1] ? "c" : match[2] || match[3] ? "n" : keywords.has(word) ? "k" : types.has(word) || /^opf_(args|span|vector\w*|v\d\w*)$/.test(word) ? "t" : code[at] === "(" || /^OPF_/.test(word) ? "f" : null;
    out.push(kind ? make("span", {class: kind}, match[0]) : match[0]);
  }
  out.push(code.slice(at));
  return out;
}

/* ---- layout without Graphviz: ranks from top to bottom, each in the order of its sources ---- */

function layOut(picture) {
  if (picture.width !== undefined) return;
  const boxes = picture.boxes, sources = boxes.map(() => []), targets = boxes.map(() => []), waits = boxes.map(() => 0);
  for (const line of picture.lines) { sources[line.to].push(line.from); targets[line.from].push(line.to); waits[line.to]++; }
  const rank = boxes.map(() => 0), ready = boxes.map((_, i) => i).filter(i => !waits[i]);
  for (let i = 0; i < ready.length; i++)
    for (const to of targets[ready[i]]) {
      rank[to] = Math.max(rank[to], rank[ready[i]] + 1);
      if (!--waits[to]) ready.push(to);
    }
  const rows = [];
  for (const i of ready) (rows[rank[i]] = rows[rank[i]] || []).push(i);
  let y = 20, width = 0;
  for (const row of rows) {
    const middle = i => sources[i].length ? sources[i].reduce((sum, from) => sum + boxes[from].x, 0) / sources[i].length : 0;
    row.sort((a, b) => middle(a) - middle(b));
    const total = row.reduce((sum, i) => sum + boxes[i].w + 16, 0), tall = Math.max(...row.map(i => boxes[i].h));
    let x = -total / 2;
    for (const i of row) { boxes[i].x = x + boxes[i].w / 2; boxes[i].y = y + tall / 2; x += boxes[i].w + 16; }
    y += tall + 26;
    width = Math.max(width, total);
  }
  for (const box of boxes) box.x += width / 2;
  for (const line of picture.lines) {
    const a = boxes[line.from], b = boxes[line.to], from = a.y + a.h / 2, to = b.y - b.h / 2, bend = (to - from) / 2;
    line.points = [a.x, from, a.x, from + bend, b.x, to - bend, b.x, to];
  }
  picture.width = width;
  picture.height = y;
}
