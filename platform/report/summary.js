"use strict";
// The first figures of every run, and what it was.

// Of a run: [title, key of figureWords, value].
function figuresOfRun(report) {
  const path = report.critical_path;
  const kernelEnd = Math.max(0, ...report.kernels.map((kernel) => kernel.end_ps));
  const kernelStart = Math.min(kernelEnd, ...report.kernels.map((kernel) => kernel.start_ps));
  return [
    ["simulated", "sim_time_ps", report.sim_time_ps],
    ["kernels, first start to last end", "kernel_ps", kernelEnd - kernelStart],
    ["allocation and mapping", "alloc_and_map_pct", path.alloc_and_map_pct],
    ["PEs", "pes", report.kernels.length],
    ["allocations", "allocs", sumOf(report.controllers, "allocs")],
    ["failed allocations", "failed", sumOf(report.controllers, "failed")],
    ["free-list nodes visited", "nodes_visited", sumOf(report.controllers, "nodes_visited")],
    ...figuresOfMoves(report.controllers),
    ["TLB misses", "misses", sumOf(report.mmus, "misses")],
    ["range hits", "range_hits", rangeHitsOf(report.mmus)],
    ["faults", "faults", sumOf(report.mmus, "faults")],
    ["leaks", "leaks", report.leaks],
    ...figuresOfEnergy(report.energy),
  ];
}

function sumOf(rows, key) {
  return (rows || []).reduce((sum, row) => sum + (row[key] || 0), 0);
}

// The times of a controller stand in each of its rows.
function figuresOfMoves(controllers) {
  const ones = (controllers || []).filter((row, number) => number === 0 || row.name !== controllers[number - 1].name);
  if (sumOf(controllers, "moved_blocks") === 0) return [];
  return [
    ["blocks that have moved", "moved_blocks", sumOf(controllers, "moved_blocks")],
    ["bytes that have moved", "moved_bytes", sumOf(controllers, "moved_bytes")],
    ["stops for moves, all controllers", "stop_ps", sumOf(ones, "stop_ps")],
  ];
}

// The whole energy, and its three largest causes.
function figuresOfEnergy(energy) {
  if (!energy || energy.total_fj === 0) return [];
  const causes = Object.entries(energy.by_cause_fj).filter(([, fj]) => fj > 0).sort((a, b) => b[1] - a[1]);
  return [
    ["energy", "total_fj", energy.total_fj],
    ...causes.slice(0, 3).map(([cause, fj]) => ["energy: " + cause, cause + "_pct", 100 * fj / energy.total_fj]),
  ];
}

// Undefined where no MMU has ranges.
function rangeHitsOf(mmus) {
  return (mmus || []).some((row) => row.range_hits !== undefined) ? sumOf(mmus, "range_hits") : undefined;
}

// Of another report: its own numbers, and how long its lists are.
function figuresOfOther(report) {
  return Object.entries(report)
    .map(([key, value]) => isListOfRows(value) ? [figureTitle(key), key, value.length] : [figureTitle(key), key, value])
    .filter(([, , value]) => typeof value === "number" || typeof value === "string");
}

function showSummary(parent, run) {
  const box = element("div", {}, element("h3", {}, nameOf(run) + (run.kind === "run" ? "" : " (" + run.kind + ")")));
  const report = run.report;
  if (report.status && report.status !== "TLA_OK")
    box.append(element("p", {class: "failed"}, report.status + ": " + report.message));
  const cards = element("div", {class: "cards"});
  for (const [title, key, value] of run.kind === "run" ? figuresOfRun(report) : figuresOfOther(report)) {
    if (value === undefined || value === null) continue;
    const shown = element("b", {"data-key": key, "data-value": String(value)}, figureWords(key, value));
    cards.append(element("div", {class: "card"}, shown, element("span", {}, title)));
  }
  box.append(cards);
  parent.append(box);
}
