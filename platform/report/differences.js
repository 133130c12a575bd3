"use strict";
// Two reports: every figure that differs, with by how much, and settings that differ.

// Rows {path, first, second, change}: change in percent of the first, null where that says nothing.
function differencesOf(one, other) {
  const first = flatten(one, "", new Map()), second = flatten(other, "", new Map()), rows = [];
  for (const path of new Set([...first.keys(), ...second.keys()])) {
    const a = first.get(path), b = second.get(path);
    if (a === b) continue;
    const change = typeof a === "number" && typeof b === "number" && a !== 0 ? 100 * (b - a) / Math.abs(a) : null;
    rows.push({path, first: a, second: b, change});
  }
  return rows;
}

// The least and the most that differ in few words, at the top: of these figures, if they differ.
const FIRST_PATHS = ["sim_time_ps", "critical_path.kernel_ps", "critical_path.end_ps",
  "critical_path.alloc_and_map_pct"];

function differenceRow(row) {
  const key = row.path.split(".").pop();
  const text = (value) => value === undefined ? "\u2013" : figureWords(key, value);
  const cell = element("td", {}, row.change === null ? "" : (row.change > 0 ? "+" : "") + digits(row.change, 2) + " %");
  if (row.change !== null && isTime(key)) cell.classList.add(row.change > 0 ? "worse" : "better");
  const line = element("tr", {}, element("td", {class: "text"}, row.path), element("td", {}, text(row.first)),
    element("td", {}, text(row.second)), cell);
  if (FIRST_PATHS.includes(row.path)) line.className = "changed";
  return line;
}

const DIFFERENCES_SHOWN = 500;

function showDifferences(parent, runs) {
  const rows = differencesOf(runs[0].report, runs[1].report);
  const size = (row) => FIRST_PATHS.includes(row.path) ? Infinity : row.path.startsWith("config.") ? 1e300 :
    row.change === null ? 0 : Math.abs(row.change);
  rows.sort((a, b) => size(b) - size(a) || a.path.localeCompare(b.path));
  window.tlmalloc.views.differences = {count: rows.length, rows: rows.slice(0, DIFFERENCES_SHOWN)};
  parent.hidden = false;
  if (rows.length === 0) {
    parent.append(element("p", {}, "No differences: both reports have the same figures."));
    return;
  }
  const filter = element("input", {type: "search", placeholder: "part of a key", "aria-label": "Part of a key"});
  const body = element("tbody"), note = element("p", {class: "note"});
  const fill = () => {
    const chosen = rows.filter((row) => row.path.includes(filter.value));
    body.replaceChildren(...chosen.slice(0, DIFFERENCES_SHOWN).map(differenceRow));
    note.textContent = chosen.length > DIFFERENCES_SHOWN ?
      "The " + DIFFERENCES_SHOWN + " largest differences of " + chosen.length + "." :
      chosen.length + " figures differ.";
    window.tlmalloc.views.differences.shown = Math.min(chosen.length, DIFFERENCES_SHOWN);
  };
  filter.addEventListener("input", fill);
  const head = ["", nameOf(runs[0]), nameOf(runs[1]), "change"];
  parent.append(element("p", {}, filter), element("div", {class: "table", tabindex: "0"}, element("table", {},
    element("thead", {}, element("tr", {}, ...head.map((text) => element("th", {scope: "col"}, text)))), body)), note);
  fill();
}
