"use strict";
// Kernels: a row for the host and for each PE, what each was in, the critical path marked below.

// Intervals in rows, sorted by their begin: typed arrays, and where each row begins.
class Intervals {
  // list: of {row, begin, end, kind, place}; rows: how many.
  constructor(list, rows) {
    const order = list.map((_, number) => number);
    order.sort((a, b) => list[a].row - list[b].row || list[a].begin - list[b].begin);
    this.begin = Float64Array.from(order, (number) => list[number].begin);
    this.end = Float64Array.from(order, (number) => list[number].end);
    this.group = Uint8Array.from(order, (number) => groupOf(list[number].kind));
    this.kind = order.map((number) => list[number].kind);
    this.place = order.map((number) => list[number].place);
    this.first = new Uint32Array(rows + 1);
    for (const each of list) this.first[each.row + 1]++;
    for (let row = 0; row < rows; row++) this.first[row + 1] += this.first[row];
  }

  // The first interval of a row that ends after a time.
  after(row, time) {
    let low = this.first[row], high = this.first[row + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end[middle] > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

// Parts of one group beside each other, the group with most of the time first.
function byGroup(went) {
  const sums = new Array(GROUPS.length).fill(0);
  for (const part of went) sums[groupOf(part.kind)] += part.ps;
  return [...went].sort((a, b) => {
    const one = groupOf(a.kind), other = groupOf(b.kind);
    return sums[other] - sums[one] || one - other || b.ps - a.ps;
  });
}

// Of a report alone: the parts of each kernel's time one after the other, in no order of time.
function intervalsOfReport(report, rows) {
  const list = [];
  const add = (row, begin, went) => {
    for (const part of byGroup(went || [])) {
      list.push({row, begin, end: begin + part.ps, kind: part.kind, place: part.place || ""});
      begin += part.ps;
    }
  };
  const host = (report.critical_path.segments || []).find((segment) => segment.where === "host");
  if (host) add(0, host.begin_ps, host.went);
  for (const kernel of report.kernels) add(rows.get(kernel.pe), kernel.start_ps, kernel.went);
  return new Intervals(list, rows.size);
}

// Draws the intervals of a row into a raster: of those within one pixel, the group that has most of it.
function paintRow(raster, intervals, row, top, bottom, colours, x0) {
  const {begin, end, group} = intervals, dense = raster.dense, scale = timeAxis.scale;
  const [from, to] = scale.domain(), factor = (scale.range()[1] - scale.range()[0]) / (to - from) * dense;
  const origin = (scale.range()[0] - x0) * dense;
  const last = intervals.first[row + 1], within = new Float64Array(GROUPS.length);
  let pixel = -1, drawn = 0;
  const flush = () => {
    if (pixel < 0) return;
    let most = 0;
    for (let i = 1; i < within.length; i++) if (within[i] > within[most]) most = i;
    raster.fill(pixel, pixel + 1, top, bottom, colours[most]);
    within.fill(0);
    pixel = -1;
  };
  for (let i = intervals.after(row, from); i < last && begin[i] < to; i++) {
    const left = origin + (begin[i] - from) * factor, right = origin + (end[i] - from) * factor;
    const column = Math.max(0, Math.floor(left));
    drawn++;
    if (Math.floor(right) <= column) {
      if (column !== pixel) flush();
      pixel = column;
      within[group[i]] += end[i] - begin[i];
    } else {
      flush();
      raster.fill(Math.max(0, left), right, top, bottom, colours[group[i]]);
    }
  }
  flush();
  return drawn;
}

class KernelsView {
  constructor(run, number) {
    const report = run.report;
    this.run = run;
    this.rows = new Map([["host", 0]]);
    for (const kernel of report.kernels) this.rows.set(kernel.pe, this.rows.size);
    this.names = [...this.rows.keys()];
    this.segments = (report.critical_path.segments || []).filter((segment) => this.rows.has(segment.where));
    this.intervals = intervalsOfReport(report, this.rows);
    this.rowHeight = Math.max(3, Math.min(20, Math.floor(480 / this.names.length)));
    this.state = window.tlmalloc.views["kernels" + number] =
      {rows: this.names.length, drawn: 0, timed: false};
  }

  height() {
    return this.rowHeight * this.names.length;
  }

  paint(context, width, height) {
    const colours = GROUPS.map((group) => pixelOf(group.colour)), high = this.rowHeight;
    const raster = new Raster(context, LEFT, 0, width - LEFT - RIGHT, height);
    const bar = high > 8 ? high - 6 : high - 1;
    this.state.drawn = 0;
    for (let row = 0; row < this.names.length; row++) {
      const top = row * high * raster.dense;
      this.state.drawn +=
        paintRow(raster, this.intervals, row, top, top + bar * raster.dense, colours, LEFT);
    }
    raster.show();
    context.fillStyle = styleColour("text");
    context.textBaseline = "middle";
    const step = Math.ceil(11 / high);
    for (let row = 0; row < this.names.length; row += step)
      context.fillText(fitText(context, this.names[row], LEFT - 8), 0, row * high + Math.max(bar, 6) / 2);
    context.fillStyle = styleColour("mark");
    for (const segment of this.segments) {
      const left = Math.max(LEFT, timeAxis.scale(segment.begin_ps));
      const right = Math.min(width - RIGHT, timeAxis.scale(segment.end_ps)), top = this.rows.get(segment.where) * high;
      if (right > left) context.fillRect(left, top + bar, right - left, high > 8 ? 3 : 1);
    }
  }

  find(x, y) {
    const row = Math.floor(y / this.rowHeight), time = timeAxis.scale.invert(x);
    if (row < 0 || row >= this.names.length || x < LEFT) return null;
    const number = this.intervals.after(row, time);
    if (number >= this.intervals.first[row + 1] || this.intervals.begin[number] > time) return null;
    const begin = this.intervals.begin[number], end = this.intervals.end[number];
    const kind = this.intervals.kind[number], place = this.intervals.place[number];
    const text = this.names[row] + "\n" + kind + (place ? " at " + place : "") + ": " + timeText(end - begin) +
      (this.state.timed ? "\n" + timeText(begin) + " to " + timeText(end) : " in all");
    return {view: "kernels", where: this.names[row], kind, place, begin_ps: begin, end_ps: end, text};
  }
}

function showKernels(parent, run, number) {
  const view = new KernelsView(run, number);
  parent.append(element("h3", {}, nameOf(run)));
  if (!view.state.timed)
    parent.append(element("p", {class: "note"},
      "Shares of each kernel's time, the largest first, in no order of time."));
  new TimeView(parent, "What every kernel was in", view);
}
