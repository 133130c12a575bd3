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
  showLosses(part("kernels"), runs);
  timeAxis.hasLoads = runs.some((run) => run.log && run.log.head.bucket_ps);
  part("whole-label").hidden = !timeAxis.hasLoads;
  const kernels = columns("kernels", false), memory = columns("memory", false), platform = columns("platform", true);
  runs.forEach((run, number) => showKernels(kernels, run, number));
  showMemory(memory, runs);
  runs.forEach((run, number) => run.log && showFailures(part("failures"), run, number));
  showMapping(columns("mapping", false), runs);
  showPlatforms(platform, runs);
  timeAxis.begin(Math.max(...runs.map((run) => run.report.sim_time_ps)), kernelTimesOf(runs));
  listenToKeys();
}

// From the first kernel's start to the last one's end: of all runs, and of each.
function kernelTimesOf(runs) {
  const timeOf = (some) => {
    const begun = some.flatMap((run) => run.report.kernels).filter((kernel) => kernel.end_ps > kernel.start_ps);
    return [Math.min(...begun.map((kernel) => kernel.start_ps)), Math.max(...begun.map((kernel) => kernel.end_ps))];
  };
  const times = runs.length > 1 ? [timeOf(runs), ...runs.map((run) => timeOf([run]))] : [timeOf(runs)];
  return times.filter(([begin, end]) => begin < end);
}

// What the log of a run lacks.
function showLosses(parent, runs) {
  for (const run of runs.filter((each) => each.log && each.log.head.lost > 0)) {
    const kinds = Object.entries(run.log.head.lost_by_kind).filter(([, count]) => count > 0);
    parent.append(element("p", {class: "failed"}, nameOf(run) + ": the log was truncated at its limit; " +
      run.log.head.lost + " events are not shown (" + kinds.map(([kind, count]) => count + " " + kind).join(", ") + ")"));
  }
}

function showContents() {
  for (const section of document.querySelectorAll("section")) {
    const hasMore = [...section.children].some((child) => child.nodeName !== "H2" && child.childNodes.length > 0);
    if (section.hidden || section.closest("[hidden]") || !hasMore) {
      section.hidden = true;
      continue;
    }
    part("contents").append(element("a", {href: "#" + section.id}, section.querySelector("h2").textContent));
  }
}

async function showAll() {
  const runs = PAGE.runs;
  await Promise.all(runs.map(readEvents));
  const isRun = runs[0].kind === "run";
  const kernels = [...new Set(runs.map((run) => isRun && run.report.kernels.length ? run.report.kernels[0].name :
    run.kind))];
  const title = kernels.join(" and ");
  part("title").textContent = plainText(title + ": " + runs.map(nameOf).join(" and "));
  document.title = part("title").title = part("title").textContent;
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
  waitUntilDrawn(20);
}

// The browser says which views can be seen some frames later; there may be none.
function waitUntilDrawn(frames) {
  if (frames === 0 || unseen.size === 0 && redraws.size === 0 || window.tlmalloc.draws > 0 && redraws.size === 0)
    window.tlmalloc.ready = true;
  else
    requestAnimationFrame(() => waitUntilDrawn(frames - 1));
}

// How much of the window the head takes, below which other things stay.
new ResizeObserver(([head]) => document.documentElement.style.setProperty("--head", head.target.offsetHeight + "px"))
  .observe(document.querySelector("header"));
// The head is drawn first; a view of a million events takes longer.
requestAnimationFrame(() => setTimeout(() => showAll().catch((problem) => {
  window.tlmalloc.errors.push(String(problem));
  window.tlmalloc.ready = true;
  part("main").prepend(element("p", {class: "failed"}, "Parts of this page cannot be shown (" + problem +
    "): the report was edited, or the browser is too old."));
})));
