"use strict";
// Every list of a report as a table, to be sorted by any column, and every group of figures beside it.

const TABLE_ROWS = 2000; // that are shown; the rest is said to be there

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function isListOfRows(value) {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

// A row with the figures of groups in it as columns of its own; without lists of rows in it, which are other tables.
function flatRow(row) {
  const flat = {};
  for (const [key, value] of Object.entries(row)) {
    if (isObject(value))
      for (const [name, part] of Object.entries(flatRow(value))) flat[key + "." + name] = part;
    else if (!isListOfRows(value))
      flat[key] = Array.isArray(value) ? JSON.stringify(value) : value;
  }
  return flat;
}

// The lists of rows that stand in rows, by their keys: all of a key together, each row with what it is of.
function listsWithin(rows) {
  const lists = new Map();
  rows.forEach((row, number) => {
    for (const [key, value] of Object.entries(row).filter(([, each]) => isListOfRows(each))) {
      if (!lists.has(key)) lists.set(key, []);
      const of = rowName(row);
      for (const part of value) lists.get(key).push({of: of === null ? String(number) : of, ...part});
    }
  });
  return lists;
}

// The columns of rows: keys of all of them, in the order in which they come first.
function columnsOf(rows) {
  const keys = new Set();
  for (const row of rows) for (const key of Object.keys(row)) keys.add(key);
  return [...keys];
}

function fillRows(body, rows, columns) {
  body.replaceChildren();
  for (const row of rows.slice(0, TABLE_ROWS)) {
    const line = element("tr");
    for (const key of columns) {
      const value = row[key], isText = typeof value !== "number";
      const cell = element("td", isText ? {class: "text"} : {}, value === undefined ? "" : figureText(key, value));
      if (!isText && (isTime(key) || key.endsWith("bytes"))) cell.title = figureWords(key, value);
      else if (cell.textContent.length > 60) cell.title = cell.textContent; // what has no room is left out
      line.append(cell);
    }
    body.append(line);
  }
}

function compareValues(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, {numeric: true});
}

function tableOf(path, rows) {
  const columns = columnsOf(rows), body = element("tbody"), head = element("tr");
  let sorted = null, direction = 1;
  for (const key of columns) {
    const button = element("button", {type: "button"}, figureTitle(key));
    button.addEventListener("click", () => {
      direction = sorted === key ? -direction : -1;
      sorted = key;
      fillRows(body, [...rows].sort((a, b) => direction * compareValues(a[key], b[key])), columns);
    });
    const isText = typeof rows[0][key] !== "number";
    head.append(element("th", isText ? {scope: "col", class: "text"} : {scope: "col"}, button));
  }
  fillRows(body, rows, columns);
  const box = element("div", {class: "table", "data-path": path, tabindex: "0"},
    element("table", {}, element("thead", {}, head), body));
  if (rows.length > TABLE_ROWS)
    box.append(element("p", {class: "note"}, "The first " + TABLE_ROWS + " of " + rows.length + " rows."));
  return box;
}

function isFlat(value) {
  return isObject(value) && Object.values(value).every((part) => typeof part === "number");
}

// A table for each list and for each group below a value, one for groups of figures that stand together. Filled when
// it is opened, so that the page opens quickly.
function showTables(parent, value, path) {
  const singles = {};
  for (const [key, part] of Object.entries(value)) {
    const below = path ? path + "." + key : key;
    if (below === "config" && PAGE.defaults) continue;
    if (isListOfRows(part))
      showList(parent, below, part);
    else if (isObject(part) && Object.values(part).length > 1 && Object.values(part).every(isFlat))
      showTable(parent, below, Object.entries(part).map(([name, group]) => ({of: name, ...group})));
    else if (isObject(part))
      showTables(parent, part, below);
    else
      singles[key] = part;
  }
  if (Object.keys(singles).length > 0) showTable(parent, path || "report", [singles]);
}

// A list, and behind it what its rows have lists of.
function showList(parent, path, rows) {
  showTable(parent, path, rows.map(flatRow));
  for (const [key, within] of listsWithin(rows)) showList(parent, path + "." + key, within);
}

function showTable(parent, path, rows) {
  const summary = element("summary", {}, path + (rows.length > 1 ? " (" + rows.length + ")" : ""));
  const box = element("details", {"data-path": path}, summary);
  box.addEventListener("toggle", () => {
    if (box.open && box.children.length === 1) box.append(tableOf(path, rows));
  });
  parent.append(box);
}
