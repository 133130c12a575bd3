"use strict";
// Beside a memory: its free bytes, the largest hole, fragmentation, and the length of the free list, over time.

// What the commands of a memory say is free behind them, by time.
function freeSeries(log, memory) {
  const t = log.table("memory"), m = log.table("move"), {moves} = memory;
  let points = memory.commands.filter((row) => !Number.isNaN(t.free[row])); // rows of commands, ~rows of moves
  const of = (point, command, move) => point < 0 ? m[move || command][~point] : t[command][point];
  if (moves.length > 0)
    points = [...points, ...moves.map((row) => ~row)].sort((a, b) => of(a, "done", "freed") - of(b, "done", "freed"));
  const take = (command, move) => Float64Array.from(points, (point) => of(point, command, move));
  const made = {time: take("done", "freed"), free: take("free"), hole: take("largest"), blocks: take("free_blocks")};
  made.broken = made.free.map((free, number) => free > 0 ? 1 - made.hole[number] / free : 0);
  for (const column of ["free", "hole", "blocks"]) made[column + "Range"] = d3.extent(made[column]);
  return made;
}

class FreeListView {
  constructor(run, number, memories) {
    this.run = run;
    this.memories = memories;
    this.state = window.tlmalloc.views["free" + number] =
      {points: 0, least_free: null, least_hole: null, most_blocks: null};
  }

  height() {
    return 108;
  }

  series() {
    const memory = this.memories.get(memoryShown.name);
    if (memory && !memory.series) memory.series = freeSeries(this.run.log, memory);
    return memory && memory.series.time.length > 0 ? memory.series : null;
  }

  paint(context, width, height) {
    const series = this.series();
    Object.assign(this.state, {points: series ? series.time.length : 0, least_free: series && series.freeRange[0],
      least_hole: series && series.holeRange[0], most_blocks: series && series.blocksRange[1]});
    if (!series) return;
    const bottom = Math.min(series.freeRange[0], series.holeRange[0]), most = Math.max(series.freeRange[1], bottom + 1);
    context.strokeStyle = styleColour("line");
    context.strokeRect(LEFT + 0.5, 0.5, width - LEFT - RIGHT - 1, height - 1);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, height);
    context.clip();
    this.line(context, series.time, series.free, bottom, most, "#0072b2", width);
    context.translate(0, 1.5); // both are seen where they are equal, as long as nothing is broken up
    this.line(context, series.time, series.hole, bottom, most, "#e69f00", width);
    context.translate(0, -1.5);
    this.line(context, series.time, series.broken, 0, 1, "#d55e00", width);
    const mostBlocks = Math.max(1, series.blocksRange[1] || 0);
    if (series.blocksRange[1] !== undefined) // at least one is known
      this.line(context, series.time, series.blocks, 0, mostBlocks, "#009e73", width);
    context.restore();
    this.words(context, [["free", "#0072b2", bytesRangeText(...series.freeRange)],
      ["largest hole", "#e69f00", bytesRangeText(...series.holeRange)], ["fragmentation", "#d55e00", "0 to 100 %"],
      ["free blocks", "#009e73", "0 to " + mostBlocks]]);
  }

  words(context, lines) {
    context.textBaseline = "middle";
    lines.forEach(([name, colour, range], line) => {
      context.fillStyle = colour;
      context.fillRect(0, 8 + line * 26, 10, 4);
      context.fillStyle = styleColour("faint");
      context.fillText(name, 15, 10 + line * 26);
      context.fillText(fitText(context, range, LEFT - 18), 15, 22 + line * 26);
    });
  }

  // A step for each command, between two values at the bottom and the top; of those within one pixel, from the least to
  // the most.
  line(context, times, values, bottom, top, colour, width) {
    const [from, to] = timeAxis.scale.domain(), across = (width - LEFT - RIGHT) / (to - from);
    const up = (this.height() - 12) / (top - bottom), yOf = (value) => this.height() - 6 - (value - bottom) * up;
    let i = Math.max(0, d3.bisectLeft(times, from) - 1), pixel = -1, low = 0, high = 0, value = values[i];
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(LEFT, yOf(value));
    for (; i < times.length && times[i] <= to; i++) {
      const x = Math.max(LEFT, Math.round(LEFT + (times[i] - from) * across)), next = values[i];
      if (x !== pixel) {
        if (pixel >= 0) this.step(context, pixel, low, high, value, yOf);
        context.lineTo(x, yOf(value));
        pixel = x;
        low = high = next;
      }
      if (next < low) low = next;
      if (next > high) high = next;
      value = next;
    }
    if (pixel >= 0) this.step(context, pixel, low, high, value, yOf);
    context.lineTo(width - RIGHT, yOf(value));
    context.stroke();
    context.lineWidth = 1;
  }

  // What was within a pixel, and its last value.
  step(context, x, low, high, last, yOf) {
    context.lineTo(x, yOf(low));
    if (high > low) context.lineTo(x, yOf(high));
    context.lineTo(x, yOf(last));
  }

  find(x) {
    const series = this.series();
    if (x < LEFT || !series) return null;
    const at = d3.bisectRight(series.time, timeAxis.scale.invert(x)) - 1;
    if (at < 0) return null;
    const free = series.free[at], hole = series.hole[at], blocks = series.blocks[at];
    const text = timeText(series.time[at]) + "\n" + exactBytesText(free) + " free, the largest hole " +
      exactBytesText(hole) + ", fragmentation " + digits(100 * series.broken[at], 3) + " %" +
      (Number.isNaN(blocks) ? "" : ", free blocks " + blocks);
    return {view: "free", free_bytes: free, largest_free_bytes: hole, free_blocks: blocks, text};
  }
}
