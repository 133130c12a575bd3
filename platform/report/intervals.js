"use strict";
// What kernels were in over time: intervals in rows, by their begin.

class Intervals {
  // Columns of the same length: the row, begin, end, number of the kind, and the place, a number or NaN.
  constructor(columns, kinds, rows) {
    const {row, begin, end, kind, place} = columns, count = row.length;
    this.first = new Uint32Array(rows + 1);
    for (let i = 0; i < count; i++) this.first[row[i] + 1]++;
    for (let i = 0; i < rows; i++) this.first[i + 1] += this.first[i];
    const next = this.first.slice(), order = new Uint32Array(count);
    for (let i = 0; i < count; i++) order[next[row[i]]++] = i;
    for (let i = 0; i < rows; i++) orderBy(begin, order.subarray(this.first[i], this.first[i + 1]));
    this.begin = new Float64Array(count);
    this.end = new Float64Array(count);
    this.kind = new Uint16Array(count);
    this.group = new Uint8Array(count);
    this.place = new Float64Array(count);
    const groups = kinds.map(groupOf);
    order.forEach((from, to) => {
      this.begin[to] = begin[from];
      this.end[to] = end[from];
      this.kind[to] = kind[from];
      this.group[to] = groups[kind[from]];
      this.place[to] = place[from];
    });
    this.kinds = kinds;
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

// Of a report alone: the parts of each kernel's time one after the other, in no order of time. Places are numbers of
// `places`, which is filled.
function intervalsOfReport(report, rows, places) {
  const columns = {row: [], begin: [], end: [], kind: [], place: []}, kinds = [];
  const numberIn = (list, text) => list.includes(text) ? list.indexOf(text) : list.push(text) - 1;
  const add = (row, begin, went) => {
    for (const part of byGroup(went || [])) {
      columns.row.push(row);
      columns.begin.push(begin);
      begin += part.ps;
      columns.end.push(begin);
      columns.kind.push(numberIn(kinds, part.kind));
      columns.place.push(part.place ? numberIn(places, part.place) : NaN);
    }
  };
  const host = (report.critical_path.segments || []).find((segment) => segment.where === "host");
  if (host) add(0, host.begin_ps, host.went);
  for (const kernel of report.kernels) add(rows.get(kernel.pe), kernel.start_ps, kernel.went);
  return new Intervals(columns, kinds, rows.size);
}

// Of the log: as it was.
function intervalsOfLog(log, rows) {
  const table = log.table("interval");
  const rowOf = [0, ...log.head.pes.map((pe) => rows.has(pe) ? rows.get(pe) : 0)];
  return new Intervals({row: table.who.map((who) => rowOf[who]), begin: table.begin, end: table.end, kind: table.kind,
    place: table.place}, log.head.texts, rows.size);
}

// Draws the intervals of a row into a raster: of those within one pixel, the group that has most of it. How many lay in
// the time that is shown.
function paintRow(raster, intervals, row, top, bottom, colours, x0) {
  const {begin, end, group} = intervals, dense = raster.dense, scale = timeAxis.scale;
  const [from, to] = scale.domain(), factor = (scale.range()[1] - scale.range()[0]) / (to - from) * dense;
  const origin = (scale.range()[0] - x0) * dense - from * factor;
  const first = intervals.after(row, from), last = intervals.first[row + 1], within = new Float64Array(GROUPS.length);
  let pixel = -1, most = 0, i = first;
  for (; i < last && begin[i] < to; i++) {
    const left = Math.max(0, Math.floor(origin + begin[i] * factor)), right = Math.floor(origin + end[i] * factor);
    const mine = group[i], isWithin = right <= left;
    if (pixel >= 0 && (!isWithin || left !== pixel)) {
      raster.column(pixel, top, bottom, colours[most]);
      for (let j = 0; j < within.length; j++) within[j] = 0;
      pixel = -1;
    }
    if (!isWithin) {
      raster.fill(left, right, top, bottom, colours[mine]);
      continue;
    }
    if (pixel < 0) {
      pixel = left;
      most = mine;
    }
    within[mine] += end[i] - begin[i];
    if (within[mine] > within[most]) most = mine;
  }
  if (pixel >= 0) raster.column(pixel, top, bottom, colours[most]);
  return i - first;
}
