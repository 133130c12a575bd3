"use strict";
// How a figure is distributed: bars of counts, one set for each run.

const HISTOGRAM_BARS = 24;
const RUN_COLOURS = ["#0072b2", "#e69f00"];

class HistogramView {
  // sets: lists of numbers, one for each run.
  constructor(key, sets) {
    this.key = key;
    this.left = this.each = 1; // until it is drawn
    let least = Infinity, most = -Infinity;
    for (const set of sets) for (const value of set) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
    this.isOne = most === least; // value: it has a bar in the middle, and no other
    this.step = key.endsWith("bytes") && most > least ? 2 ** Math.ceil(Math.log2((most - least) / 4)) : 0;
    this.scale = this.scaleOf(least, most);
    const [begin, end] = this.scale.domain();
    this.counts = sets.map((set) => {
      const counts = new Array(HISTOGRAM_BARS).fill(0);
      for (const value of set)
        counts[Math.min(HISTOGRAM_BARS - 1, Math.floor((value - begin) / (end - begin) * HISTOGRAM_BARS))]++;
      return counts;
    });
    this.most = Math.max(1, ...this.counts.flat());
  }

  // Of bytes the ends and ticks are multiples of a power of two.
  scaleOf(least, most) {
    const scale = d3.scale.linear(), step = this.step;
    if (this.isOne) return scale.domain([least - 0.5, least + 0.5]);
    if (step > 0) return scale.domain([Math.floor(least / step) * step, Math.ceil(most / step) * step]);
    return scale.domain([least, most]).nice();
  }

  ticks() {
    const [begin, end] = this.scale.domain();
    if (this.isOne) return [(begin + end) / 2];
    if (this.step > 0) return d3.range(begin, end + 1, this.step).filter((_, number) => number % 2 === 0);
    return this.scale.ticks(3).filter((tick) => Number.isInteger(tick) || this.key.endsWith("_pct"));
  }

  height() {
    return 130;
  }

  paint(context, width, height) {
    const left = 36, bottom = height - 18, each = (width - left - 26) / HISTOGRAM_BARS;
    this.left = left;
    this.each = each;
    const high = d3.scale.linear().domain([0, this.most]).range([bottom, 8]);
    const across = this.scale.copy().range([left, width - 26]);
    context.strokeStyle = styleColour("line");
    context.fillStyle = styleColour("faint");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of high.ticks(3).filter(Number.isInteger)) {
      context.fillText(String(tick), left - 5, high(tick));
      context.strokeRect(left, Math.round(high(tick)) + 0.5, width - left - 26, 0);
    }
    context.textAlign = "center";
    for (const tick of this.ticks()) context.fillText(figureWords(this.key, tick), across(tick), bottom + 10);
    const part = (each - 1) / this.counts.length;
    this.counts.forEach((counts, run) => {
      context.fillStyle = RUN_COLOURS[run];
      counts.forEach((count, bar) =>
        context.fillRect(left + bar * each + run * part, high(count), part, bottom - high(count)));
    });
    context.textAlign = "left";
  }

  find(x) {
    const bar = Math.floor((x - this.left) / this.each), [begin, end] = this.scale.domain();
    if (bar < 0 || bar >= HISTOGRAM_BARS) return null;
    const from = begin + (end - begin) * bar / HISTOGRAM_BARS, to = begin + (end - begin) * (bar + 1) / HISTOGRAM_BARS;
    const counts = this.counts.map((set) => set[bar]);
    if (this.isOne && counts.every((count) => count === 0)) return null;
    const words = this.isOne ? figureWords(this.key, (begin + end) / 2) :
      figureWords(this.key, from) + " to " + figureWords(this.key, to);
    return {view: "histogram", key: this.key, counts, text: words + ": " + counts.join(" and ")};
  }
}

// A histogram with its title and the middle of its values.
function showHistogram(parent, title, key, sets) {
  const words = sets.map((set) => {
    const sorted = Float64Array.from(set).sort(), at = (part) => sorted[Math.min(sorted.length - 1,
      Math.max(0, Math.ceil(part * sorted.length) - 1))];
    return sorted.length === 0 ? "none" : sorted.length + ": median " + figureWords(key, at(0.5)) + ", 99 % " +
      figureWords(key, at(0.99)) + ", most " + figureWords(key, sorted[sorted.length - 1]);
  });
  const box = element("div", {class: "plot"}, element("h3", {}, title));
  words.forEach((text, run) => {
    const line = element("div", {class: "note"});
    if (words.length > 1) {
      const sample = element("i");
      sample.style.cssText = "display:inline-block;width:.8em;height:.8em;margin-right:.4em;background:" +
        RUN_COLOURS[run];
      line.append(sample);
    }
    line.append(text);
    box.append(line);
  });
  parent.append(box);
  if (sets.some((set) => set.length > 0)) new View(box, title, new HistogramView(key, sets));
}
