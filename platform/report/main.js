"use strict";
// Fills the page: what is there of each run decides which parts it has.

function part(name) {
  return document.getElementById(name);
}

// Below a section's heading: one column, or one for each run.
function columns(name, two) {
  const box = element("div", {class: two && PAGE.runs.length > 1 ? "runs two" : "runs"});
  part(name).append(box);
  return box;
}

function showTimed(runs) {
  part("timed").hidden = false;
  fillLegend();
  const kernels = columns("kernels", false), platform = columns("platform", true);
  runs.forEach((run, number) => showKernels(kernels, run, number));
  runs.forEach((run, number) => showPlatform(platform, run, number));
  const kernelsOf = runs.flatMap((run) => run.report.kernels);
  timeAxis.begin(Math.max(...runs.map((run) => run.report.sim_time_ps)),
    [Math.min(...kernelsOf.map((kernel) => kernel.start_ps)), Math.max(...kernelsOf.map((kernel) => kernel.end_ps))]);
  listenToKeys();
}

function showContents() {
  for (const section of document.querySelectorAll("section")) {
    if (section.hidden || section.closest("[hidden]") || section.children.length < 2) {
      section.hidden = true;
      continue;
    }
    part("contents").append(element("a", {href: "#" + section.id}, section.querySelector("h2").textContent));
  }
}

function showAll() {
  const runs = PAGE.runs, isRun = runs[0].kind === "run";
  const title = isRun ? runs[0].report.kernels.map((kernel) => kernel.name)[0] || "run" : runs[0].kind;
  part("title").textContent = title + ": " + runs.map(nameOf).join(" and ");
  document.title = part("title").textContent;
  const summaries = columns("summary", true), tables = columns("tables", true);
  for (const run of runs) showSummary(summaries, run);
  if (isRun) {
    showTimed(runs);
    showFigures(part("figures"), runs);
    showSettings(part("settings"), runs);
  }
  if (runs.length === 2) showDifferences(part("differences"), runs);
  for (const run of runs) {
    const box = element("div", {}, element("h3", {}, nameOf(run)));
    showTables(box, run.report, "");
    tables.append(box);
  }
  showContents();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    window.tlmalloc.ready = true;
  }));
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => timeAxis.views.forEach(redraw));
showAll();
