"use strict";
// Kernels: a row for the host and for each PE, what each was in, the critical path marked below.

class KernelsView {
  constructor(run, number) {
    const report = run.report;
    this.run = run;
    this.rows = new Map([["host", 0]]);
    for (const kernel of report.kernels) this.rows.set(kernel.pe, this.rows.size);
    this.names = [...this.rows.keys()];
    this.segments = (report.critical_path.segments || []).filter((segment) => this.rows.has(segment.where));
    this.places = [];
    this.intervals = run.log ? intervalsOfLog(run.log, this.rows) : intervalsOfReport(report, this.rows, this.places);
    this.rowHeight = Math.max(3, Math.min(20, Math.floor(480 / this.names.length)));
    this.state = window.tlmalloc.views["kernels" + number] =
      {rows: this.names.length, drawn: 0, timed: !!run.log};
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
    paintNames(context, this.names, (row) => row * high + bar / 2);
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
    const kind = this.intervals.kinds[this.intervals.kind[number]], where = this.intervals.place[number];
    const place = this.run.log ? this.run.log.place(kind, where) : this.places[where] || "";
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
      "Shares of each kernel's time, the largest first, not in the order of time."));
  new TimeView(parent, "Activity of every kernel", view);
}
