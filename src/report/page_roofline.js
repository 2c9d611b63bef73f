/* The roofline plot and the table of times, where the report was made with them: data.roofline (report/roofline.h). */
const Roofline = {
  /* does: {hover, choose, tip, tint} of the page */
  begin(data, groups, does) {
    this.data = data.roofline;
    this.does = does;
    this.points = [];
    this.rows = [];
    if (!this.data) return;
    document.body.classList.add("measured");
    document.getElementById("pane-roofline").hidden = false;
    document.querySelector("#tabs [data-tab=time]").hidden = false;
    for (const step of this.data.steps) {
      const at = data.memory.steps[step.step], group = at && at.group !== null ? groups[at.group] : undefined;
      step.group = group;
      if (group) group.measured = [...(group.measured || []), step];
    }
    this.list();
    this.show();
  },

  /* ---- words ---- */

  rate: n => n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n >= .01 || n === 0 ? n.toFixed(2) : n.toExponential(1),
  time: ms => (ms >= 100 ? ms.toFixed(1) : ms >= 1 ? ms.toFixed(2) : ms >= .001 ? ms.toFixed(4) : ms.toFixed(6)) + " ms",
  percent: part => (100 * part >= 9.95 ? (100 * part).toFixed(0) : (100 * part).toFixed(1)) + " %",
  title: step => (step.group ? `#${step.group.id} ` : "") + (step.group ? step.group.ops.join(" + ") : step.name),
  reached(step) { return step.limit === "none" ? "" : this.percent(step.reached); },
  figures(step) {
    return `${this.time(step.ms)}, ${this.percent(step.share)} of the steps; ${this.rate(step.gflops)} GFLOP/s, ${this.rate(step.gbytes)} GB/s` +
           (step.limit === "none" ? "" : `; ${this.percent(step.reached)} of the limit, ${step.limit}`) + (step.edge ? "; no arithmetic" : "");
  },

  /* ---- table ---- */

  list() {
    const heads = ["step", "time", "share", "GFLOP/s", "GB/s", "of limit", "limit"];
    const row = step => {
      const choose = () => this.does.choose(step.group || null, null);
      const does = {onclick: choose, onkeydown: event => { if (event.key === "Enter") choose(); },
                    onpointerenter: () => this.does.hover(step.group || null), onpointerleave: () => this.does.hover(null)};
      const line = make("tr", {"data-step": step.step, tabindex: 0, class: step.diagnosis ? "told" : undefined, ...does},
        make("td", {class: "what"}, this.does.tint(make("span", {class: "dot"}), step.group), this.title(step),
             step.kind !== "kernel" && make("span", {class: "step"}, step.kind)),
        ...[this.time(step.ms).replace(" ms", ""), this.percent(step.share), this.rate(step.gflops), this.rate(step.gbytes), this.reached(step)].map(text => make("td", {class: "n"}, text)),
        make("td", {}, step.limit === "none" ? "" : step.limit));
      const lines = step.diagnosis ? [line, make("tr", {class: "why", ...does}, make("td", {colspan: heads.length}, step.diagnosis))] : [line];
      for (const one of lines) this.rows.push({row: one, step});
      return lines;
    };
    document.getElementById("tab-time").replaceChildren(make("table", {},
      make("thead", {}, make("tr", {}, heads.map((text, i) => make("th", {class: i && i < 6 ? "n" : undefined}, text === "time" ? "ms" : text)))),
      make("tbody", {}, this.data.steps.flatMap(row))));
    document.querySelector("#tabs [data-tab=time]").append(" ", make("em", {}, this.time(this.data.run_ms)));
  },

  /* What is told of a group in its details. */
  facts(group) {
    return (group.measured || []).flatMap(step => [make("p", {class: "facts measured-facts"}, make("span", {}, this.figures(step))), step.diagnosis && make("p", {class: "diagnosis"}, step.diagnosis)]);
  },

  /* ---- plot ---- */

  show() {
    if (!this.data) return;
    const svg = document.getElementById("roofline"), {x: [x0, x1], y: [y0, y1]} = this.data;
    const w = svg.clientWidth || 500, h = svg.clientHeight || 300;
    const left = 52, right = w - 14, top = 8, bottom = h - 34;
    const edge = left + (this.data.steps.some(step => step.edge) ? 26 : 0), low = bottom - 12; // room for points on the edges
    this.x = n => edge + (right - edge) * Math.log(n / x0) / Math.log(x1 / x0);
    this.y = n => low - (low - top) * Math.log(n / y0) / Math.log(y1 / y0);
    this.box = {left, right, top, bottom};
    this.taken = [];
    svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
    svg.replaceChildren();
    this.grid(svg, w, h);
    this.roofs(svg);
    this.steps(svg);
    this.caption();
  },

  text(words, attributes) {
    const node = draw("text", attributes);
    node.textContent = words;
    return node;
  },

  grid(svg, w, h) {
    const {left, right, top, bottom} = this.box;
    const marks = (low, high, place, line) => {
      let last = null;
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
        for (const digit of [1, 2, 5]) {
          const value = digit * 10 ** power;
          if (value < low || value > high) continue;
          const at = place(value), named = digit === 1 && (last === null || Math.abs(at - last) > 16);
          if (named) last = at;
          line(at, digit === 1 ? "grid" : "grid minor", named ? String(Number(value.toPrecision(1))) : null);
        }
    };
    marks(...this.data.x, this.x, (at, kind, name) => {
      svg.append(draw("line", {class: kind, x1: at, x2: at, y1: top, y2: bottom}));
      if (name) svg.append(this.text(name, {class: "tick", x: at, y: bottom + 14, "text-anchor": "middle"}));
    });
    marks(...this.data.y, this.y, (at, kind, name) => {
      svg.append(draw("line", {class: kind, x1: left, x2: right, y1: at, y2: at}));
      if (name) svg.append(this.text(name, {class: "tick", x: left - 6, y: at + 3.5, "text-anchor": "end"}));
    });
    svg.append(this.text("FLOP / byte", {class: "axis", x: (left + right) / 2, y: h - 5, "text-anchor": "middle"}),
               this.text("GFLOP/s", {class: "axis", transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle"}));
    if (this.data.steps.some(step => step.edge)) svg.append(draw("line", {class: "edge-of", x1: this.x(this.data.x[0]), x2: this.x(this.data.x[0]), y1: top, y2: bottom}));
  },

  nameOf(roof) {
    return roof.name === "arithmetic" ? `arithmetic ${this.rate(roof.rate)} GFLOP/s` + (roof.threads < this.data.threads ? ", 1 thread" : "") : `${roof.name} ${this.rate(roof.rate)} GB/s`;
  },

  /* A slope is named above its lower end, unless it runs so close below another that its name would cross that one. */
  roofs(svg) {
    const names = []; // upon all lines
    let above = null;
    for (const roof of this.data.roofs) {
      const [ax, ay] = [this.x(roof.from[0]), this.y(roof.from[1])], [bx, by] = [this.x(roof.to[0]), this.y(roof.to[1])];
      const flat = roof.name === "arithmetic", angle = Math.atan2(by - ay, bx - ax), name = this.nameOf(roof);
      const line = draw("line", {class: "roof " + roof.name + (roof.threads < this.data.threads ? " part" : ""), x1: ax, y1: ay, x2: bx, y2: by});
      line.addEventListener("pointerenter", event => this.does.tip(event, [name, `the machine table's row ${this.data.machine}`]));
      line.addEventListener("pointerleave", () => this.does.tip(null));
      svg.append(line);
      if (flat) {
        const y = by + (roof.threads < this.data.threads ? 12 : -4);
        names.push(this.text(name, {class: "roof-name", x: bx - 4, y, "text-anchor": "end"}));
        this.taken.push({left: bx - 4 - 6 * name.length, right: bx, top: y - 11, bottom: y + 3});
        continue;
      }
      const offset = ay - (Math.tan(angle) * (ax - this.box.left)), gap = above === null ? Infinity : (offset - above) * Math.cos(angle);
      above = offset;
      if (gap < 12 || Math.hypot(bx - ax, by - ay) < 6 * name.length + 14) continue;
      const at = 12;
      names.push(this.text(name, {class: "roof-name", transform: `translate(${ax + at * Math.cos(angle)} ${ay + at * Math.sin(angle)}) rotate(${angle * 180 / Math.PI})`, y: -3}));
    }
    svg.append(...names);
  },

  /* Large ones first, so that small ones lie upon them. Areas are shares of time. */
  steps(svg) {
    const placed = this.data.steps.filter(step => step.at);
    this.points = placed.map(step => {
      const [cx, cy, r] = [this.x(step.at[0]), this.y(step.at[1]), Math.max(3, 30 * Math.sqrt(step.share))];
      const node = this.does.tint(draw("circle", {class: "point" + (step.edge ? " edge" : ""), cx, cy, r, "data-step": step.step}), step.group);
      node.addEventListener("pointerenter", event => { this.does.hover(step.group || null); this.does.tip(event, [this.title(step), this.figures(step) + (step.diagnosis ? ". " + step.diagnosis : "")]); });
      node.addEventListener("pointerleave", () => { this.does.hover(null); this.does.tip(null); });
      node.addEventListener("click", () => this.does.choose(step.group || null, null));
      svg.append(node);
      return {node, step, cx, cy, r};
    });
    for (const {step, cx, cy, r} of this.points) if (step.group && step.share > .03) this.label(svg, "#" + step.group.id, cx, cy, r);
  },

  /* Inside the point where that is large enough, else beside it; nowhere where another name stands already. */
  label(svg, words, cx, cy, r) {
    const width = 7.6 * words.length, places = r * 1.8 > width ? [[cx, "middle", cx - width / 2]] : [[cx + r + 3, "start", cx + r + 3], [cx - r - 3, "end", cx - r - 3 - width]];
    for (const [x, anchor, left] of places) {
      const room = {left, right: left + width, top: cy - 8, bottom: cy + 6};
      const free = room.left > this.box.left && room.right < this.box.right &&
                   !this.taken.some(o => room.left < o.right && o.left < room.right && room.top < o.bottom && o.top < room.bottom);
      if (!free) continue;
      this.taken.push(room);
      svg.append(this.text(words, {class: "label", x, y: cy + 3.5, "text-anchor": anchor}));
      return;
    }
  },

  caption() {
    const {run_ms, runs, threads, machine, steps} = this.data, caption = document.getElementById("count-roofline");
    caption.textContent = `${this.time(run_ms)}, the median of ${plural(runs, "run")} in ${plural(threads, "thread")}; area: share of time` +
                          (steps.some(step => step.edge) ? "; left edge: no arithmetic" : "");
    caption.title = `limits: the machine table's row ${machine}: ` + this.data.roofs.map(roof => this.nameOf(roof)).join(", ");
  },

  /* What the mouse is over, and what is chosen. */
  mark(over, chosen) {
    for (const {node, step} of this.points) {
      node.classList.toggle("linked", !!over && step.group === over);
      node.classList.toggle("selected", !!chosen && step.group === chosen);
    }
    for (const {row, step} of this.rows) {
      row.classList.toggle("linked", !!over && step.group === over);
      row.classList.toggle("selected", !!chosen && step.group === chosen);
    }
  },
};

