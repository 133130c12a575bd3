"use strict";
// Mappings: MAP and UNMAP from module to module, to each MMU and back; stale accesses and faults as marks.

const MAPPING_COLOURS = {MAP: "#009e73", UNMAP: "#d55e00", INVALIDATE: "#cc79a7", TAKE_BACK: "#e69f00"};
const ARROWS_SHOWN = 4000; // at a time: more are not told apart

class MappingView {
  constructor(run, number) {
    const log = run.log, t = log.table("mapping");
    this.run = run;
    const modules = [...new Set([...t.module, ...log.column("access", "module")])].sort((a, b) => a - b);
    this.rowOf = new Map(modules.map((module, row) => [module, row]));
    this.names = modules.map((module) => log.module(module));
    this.rowHeight = Math.max(3, Math.min(18, Math.floor(420 / Math.max(1, this.names.length))));
    this.arrows = this.findArrows(t, log);
    const opOf = (name) => t.op.reduce((sum, op) => sum + (log.text(op) === name), 0);
    this.state = window.tlmalloc.views["mapping" + number] = {modules: this.names.length, maps: opOf("MAP"),
      unmaps: opOf("UNMAP"), arrows: this.arrows.length, troubles: log.rows("access"), drawn: 0,
      arrows_drawn: 0};
  }

  // From where a request began, at the module that had it before: the last to whom it came earlier.
  findArrows(t, log) {
    const chains = new Map(), arrows = [];
    for (let row = 0; row < log.rows("mapping"); row++) {
      const key = t.request[row] + " " + t.correlation[row] + " " + t.op[row];
      if (!chains.has(key)) chains.set(key, []);
      chains.get(key).push(row);
    }
    for (const rows of chains.values()) {
      rows.sort((a, b) => t.arrival[a] - t.arrival[b] || t.done[b] - t.done[a]);
      rows.forEach((row, place) => {
        // Who passed it on has its own answer after this one's.
        for (let before = place - 1; before >= 0; before--)
          if (t.done[rows[before]] >= t.done[row] && t.module[rows[before]] !== t.module[row]) {
            arrows.push([rows[before], row]);
            break;
          }
      });
    }
    return arrows;
  }

  height() {
    return this.rowHeight * this.names.length + 4;
  }

  y(module) {
    return this.rowOf.get(module) * this.rowHeight + this.rowHeight / 2;
  }

  paint(context, width) {
    const log = this.run.log, t = log.table("mapping"), scale = timeAxis.scale, [from, to] = scale.domain();
    paintNames(context, this.names, (row) => (row + 0.5) * this.rowHeight);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, this.height());
    context.clip();
    const thick = Math.max(2, this.rowHeight * 0.4);
    this.state.drawn = 0;
    for (let row = 0; row < log.rows("mapping"); row++) {
      if (t.done[row] < from || t.arrival[row] > to) continue;
      const left = scale(t.arrival[row]), right = Math.max(left + 1.5, scale(t.done[row]));
      context.fillStyle = MAPPING_COLOURS[log.text(t.op[row])] || "#999999";
      context.globalAlpha = log.text(t.status[row]) === "TLA_OK" ? 0.8 : 0.35;
      context.fillRect(left, this.y(t.module[row]) - thick / 2, right - left, thick);
      this.state.drawn++;
    }
    context.globalAlpha = 1;
    const shown = this.arrows.filter(([before]) => t.done[before] >= from && t.arrival[before] <= to);
    this.state.arrows_drawn = shown.length <= ARROWS_SHOWN ? shown.length : 0;
    if (this.state.arrows_drawn > 0) for (const [before, row] of shown) this.paintArrow(context, t, before, row);
    this.paintTroubles(context);
    context.restore();
  }

  // There at once, as it arrives; back when it is visible.
  paintArrow(context, t, before, row) {
    const scale = timeAxis.scale, y0 = this.y(t.module[before]), y1 = this.y(t.module[row]);
    context.strokeStyle = styleColour("faint");
    context.beginPath();
    context.moveTo(scale(t.arrival[before]), y0);
    context.lineTo(scale(t.arrival[row]), y1);
    context.moveTo(scale(t.done[row]), y1);
    context.lineTo(scale(t.done[before]), y0);
    context.stroke();
    const x = scale(t.done[row]);
    context.fillStyle = styleColour("faint");
    context.beginPath();
    context.arc(x, y1, 2, 0, 2 * Math.PI);
    context.fill();
  }

  paintTroubles(context) {
    const t = this.run.log.table("access"), [from, to] = timeAxis.scale.domain();
    context.fillStyle = styleColour("worse");
    for (let row = 0; row < this.run.log.rows("access"); row++) {
      if (t.at[row] < from || t.at[row] > to) continue;
      const x = timeAxis.scale(t.at[row]), y = this.y(t.module[row]);
      context.beginPath();
      context.moveTo(x, y - 5);
      context.lineTo(x + 5, y + 4);
      context.lineTo(x - 5, y + 4);
      context.fill();
    }
  }

  find(x, y) {
    const module = [...this.rowOf.keys()][Math.floor(y / this.rowHeight)], log = this.run.log;
    if (module === undefined || x < LEFT) return null;
    const access = log.table("access"), t = log.table("mapping"), time = timeAxis.scale.invert(x);
    for (let row = 0; row < log.rows("access"); row++)
      if (access.module[row] === module && Math.abs(timeAxis.scale(access.at[row]) - x) < 6)
        return {view: "mapping", what: log.text(access.what[row]), text: log.module(module) + "\n" +
          log.text(access.what[row]) + ": " + log.text(access.access[row]) + " of " +
          exactBytesText(access.bytes[row]) + " at " + addressText(access.va[row]) + ", " + timeText(access.at[row])};
    const slack = timeAxis.scale.invert(x + 3) - time;
    for (let row = 0; row < log.rows("mapping"); row++)
      if (t.module[row] === module && t.arrival[row] - slack <= time && t.done[row] + slack >= time)
        return {view: "mapping", op: log.text(t.op[row]), module: log.module(module), arrival_ps: t.arrival[row],
          done_ps: t.done[row], text: this.words(log, t, row)};
    return null;
  }

  words(log, t, row) {
    const ranges = log.table("range"), lines = [];
    for (let i = 0; i < log.rows("range") && lines.length < 4; i++)
      if (ranges.number[i] === t.ranges[row])
        lines.push(addressText(ranges.va[i]) + " to " + addressText(ranges.pa[i]) + ", " +
          exactBytesText(ranges.bytes[i]));
    return log.module(t.module[row]) + "\n" + log.text(t.op[row]) + " " + log.text(t.status[row]) + ", came " +
      timeText(t.arrival[row]) + ", visible " + timeText(t.done[row]) + "\n" + lines.join("\n");
  }
}

function showMapping(parent, runs) {
  runs.forEach((run, number) => {
    if (!run.log || run.log.rows("mapping") === 0) return;
    parent.append(element("h3", {}, nameOf(run)));
    new TimeView(parent, "Mappings from module to module", new MappingView(run, number));
  });
  const legend = element("div", {class: "legend"});
  for (const [name, colour] of Object.entries(MAPPING_COLOURS)) {
    const sample = element("i");
    sample.style.background = colour;
    legend.append(element("span", {}, sample, name));
  }
  if (parent.children.length > 0)
    parent.append(legend, element("p", {class: "note"}, "A bar ends when the module sees the mapping; lines lead " +
      "to the module that forwarded it, and back, if there are at most " + ARROWS_SHOWN + " lines (zoom in); " +
      "triangles are stale accesses, faults and demands."));
}
