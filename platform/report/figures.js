"use strict";
// Distributions of figures, of all runs.

// [title, key, list of the report, figure of its rows]
const DISTRIBUTIONS = [
  ["Kernels", "time_ps", (report) => report.kernels.map((kernel) => kernel.end_ps - kernel.start_ps)],
  ["Kernels: waiting for allocations", "alloc_ps", (report) => report.kernels.map((kernel) => kernel.device_alloc_ps)],
  ["Kernels: in DMA", "dma_ps", (report) => report.kernels.map((kernel) => kernel.dma_ps)],
  ["Links: load", "utilisation_pct", (report) => report.links.map((link) => link.utilisation_pct)],
  ["Links: total wait of flits", "waited_ps", (report) => report.links.map((link) => link.waited_ps)],
  ["Controllers: peak bytes in use", "bytes", (report) => report.controllers.map((row) => row.peak_used_bytes)],
  ["Slices: row hits", "hits_pct", (report) => (report.slices || []).filter((row) => row.row_hits !== undefined)
    .map((row) => 100 * row.row_hits / Math.max(1, row.row_hits + row.row_misses + row.row_conflicts))],
  ["MMUs: TLB misses", "misses", (report) => report.mmus.map((row) => row.misses)],
];

// Of the log: times of the rows of a table for which a column has one of these texts; all rows without one.
function timesOf(log, table, from, to, column, texts) {
  const begin = log.column(table, from), end = log.column(table, to), times = [];
  const of = column && log.column(table, column), numbers = column && texts.map((text) => log.textNumber(text));
  for (let row = 0; row < begin.length; row++)
    if (!column || numbers.includes(of[row])) times.push(end[row] - begin[row]);
  return times;
}

// How many commands a module had not answered when each arrived.
function depthsOf(log) {
  const {module, arrival, done} = log.table("memory"), modules = new Map(), depths = [];
  module.forEach((number, row) => {
    if (!modules.has(number)) modules.set(number, [[], []]);
    modules.get(number)[0].push(arrival[row]);
    modules.get(number)[1].push(done[row]);
  });
  for (const [arrivals, dones] of modules.values()) {
    const came = Float64Array.from(arrivals).sort(), went = Float64Array.from(dones).sort();
    let gone = 0;
    came.forEach((time, number) => {
      while (gone < went.length && went[gone] <= time) gone++;
      depths.push(Math.max(0, number - gone));
    });
  }
  return depths;
}

const LOG_DISTRIBUTIONS = [
  ["Allocations, from arrival to answer", "time_ps", (log) => timesOf(log, "memory", "arrival", "done", "op",
    ["ALLOC", "ALLOC_BATCH", "PLACE"])],
  ["Frees, from arrival to answer", "time_ps", (log) => timesOf(log, "memory", "arrival", "done", "op",
    ["FREE", "FREE_BATCH"])],
  ["Commands: waiting for the engine", "time_ps", (log) => timesOf(log, "memory", "arrival", "start")],
  ["Commands queued at each arrival", "commands", depthsOf],
  ["DMA reads", "time_ps", (log) => timesOf(log, "transfer", "start", "end", "engine", ["read"])],
  ["DMA writes", "time_ps", (log) => timesOf(log, "transfer", "start", "end", "engine", ["write"])],
  ["Messages", "time_ps", (log) => timesOf(log, "message", "sent", "received")],
];

function showFigures(parent, runs) {
  const plots = element("div", {class: "plots"});
  for (const [title, key, of] of DISTRIBUTIONS) {
    const sets = runs.map((run) => of(run.report));
    if (sets.some((set) => set.some((value) => value !== 0))) showHistogram(plots, title, key, sets);
  }
  parent.append(plots);
  whenSeen(plots, () => keepBelow(plots, () => {
    for (const [title, key, of] of LOG_DISTRIBUTIONS) {
      const sets = runs.map((run) => run.log ? of(run.log) : []);
      if (sets.some((set) => set.length > 0)) showHistogram(plots, title, key, sets);
    }
  }));
}

// Does something that makes a part of the page grow. Who looks at what is below it, as by a link to there, goes on to.
function keepBelow(grows, action) {
  const before = grows.getBoundingClientRect().bottom;
  action();
  if (before < window.innerHeight / 2) window.scrollBy(0, grows.getBoundingClientRect().bottom - before);
}
