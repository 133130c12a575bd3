"use strict";
// The platform as its topology draws it, links coloured by load and as wide as what waits for them.

const NODE_WORDS = new Set(["host", "pcie_ep", "io_cpu", "io_noc", "switch", "host_memory", "io_ucie", "ucie"]);

class PlatformView {
  constructor(run, number) {
    this.run = run;
    this.nodes = run.topology.nodes.map(([name, kind, x, y]) => ({name, kind, x, y}));
    this.links = run.topology.links.map(([from, to]) => ({from, to, bytes: 0, busy: 0, waited: 0}));
    for (const row of run.report.links)
      Object.assign(this.links[row.link] || {}, {bytes: row.bytes, busy: row.busy_ps, waited: row.waited_ps});
    const xs = this.nodes.map((node) => node.x), ys = this.nodes.map((node) => node.y);
    this.box = {left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys)};
    this.state = window.tlmalloc.views["platform" + number] =
      {nodes: this.nodes.length, links: 0, busiest: null, bucket: null};
    if (run.log) this.readLoads();
  }

  height() {
    const width = this.view ? this.view.panel.clientWidth : this.width;
    const shape = (this.box.bottom - this.box.top) / Math.max(1, this.box.right - this.box.left);
    return Math.round(Math.max(220, Math.min(720, width * shape + 40)));
  }

  // The loads of the log: rows of its table by bucket.
  readLoads() {
    const bucket = this.run.log.column("load", "bucket");
    this.rowsOf = new Map();
    bucket.forEach((number, row) => {
      if (!this.rowsOf.has(number)) this.rowsOf.set(number, []);
      this.rowsOf.get(number).push(row);
    });
  }

  // Shares of the time at the slider, or of the whole run.
  loads() {
    const log = this.run.log;
    if (log && log.head.bucket_ps && !document.getElementById("whole").checked) {
      const t = log.table("load"), width = log.head.bucket_ps;
      const made = this.links.map(() => ({busy: 0, waits: 0, bytes: 0}));
      this.state.bucket = Math.floor(window.tlmalloc.slider / width);
      for (const row of this.rowsOf.get(this.state.bucket) || [])
        made[t.link[row]] = {busy: t.busy[row] / width, waits: t.waited[row] / width, bytes: t.bytes[row]};
      return made;
    }
    this.state.bucket = null;
    const whole = this.run.report.sim_time_ps || 1;
    return this.links.map((link) => ({busy: link.busy / whole, waits: link.waited / whole, bytes: link.bytes}));
  }

  place(width, height) {
    const margin = 24, across = Math.max(1, this.box.right - this.box.left);
    const down = Math.max(1, this.box.bottom - this.box.top);
    const scale = Math.min((width - 2 * margin) / across, (height - 2 * margin) / down);
    const left = (width - across * scale) / 2, top = (height - down * scale) / 2;
    for (const node of this.nodes) {
      node.px = left + (node.x - this.box.left) * scale;
      node.py = top + (node.y - this.box.top) * scale;
    }
    return scale;
  }

  paint(context, width, height) {
    const scale = this.place(width, height), loads = this.now = this.loads();
    const most = Math.max(1e-12, ...loads.map((load) => load.busy));
    let busiest = -1;
    this.state.links = 0;
    const order = loads.map((_, number) => number).sort((a, b) => loads[a].busy - loads[b].busy);
    for (const number of order) {
      const link = this.links[number], load = loads[number], from = this.nodes[link.from], to = this.nodes[link.to];
      const used = load.bytes > 0 || load.busy > 0;
      if (used) {
        this.state.links++;
        busiest = number;
      }
      if (!used && number % 2 === 1) continue;
      // Both directions side by side.
      const length = Math.hypot(to.px - from.px, to.py - from.py) || 1;
      const shift = used ? 2.2 : 0, dx = -(to.py - from.py) / length * shift, dy = (to.px - from.px) / length * shift;
      context.strokeStyle = used ? loadColour(load.busy / most) : styleColour("unused");
      context.lineWidth = used ? 1.5 + Math.min(6, 2.5 * Math.log2(1 + 4 * load.waits)) : 1;
      context.beginPath();
      context.moveTo(from.px + dx, from.py + dy);
      context.lineTo(to.px + dx, to.py + dy);
      context.stroke();
    }
    context.lineWidth = 1;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const small = this.nodes.length > 400;
    for (const node of this.nodes) this.paintNode(context, node, small, scale);
    context.textAlign = "left";
    const link = busiest < 0 ? null : this.links[busiest];
    this.state.busiest = link && {from: this.nodes[link.from].name, to: this.nodes[link.to].name,
      busy_pct: 100 * loads[busiest].busy};
  }

  paintNode(context, node, small, scale) {
    const name = shortName(node), round = node.kind === "conn" || node.kind === "router" && small;
    const reach = round ? 2 : 4;
    context.fillStyle = node.kind === "pe" ? "#56b4e9" : node.kind === "hbm_ctrl" ? "#009e73" :
      node.kind.includes("cpu") ? "#e69f00" : styleColour("unused");
    const hasRoom = !round && (node.kind !== "router" || scale * 3000 > 28);
    const named = !small && (hasRoom || NODE_WORDS.has(node.kind));
    const wide = named ? context.measureText(name).width / 2 + 3 : reach;
    // A PE and its controller are close: their boxes stand beside each other.
    const side = !named ? 0 : node.kind === "pe" ? -1 : node.kind === "hbm_ctrl" ? 1 : 0;
    const x = node.px + side * (wide - 8);
    context.fillRect(x - wide, node.py - (named ? 7 : reach), 2 * wide, 2 * (named ? 7 : reach));
    if (!named) return;
    context.fillStyle = node.kind === "pe" || node.kind === "hbm_ctrl" || node.kind.includes("cpu") ? "#000" :
      styleColour("text");
    context.fillText(name, x, node.py);
  }

  find(x, y) {
    let best = null, reach = 7;
    for (const node of this.nodes) {
      const away = Math.hypot(node.px - x, node.py - y);
      if (away < reach) {
        reach = away;
        best = {view: "platform", node: node.name, text: node.name};
      }
    }
    if (best) return best;
    reach = 6;
    this.links.forEach((link, number) => {
      const from = this.nodes[link.from], to = this.nodes[link.to];
      const away = distanceTo(x, y, from, to);
      if (away >= reach) return;
      reach = away;
      best = {view: "platform", links: [number & ~1, number | 1]};
    });
    return best && {...best, text: best.links.map((number) => this.words(number)).join("\n")};
  }

  words(number) {
    const link = this.links[number], load = this.now[number];
    return this.nodes[link.from].name + " \u2192 " + this.nodes[link.to].name + ": " + bytesText(load.bytes) +
      ", busy " + digits(100 * load.busy, 2) + " %, " + digits(load.waits, 3) + " flits wait";
  }
}

// What stands in a node's box. HBM controllers have the names of their PEs.
function shortName(node) {
  const last = plainText(node.name.split(".").pop());
  return node.kind === "hbm_ctrl" ? last.replace(/^pe/, "hbm") : last;
}

// Of a point from the line between two nodes.
function distanceTo(x, y, from, to) {
  const dx = to.px - from.px, dy = to.py - from.py, length = dx * dx + dy * dy || 1;
  const along = Math.max(0, Math.min(1, ((x - from.px) * dx + (y - from.py) * dy) / length));
  return Math.hypot(x - from.px - along * dx, y - from.py - along * dy);
}

function showPlatforms(parent, runs) {
  const boxes = runs.map((run) => element("div", {}, element("h3", {}, nameOf(run))));
  parent.append(...boxes); // all, so that each has its width
  runs.forEach((run, number) => showPlatform(boxes[number], run, number));
}

function showPlatform(box, run, number) {
  if (!run.topology) {
    box.append(element("p", {class: "note"},
      "The fabric cannot be drawn: its topology file was missing when the page was written."));
    return;
  }
  const view = new PlatformView(run, number);
  view.width = box.clientWidth;
  view.view = new View(box, "The platform, links coloured by load", view);
  timeAxis.atSlider.push(view.view);
  box.append(loadLegend());
  colourSamples();
}

function loadLegend() {
  const legend = element("div", {class: "legend"}, "busy, of the busiest link:");
  for (let i = 1; i <= 5; i++) {
    legend.append(element("span", {}, element("i", {"data-load": i / 5}), i * 20 + " %"));
  }
  legend.append(element("span", {}, "thick: flits wait"));
  return legend;
}
