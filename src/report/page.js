/* The page of a report. One state: the graph shown, the group or node chosen, the tab; everything else is drawn from it. */
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const explain = data.explain;
const $ = id => document.getElementById(id);

/* ---- what belongs together ---- */

const groups = explain.groups;
const key = (graph, name) => (graph || "") + "\n" + name;
const groupOf = new Map();            // graph and node name → group that the node is at home in
const againIn = new Map();            // the same → groups that compute the node again
groups.forEach((group, i) => {
  group.index = i;
  group.extra = data.groups[i] || {arguments: [], expression: "", never_stored: 0};
  group.copied = new Set(group.copied || []);
  for (const name of group.nodes) {
    const at = key(group.graph, name);
    if (group.copied.has(name)) againIn.set(at, [...(againIn.get(at) || []), group]);
    else groupOf.set(at, group);
  }
  group.refused = [];
});
const removed = new Map(explain.removed.map(r => [r.node, r]));
const groupOfNode = (graph, name) => {
  for (let at = name, steps = 0; at && steps < 50; steps++) {
    const group = groupOf.get(key(graph, at)) || groupOf.get(key("", at));
    if (group) return group;
    at = removed.get(at) && removed.get(at).into;
  }
  return undefined;
};
const refused = explain.edges.filter(edge => edge.verdict === "refused");
const edgeOf = new Map();             // graph, from, to, value → the log's word on it
for (const edge of explain.edges) {
  edgeOf.set([edge.graph, edge.from, edge.to, edge.value].join("\n"), edge);
  if (edge.verdict !== "refused") continue;
  for (const name of [edge.from, edge.to]) {
    const group = groupOf.get(key(edge.graph, name));
    if (group && !group.refused.includes(edge)) group.refused.push(edge);
  }
}
/* Pairs of groups with a refused use between them: nodes that a pass took out have no edges of their own. */
const parted = new Set(refused.map(edge => {
  const from = groupOf.get(key(edge.graph, edge.from)), to = groupOf.get(key(edge.graph, edge.to));
  return from && to ? from.index + " " + to.index : "";
}));
for (const step of data.memory.steps)
  if (step.kind === "kernel" && step.group !== null && groups[step.group]) groups[step.group].kernel = step.what;

const stepOf = new Map();             // group → its first step
data.memory.steps.forEach((step, i) => {
  const group = step.group !== null && groups[step.group];
  if (group && !stepOf.has(group)) stepOf.set(group, i);
});

/* Hues a golden angle apart: neighbours never look alike. Only groups of several nodes have one. */
let coloured = 0;
for (const group of groups)
  if (group.step === "kernel" && group.nodes.length > 1) group.hue = Math.round((205 + 137.508 * coloured++) % 360);
const tint = (node, group) => {
  if (!group || group.hue === undefined) return node;
  node.classList.add("coloured");
  node.style.setProperty("--hue", group.hue);
  return node;
};
const opsOf = group => group.ops.join(" + ");

/* ---- panes ---- */

const state = {graph: 0, group: null, node: null, tab: "kernels"};
const graphs = data.graphs;

class Pane {
  constructor(id, side) {
    this.root = $(id);
    this.side = side;
    this.svg = this.root.querySelector("svg");
    this.view = {x: 0, y: 0, k: 1};
    this.boxes = [];
    this.lines = [];
    this.linked = [];
    this.boxesOf = new Map(); // group → its boxes
    this.listen();
  }

  show(picture, path) {
    this.picture = picture;
    this.path = path;
    this.boxes = [];
    this.lines = [];
    this.parts = [];          // what is drawn, and where
    this.linked = [];
    this.boxesOf = new Map();
    this.layer = draw("g", {});
    this.svg.replaceChildren(this.layer);
    if (!picture) return;
    layOut(picture);
    this.wires = draw("g", {});
    this.nodes = draw("g", {});
    picture.lines.forEach(line => this.wire(line));
    picture.boxes.forEach(box => this.box(box));
    this.layer.append(this.wires, this.nodes);
    this.home();
  }

  groupOfBox(box) {
    return box.kind === "group" ? groups[box.id] : box.kind === "node" ? groupOfNode(this.path, box.name) : undefined;
  }

  box(box) {
    const group = this.groupOfBox(box), gone = box.kind === "node" && (!groupOf.has(key(this.path, box.name)) || (group && group.step === "folded"));
    const lines = box.kind === "group" ? (box.step === "view" ? box.lines : ["#" + box.id + (box.step === "kernel" ? "" : " " + box.step), ...box.lines])
                : box.kind === "node" ? [box.op, box.label] : [box.label, box.type];
    const node = draw("g", {class: "box " + (box.kind === "input" || box.kind === "output" ? "port" : "") + (gone ? " gone" : "") + (box.step ? " " + box.step : ""),
                            transform: `translate(${box.x} ${box.y})`},
      draw("rect", {x: -box.w / 2, y: -box.h / 2, width: box.w, height: box.h}));
    const small = box.kind === "group" ? (box.step === "view" ? -1 : 0) : 1;
    lines.forEach((text, i) => {
      const line = draw("text", {y: (i - (lines.length - 1) / 2) * 14.5 + 4, class: i === small ? "name" : "op"});
      line.textContent = text;
      node.append(line);
    });
    if (!gone) tint(node, group);
    const again = box.kind === "node" ? againIn.get(key(this.path, box.name)) || [] : [];
    const entry = {box, node, group, gone, again};
    this.boxes.push(entry);
    this.parts.push({parent: this.nodes, nodes: [node], shown: false, left: box.x - box.w / 2, right: box.x + box.w / 2, top: box.y - box.h / 2, bottom: box.y + box.h / 2});
    for (const one of new Set([group, ...again])) if (one) this.boxesOf.set(one, [...(this.boxesOf.get(one) || []), entry]);
    node.addEventListener("pointerenter", event => { hover(group); tip(event, this.words(entry)); });
    node.addEventListener("pointerleave", () => { hover(null); tip(null); });
    node.addEventListener("click", () => { if (!this.moved) choose(group || null, box.kind === "node" ? box.name : null); });
  }

  words(entry) {
    const {box, group, again} = entry;
    if (box.kind === "group") return [`#${box.id} ${box.step}: ${opsOf(group)}`, bytes(group.bytes_after) + " moved" + (group.bytes_before > group.bytes_after ? ", " + bytes(group.bytes_before) + " unfused" : "")];
    if (box.kind !== "node") return [box.name, box.kind + " " + box.type];
    const out = removed.get(box.name);
    return [`${box.op} ${box.name}`, out ? out.why + (out.into ? ` (into ${out.into})` : "") : !group ? "" : group.step === "folded" ? "known before the program runs: never computed"
      : `in ${group.step} #${group.id}` + (group.nodes.length > 1 ? ", with " + plural(group.nodes.length - 1, "other node") : "") +
        (again.length ? "; computed again in " + again.map(g => "#" + g.id).join(", ") : "")];
  }

  wire(line) {
    const from = this.picture.boxes[line.from], to = this.picture.boxes[line.to];
    const a = this.groupOfBox(from), b = this.groupOfBox(to), p = line.points || [from.x, from.y, from.x, from.y, to.x, to.y, to.x, to.y];
    let path = `M${p[0]} ${p[1]}`;
    for (let i = 2; i + 5 < p.length; i += 6) path += `C${p.slice(i, i + 6).join(" ")}`;
    const word = edgeOf.get([this.path, from.name, to.name, line.value].join("\n"));
    const inside = this.side === "before" && a && a === b;
    const lost = this.side === "before" && a && b && a !== b && (word ? word.verdict === "refused" : parted.has(a.index + " " + b.index));
    const wire = draw("path", {class: "wire" + (inside ? " inside" : lost ? " lost" : ""), d: path}), grip = draw("path", {class: "grip", d: path});
    if (inside && a.hue !== undefined) wire.style.setProperty("--hue", a.hue);
    const entry = {line, wire, a, b, from, to};
    this.lines.push(entry);
    const text = [`${line.value}  ${line.type}  ${bytes(line.bytes)}`, word ? `${word.verdict} [${word.rule}] ${word.reason}` : inside ? "stays inside its kernel" : ""];
    grip.addEventListener("pointerenter", event => { wire.classList.add("hot"); tip(event, text); });
    grip.addEventListener("pointerleave", () => { wire.classList.toggle("hot", !!state.group && (a === state.group || b === state.group)); tip(null); });
    const xs = p.filter((_, i) => i % 2 === 0), ys = p.filter((_, i) => i % 2 === 1);
    this.parts.push({parent: this.wires, nodes: [wire, grip], shown: false, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)});
  }

  /* ---- view ---- */

  apply() {
    if (!this.layer) return;
    this.layer.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.k})`);
    if (!this.waiting) this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.cull(); });
  }
  /* Only what is in sight is in the document (what is merely hidden still costs layout), and letters only where they can be read. */
  cull() {
    const {x, y, k} = this.view, {w, h} = this.size(), margin = 60;
    const left = (-margin - x) / k, right = (w + margin - x) / k, top = (-margin - y) / k, bottom = (h + margin - y) / k;
    this.svg.classList.toggle("far", k < .3);
    for (const part of this.parts) {
      const shown = part.right > left && part.left < right && part.bottom > top && part.top < bottom;
      if (shown === part.shown) continue;
      part.shown = shown;
      for (const node of part.nodes)
        if (shown) part.parent.append(node);
        else node.remove();
    }
  }
  size() { return {w: this.svg.clientWidth || 400, h: this.svg.clientHeight || 400}; }
  fit() {
    const {w, h} = this.size(), k = Math.min(w / (this.picture.width + 24), h / (this.picture.height + 24), 1.4);
    this.view = {k, x: (w - this.picture.width * k) / 2, y: (h - this.picture.height * k) / 2};
    this.apply();
  }
  /* Long graphs open at their top, at a size that can be read. */
  home() {
    const {w} = this.size(), k = Math.min(1.05, Math.max(.55, w / (this.picture.width + 24)));
    const top = this.picture.boxes.reduce((best, box) => box.y < best.y ? box : best, this.picture.boxes[0] || {x: 0, y: 0});
    this.view = {k, x: this.picture.width * k < w ? (w - this.picture.width * k) / 2 : w / 2 - top.x * k, y: 12};
    if (this.picture.height * k < this.size().h) this.view.y = (this.size().h - this.picture.height * k) / 2;
    this.apply();
  }
  zoom(factor, x, y) {
    const k = Math.min(4, Math.max(.02, this.view.k * factor)), real = k / this.view.k;
    this.view = {k, x: x - (x - this.view.x) * real, y: y - (y - this.view.y) * real};
    this.apply();
  }
  /* Brings boxes into sight, unless they are. */
  reveal(entries) {
    if (!entries.length) return;
    const {w, h} = this.size();
    const left = Math.min(...entries.map(e => e.box.x - e.box.w / 2)), right = Math.max(...entries.map(e => e.box.x + e.box.w / 2));
    const top = Math.min(...entries.map(e => e.box.y - e.box.h / 2)), bottom = Math.max(...entries.map(e => e.box.y + e.box.h / 2));
    const {x, y, k} = this.view;
    if (left * k + x > 8 && right * k + x < w - 8 && top * k + y > 8 && bottom * k + y < h - 8 && k > .45) return;
    const to = Math.min(1.05, Math.max(.3, Math.min(w / (right - left + 90), h / (bottom - top + 90))));
    this.glide({k: to, x: w / 2 - (left + right) / 2 * to, y: h / 2 - (top + bottom) / 2 * to});
  }
  glide(to) {
    const from = this.view, begun = performance.now(), still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = now => {
      const t = still ? 1 : Math.min(1, (now - begun) / 260), s = t * t * (3 - 2 * t);
      this.view = {k: from.k + (to.k - from.k) * s, x: from.x + (to.x - from.x) * s, y: from.y + (to.y - from.y) * s};
      this.apply();
      if (t < 1) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  listen() {
    const place = event => { const r = this.svg.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
    this.svg.addEventListener("wheel", event => { event.preventDefault(); this.zoom(Math.exp(-event.deltaY * .0016), ...place(event)); }, {passive: false});
    let from = null;
    this.svg.addEventListener("pointerdown", event => { from = {x: event.clientX, y: event.clientY, view: {...this.view}, id: event.pointerId}; this.moved = false; });
    addEventListener("pointermove", event => {
      if (!from || event.pointerId !== from.id) return;
      const dx = event.clientX - from.x, dy = event.clientY - from.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) { this.moved = true; this.svg.classList.add("moving"); }
      if (this.moved) { this.view = {...from.view, x: from.view.x + dx, y: from.view.y + dy}; this.apply(); }
    });
    addEventListener("pointerup", () => { from = null; this.svg.classList.remove("moving"); });
    this.svg.addEventListener("click", event => { if (event.target === this.svg && !this.moved) choose(null, null); });
    this.root.querySelectorAll("[data-zoom]").forEach(button => button.addEventListener("click", () => {
      const {w, h} = this.size();
      if (button.dataset.zoom === "fit") this.fit();
      else this.zoom(button.dataset.zoom === "in" ? 1.3 : 1 / 1.3, w / 2, h / 2);
    }));
  }

  /* Classes of boxes and lines from the state. */
  mark() {
    const chosen = state.group;
    this.svg.classList.toggle("chosen", !!chosen);
    const near = new Set();
    for (const {wire, a, b, from, to} of this.lines) {
      const hot = !!chosen && (a === chosen || b === chosen);
      wire.classList.toggle("hot", hot);
      if (hot) { near.add(from); near.add(to); }
    }
    const single = state.node && this.boxes.some(e => e.box.name === state.node);
    for (const {box, node, group, again} of this.boxes) {
      const ours = !!chosen && (group === chosen || again.includes(chosen));
      node.classList.toggle("selected", ours && (!single || this.side === "after" || box.name === state.node));
      node.classList.toggle("near", ours || near.has(box));
      node.classList.toggle("match", matches.has(key(this.path, box.name)) || (box.kind === "group" && matches.has(box.id)));
    }
  }

  /* What the mouse is over: only what changes is touched, for graphs may be large. */
  link(group) {
    for (const entry of this.linked) entry.node.classList.remove("linked");
    this.linked = group ? this.boxesOf.get(group) || [] : [];
    for (const entry of this.linked) entry.node.classList.add("linked");
  }
}

/* ---- tooltip ---- */

function tip(event, lines) {
  const box = $("tip");
  box.hidden = !event;
  if (!event) return;
  box.replaceChildren(make("b", {}, lines[0]), lines[1] || "");
  // anchored to the nearer edges, so that nothing has to be measured
  const right = event.clientX > innerWidth - 430, low = event.clientY > innerHeight - 140;
  box.style.left = right ? "auto" : event.clientX + 14 + "px";
  box.style.right = right ? Math.max(6, innerWidth - event.clientX + 8) + "px" : "auto";
  box.style.top = low ? "auto" : event.clientY + 18 + "px";
  box.style.bottom = low ? innerHeight - event.clientY + 12 + "px" : "auto";
}

/* ---- memory ---- */

const Memory = {
  show() {
    const memory = data.memory, svg = $("memory"), w = svg.clientWidth || 800, h = svg.clientHeight || 140, steps = memory.steps.length;
    svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
    const left = 62, right = w - 12, top = 6, bottom = h - 18, most = Math.max(memory.bytes, 1);
    const x = step => left + (right - left) * step / Math.max(steps, 1), y = n => bottom - (bottom - top) * n / most;
    this.left = left; this.right = right; this.steps = steps;
    svg.replaceChildren();
    for (const share of [0, .5, 1]) {
      svg.append(draw("line", {class: "grid", x1: left, x2: right, y1: y(most * share), y2: y(most * share)}));
      const text = draw("text", {x: left - 6, y: y(most * share) + (share === 1 ? 9 : 3), "text-anchor": "end"});
      text.textContent = bytes(most * share);
      svg.append(text);
    }
    this.rects = memory.buffers.map(buffer => {
      const maker = memory.steps[buffer.first] && groups[memory.steps[buffer.first].group];
      const rect = draw("rect", {x: x(buffer.first), width: Math.max(1, x(buffer.last + 1) - x(buffer.first)), y: y(buffer.offset + buffer.bytes), height: Math.max(1, y(buffer.offset) - y(buffer.offset + buffer.bytes)), rx: 1.5});
      if (maker && maker.hue !== undefined) rect.style.setProperty("--hue", maker.hue);
      else rect.classList.add("plain");
      rect.addEventListener("pointerenter", event => { hover(maker || null); tip(event, [buffer.value || "room of a step", `${bytes(buffer.bytes)} at ${bytes(buffer.offset)}, steps ${buffer.first} to ${buffer.last}`]); });
      rect.addEventListener("pointerleave", () => { hover(null); tip(null); });
      rect.addEventListener("click", () => choose(maker || null, null));
      svg.append(rect);
      return {rect, maker, buffer};
    });
    let path = "";
    memory.steps.forEach((step, i) => { path += `${i ? "L" : "M"}${x(i)} ${y(step.live)}L${x(i + 1)} ${y(step.live)}`; });
    svg.append(draw("path", {class: "live", d: path || "M0 0"}));
    this.now = draw("line", {class: "now", y1: top, y2: bottom, visibility: "hidden"});
    svg.append(this.now);
    const text = draw("text", {x: left, y: h - 5});
    text.textContent = "step 0";
    const end = draw("text", {x: right, y: h - 5, "text-anchor": "end"});
    end.textContent = "step " + Math.max(steps - 1, 0);
    svg.append(text, end);
    if (!memory.buffers.length) {
      const none = draw("text", {x: w / 2, y: h / 2, "text-anchor": "middle"});
      none.textContent = "no workspace: every value that is stored is an input or an output";
      svg.append(none);
    }
    $("count-memory").textContent = `${bytes(memory.bytes)} for ${plural(memory.buffers.length, "value")}` + (memory.unfused_bytes !== null ? `, ${bytes(memory.unfused_bytes)} unfused` : "") + `; most alive at once ${bytes(memory.most_live)}`;
  },
  mark(over) {
    const shown = over || state.group, at = shown ? stepOf.get(shown) ?? -1 : -1;
    for (const rect of this.hot || []) rect.classList.remove("hot");
    this.hot = shown ? (this.rects || []).filter(entry => entry.maker === shown).map(entry => entry.rect) : [];
    for (const rect of this.hot) rect.classList.add("hot");
    if (!this.now) return;
    this.now.setAttribute("visibility", at < 0 ? "hidden" : "visible");
    const x = this.left + (this.right - this.left) * (at + .5) / Math.max(this.steps, 1);
    this.now.setAttribute("x1", x);
    this.now.setAttribute("x2", x);
  },
};

/* ---- lists ---- */

const rows = new Map();               // group → its row
const saved = group => group.bytes_before - group.bytes_after;
const sorting = {by: "id", down: false};
const columns = {id: g => g.id, ops: g => opsOf(g), before: g => g.bytes_before, after: g => g.bytes_after, saved};

function listKernels() {
  const body = document.querySelector("#tab-kernels tbody");
  const order = groups.filter(g => g.step !== "folded").sort((a, b) => {
    const x = columns[sorting.by](a), y = columns[sorting.by](b);
    return (x < y ? -1 : x > y ? 1 : a.index - b.index) * (sorting.down ? -1 : 1);
  });
  rows.clear();
  body.replaceChildren(...order.map(group => {
    const gain = saved(group);
    const row = make("tr", {class: group.step === "kernel" ? "" : "quiet", "data-group": group.id, tabindex: 0,
                            onclick: () => choose(group, null), onkeydown: event => { if (event.key === "Enter") choose(group, null); },
                            onpointerenter: () => hover(group), onpointerleave: () => hover(null)},
      make("td", {class: "n"}, String(group.id)),
      make("td", {}, tint(make("span", {class: "dot"}), group), opsOf(group), group.step !== "kernel" && make("span", {class: "step"}, group.step), group.graph && make("span", {class: "step"}, group.graph)),
      make("td", {class: "n"}, group.step === "view" ? "" : bytes(group.bytes_before)),
      make("td", {class: "n"}, group.step === "view" ? "" : bytes(group.bytes_after)),
      make("td", {class: "n good"}, gain > 0 ? Math.round(100 * gain / group.bytes_before) + " %" : ""));
    rows.set(group, row);
    return row;
  }));
  document.querySelectorAll("th[data-sort]").forEach(th => {
    if (th.dataset.sort === sorting.by) th.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
    else th.removeAttribute("aria-sort");
  });
}

const edgeCard = edge => make("div", {class: "edge", "data-from": edge.from, "data-to": edge.to,
    onclick: event => { event.stopPropagation(); choose(groupOfNode(edge.graph, edge.from), edge.from); reveal(edge); }},
  make("h3", {}, `${edge.from} → ${edge.to}`, make("span", {title: "bytes that fusing this use alone could save"}, bytes(edge.bytes_lost) + " lost")),
  make("p", {}, make("span", {class: "rule"}, edge.rule), edge.reason),
  edge.remedy && make("p", {class: "remedy"}, edge.remedy));

function listRefused() {
  const list = [...refused].sort((a, b) => b.bytes_lost - a.bytes_lost);
  $("tab-refused").replaceChildren(...(list.length ? list.map(edgeCard) : [make("p", {class: "empty"}, "Every use of a value is fused, a view or known before the program runs.")]));
}

/* Both ends of a use in sight. */
function reveal(edge) {
  const wanted = [groupOfNode(edge.graph, edge.from), groupOfNode(edge.graph, edge.to)];
  before.reveal(before.boxes.filter(e => e.box.name === edge.from || e.box.name === edge.to));
  after.reveal(after.boxes.filter(e => wanted.includes(e.group)));
}

/* ---- details ---- */

function details() {
  const group = state.group, root = $("tab-detail");
  if (!group) {
    root.replaceChildren(make("p", {class: "empty"}, "Choose a kernel or a node: in a picture, in a list, or by the search."));
    return;
  }
  const gain = saved(group), code = group.kernel && data.kernels[group.kernel];
  const node = state.node, out = node && removed.get(node);
  const copy = make("button", {class: "copy", onclick: () => navigator.clipboard && navigator.clipboard.writeText(code)}, "Copy");
  root.replaceChildren(...[
    make("h2", {}, tint(make("span", {class: "dot"}), group), `${group.step} #${group.id}`),
    make("p", {class: "facts"}, make("span", {}, "kind ", make("b", {}, group.kind)), make("span", {}, "rule ", make("b", {}, group.rule)),
      group.step !== "view" && group.step !== "folded" && make("span", {}, "moves ", make("b", {}, bytes(group.bytes_after))),
      gain > 0 && make("span", {}, "unfused ", make("b", {}, bytes(group.bytes_before)), make("b", {class: "good"}, ` −${Math.round(100 * gain / group.bytes_before)} %`)),
      group.extra.never_stored > 0 && make("span", {}, "never stored ", make("b", {}, bytes(group.extra.never_stored))),
      group.flops > 0 && make("span", {}, make("b", {}, number(group.flops)), " FLOP")),
    ...Roofline.facts(group),
    out && make("p", {class: "facts"}, `${node}: ${out.why}` + (out.into ? ` (into ${out.into})` : "")),
    make("h3", {}, plural(group.nodes.length, "node")),
    make("div", {class: "members"}, group.nodes.map(name => make("button", {onclick: () => { choose(group, name); before.reveal(before.boxes.filter(e => e.box.name === name)); }}, make("small", {}, group.copied.has(name) ? name + " (again)" : name)))),
    ...(group.extra.expression ? [make("h3", {}, "What it computes"), make("pre", {class: "formula"}, ...group.extra.expression.trimEnd().split("\n").map(line => make("span", {}, ...colour(line))))] : []),
    ...(group.extra.arguments.length ? [make("h3", {}, "Reads and writes"), make("table", {class: "arguments"}, make("tbody", {}, group.extra.arguments.map((a, i) =>
      make("tr", {}, make("td", {}, "p" + i), make("td", {}, a.role === "out" ? "writes" : a.constant ? "constant" : "reads"), make("td", {}, a.name), make("td", {}, a.type), make("td", {class: "n"}, bytes(a.bytes))))))] : []),
    ...(group.refused.length ? [make("h3", {}, "Why it ends where it ends"), ...group.refused.map(edgeCard)] : []),
    ...(code ? [make("h3", {}, copy, "Generated C"), make("pre", {class: "code"}, ...colour(code.trimEnd()))] : []),
  ].filter(Boolean));
  root.scrollTop = 0;
}

/* ---- state ---- */

const matches = new Set();
let before, after;

let linkedRow;

function hover(group) {
  before.link(group);
  after.link(group);
  Memory.mark(group);
  Roofline.mark(group, state.group);
  if (linkedRow) linkedRow.classList.remove("linked");
  linkedRow = group && rows.get(group);
  if (linkedRow) linkedRow.classList.add("linked");
}

function mark() {
  before.mark();
  after.mark();
  hover(null);
}

function choose(group, name) {
  if (group && graphs[state.graph].path !== group.graph) {
    const at = graphs.findIndex(g => g.path === group.graph);
    if (at >= 0) showGraph(at);
  }
  state.group = group;
  state.node = name;
  for (const [other, row] of rows) row.classList.toggle("selected", other === group);
  mark();
  details();
  if (group) {
    showTab("detail");
    before.reveal(before.boxes.filter(e => (e.group === group || e.again.includes(group)) && (!name || e.box.name === name || !before.boxes.some(o => o.box.name === name))));
    after.reveal(after.boxes.filter(e => e.group === group));
  }
  history.replaceState(null, "", group ? "#" + group.id : location.pathname + location.search);
}

function showTab(tab) {
  state.tab = tab;
  document.querySelectorAll("#tabs button").forEach(button => button.setAttribute("aria-selected", button.dataset.tab === tab));
  for (const name of ["kernels", "refused", "detail", "time"]) $("tab-" + name).hidden = name !== tab;
}

function showGraph(at) {
  state.graph = at;
  const graph = graphs[at];
  $("graph").value = at;
  before.show(graph.before, graph.path);
  after.show(graph.after, graph.path);
  $("count-before").textContent = graph.before ? plural(graph.before.boxes.filter(b => b.kind === "node").length, "node") : "not in the file";
  $("count-after").textContent = graph.after ? plural(graph.after.boxes.filter(b => b.step === "kernel").length, "kernel") : "does not run";
}

/* ---- search ---- */

function search(text) {
  const list = $("found"), words = text.toLowerCase().split(/\s+/).filter(Boolean), found = [];
  matches.clear();
  if (words.length)
    graphs.forEach(graph => {
      for (const box of (graph.before || graph.after || {boxes: []}).boxes) {
        const hay = `${box.name || ""} ${box.op || ""} ${box.type || ""}`.toLowerCase();
        if (!words.every(word => hay.includes(word))) continue;
        const group = box.kind === "node" ? groupOfNode(graph.path, box.name) : undefined;
        matches.add(key(graph.path, box.name));
        if (group) matches.add(group.id);
        found.push({box, group, graph});
      }
    });
  list.hidden = !words.length;
  list.replaceChildren(...(found.length ? found.slice(0, 60).map((hit, i) => make("li", {"aria-selected": i === 0, onpointerdown: event => { event.preventDefault(); take(hit); }},
    hit.box.name, make("small", {}, hit.box.op || hit.box.kind), hit.group && make("small", {}, `in #${hit.group.id}`))) : words.length ? [make("li", {}, "nothing of this name")] : []));
  if (found.length > 60) list.append(make("li", {}, `and ${found.length - 60} more`));
  list.hits = found;
  mark();
}

function take(hit) {
  $("found").hidden = true;
  const at = graphs.indexOf(hit.graph);
  if (at !== state.graph) showGraph(at);
  choose(hit.group || null, hit.box.kind === "node" ? hit.box.name : null);
  before.reveal(before.boxes.filter(e => e.box === hit.box));
}

function moveHit(by) {
  const items = [...$("found").querySelectorAll("li")], at = items.findIndex(item => item.getAttribute("aria-selected") === "true");
  const to = Math.min(items.length - 1, Math.max(0, at + by));
  items.forEach((item, i) => item.setAttribute("aria-selected", i === to));
  if (items[to]) items[to].scrollIntoView({block: "nearest"});
}

function listenToSearch() {
  const input = $("search");
  input.addEventListener("input", () => search(input.value));
  input.addEventListener("focus", () => { if (input.value) search(input.value); });
  input.addEventListener("blur", () => { $("found").hidden = true; });
  input.addEventListener("keydown", event => {
    const hits = $("found").hits || [];
    if (event.key === "ArrowDown") moveHit(1);
    else if (event.key === "ArrowUp") moveHit(-1);
    else if (event.key === "Enter" && hits.length) take(hits[Math.min(hits.length - 1, [...$("found").querySelectorAll("li")].findIndex(item => item.getAttribute("aria-selected") === "true"))] || hits[0]);
    else if (event.key === "Escape") { input.value = ""; search(""); input.blur(); }
    else return;
    event.preventDefault();
  });
}

/* ---- begin ---- */

function header() {
  $("model").textContent = tail(explain.model || "model");
  $("policy").textContent = `policy ${explain.policy} · opfuse ${data.version}`;
  const nodes = graphs.reduce((sum, graph) => sum + (graph.before ? graph.before.boxes.filter(box => box.kind === "node").length : 0), 0);
  const tile = (words, from, to) => make("div", {class: "tile"}, make("b", {}, ...(from ? [make("i", {}, from + " → ")] : []), to), make("span", {}, words));
  $("tiles").append(
    tile("nodes to kernels", String(nodes), String(explain.kernels)),
    tile("read and written", bytes(explain.bytes_before), bytes(explain.bytes_after)),
    tile("least possible", "", bytes(explain.bytes_least)),
    tile("workspace", data.memory.unfused_bytes !== null ? bytes(data.memory.unfused_bytes) : "", bytes(data.memory.bytes)));
  if (!data.laid_out) {
    $("notice").hidden = false;
    $("notice").textContent = "Graphviz was not found when this report was made, so the graphs are laid out in plain rows. Install it (Debian: apt install graphviz) and make the report again for better pictures.";
  }
  const tabs = document.querySelectorAll("#tabs button");
  tabs[0].append(" ", make("em", {}, String(explain.kernels)));
  tabs[1].append(" ", make("em", {}, String(refused.length)));
  tabs.forEach(button => button.addEventListener("click", () => showTab(button.dataset.tab)));
}

function start() {
  header();
  before = new Pane("pane-before", "before");
  after = new Pane("pane-after", "after");
  const select = $("graph");
  select.append(...graphs.map((graph, i) => make("option", {value: i}, graph.path || "main graph")));
  select.hidden = graphs.length < 2;
  select.addEventListener("change", () => { choose(null, null); showGraph(Number(select.value)); });
  listKernels();
  listRefused();
  details();
  Roofline.begin(data, groups, {hover, choose, tip, tint});
  showTab(data.roofline ? "time" : "kernels");
  showGraph(0);
  Memory.show();
  mark();
  listenToSearch();
  document.querySelectorAll("th[data-sort]").forEach(th => th.addEventListener("click", () => {
    sorting.down = sorting.by === th.dataset.sort ? !sorting.down : ["before", "after", "saved"].includes(th.dataset.sort);
    sorting.by = th.dataset.sort;
    listKernels();
  }));
  addEventListener("resize", () => { Memory.show(); Roofline.show(); hover(null); before.apply(); after.apply(); });
  addEventListener("keydown", event => {
    if (event.target === $("search") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { event.preventDefault(); $("search").focus(); }
    else if (event.key === "Escape") choose(null, null);
    else if (event.key === "f" || event.key === "F") { before.fit(); after.fit(); }
  });
  const wanted = groups[Number(location.hash.slice(1))];
  if (location.hash.length > 1 && wanted) choose(wanted, null);
}

start();
})();
