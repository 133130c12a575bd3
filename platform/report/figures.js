"use strict";
// Distributions of figures, of all runs.

// [title, key, list of the report, figure of its rows]
const DISTRIBUTIONS = [
  ["Kernels", "time_ps", (report) => report.kernels.map((kernel) => kernel.end_ps - kernel.start_ps)],
  ["Kernels: waiting for allocations", "alloc_ps", (report) => report.kernels.map((kernel) => kernel.device_alloc_ps)],
  ["Kernels: in DMA", "dma_ps", (report) => report.kernels.map((kernel) => kernel.dma_ps)],
  ["Links: load", "utilisation_pct", (report) => report.links.map((link) => link.utilisation_pct)],
  ["Links: waits", "waited_ps", (report) => report.links.map((link) => link.waited_ps)],
  ["Controllers: most bytes in use", "bytes", (report) => report.controllers.map((row) => row.peak_used_bytes)],
  ["Slices: row hits", "hits_pct", (report) => (report.slices || []).filter((row) => row.row_hits !== undefined)
    .map((row) => 100 * row.row_hits / Math.max(1, row.row_hits + row.row_misses + row.row_conflicts))],
  ["MMUs: TLB misses", "misses", (report) => report.mmus.map((row) => row.misses)],
];

function showFigures(parent, runs) {
  const plots = element("div", {class: "plots"});
  for (const [title, key, of] of DISTRIBUTIONS) {
    const sets = runs.map((run) => of(run.report));
    if (sets.some((set) => set.some((value) => value !== 0))) showHistogram(plots, title, key, sets);
  }
  parent.append(plots);
}
