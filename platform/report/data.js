"use strict";
// What the page shows, as the command put it into it; and the page's state, for whoever drives it (README.md).

const PAGE = JSON.parse(document.getElementById("tlmalloc-data").textContent);

window.tlmalloc = {
  ready: false,     // everything is drawn
  runs: PAGE.runs.length,
  domain: null,     // the time that is shown, ps: [begin, end]
  slider: 0,        // ps
  addresses: null,  // that the views of memories show: [low, high]
  hover: null,      // what is under the pointer: an object with the text that is shown
  draws: 0,         // of views, since the page was opened
  views: {},        // by name, what each shows
  errors: [],       // what went wrong
};

window.addEventListener("error", (event) => window.tlmalloc.errors.push(String(event.message)));

// The name of a run: its file.
function nameOf(run) {
  return shortPath(run.file);
}

// Every number and text below a value by its path: {"critical_path.end_ps": 5682000, ...}; lists by their rows' names.
function flatten(value, path, into) {
  if (Array.isArray(value)) {
    value.forEach((row, number) => {
      const name = row && typeof row === "object" ? rowName(row) : null;
      flatten(row, path + "[" + (name === null ? number : name) + "]", into);
    });
  } else if (value !== null && typeof value === "object") {
    for (const [key, part] of Object.entries(value)) flatten(part, path ? path + "." + key : key, into);
  } else {
    into.set(path, value);
  }
  return into;
}

// What tells a row from the others of its list.
function rowName(row) {
  if (row.from !== undefined && row.to !== undefined) return row.from + " -> " + row.to;
  for (const key of ["pe", "label", "policy", "topic", "case", "check", "factor", "where", "method"])
    if (typeof row[key] === "string") return row[key];
  if (typeof row.kind === "string") return row.place ? row.kind + " " + row.place : row.kind;
  if (typeof row.name === "string") return row.channel ? row.name + " " + row.channel : row.name;
  return null;
}
