"use strict";
// Elements, and numbers as text. What reports say goes into the page as text only, never as markup.

// An element with attributes and children, which are elements or texts.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  for (const child of children) made.append(child);
  return made;
}

// As many digits as are right, without zeros behind them.
function digits(value, most) {
  return String(Number(value.toFixed(most)));
}

function timeText(ps) {
  const size = Math.abs(ps);
  if (size < 1e3) return digits(ps, 3) + " ps";
  if (size < 1e6) return digits(ps / 1e3, 3) + " ns";
  if (size < 1e9) return digits(ps / 1e6, 3) + " \u00b5s";
  if (size < 1e12) return digits(ps / 1e9, 3) + " ms";
  return digits(ps / 1e12, 3) + " s";
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    unit++;
  }
  return digits(bytes, 2) + " " + units[unit];
}

function addressText(address) {
  return "0x" + address.toString(16);
}

// Of a figure by its key: times stand in microseconds, to the picosecond, and all other numbers as they are.
function isTime(key) {
  return key.endsWith("_ps");
}

function figureTitle(key) {
  return isTime(key) ? key.slice(0, -3).replaceAll("_", " ") + ", \u00b5s" : key.replaceAll("_", " ");
}

function figureText(key, value) {
  if (typeof value === "number" && isTime(key)) return digits(value / 1e6, 6);
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(10)));
  if (value !== null && typeof value === "object") return JSON.stringify(value);
  return String(value);
}

// A figure for people who look at it: with its unit.
function figureWords(key, value) {
  if (typeof value !== "number") return figureText(key, value);
  if (isTime(key)) return timeText(value);
  if (key.endsWith("bytes")) return bytesText(value);
  if (key.endsWith("_pct")) return digits(value, 2) + " %";
  if (!Number.isInteger(value)) return String(Number(value.toPrecision(5)));
  return figureText(key, value);
}

// The last parts of a path, which tell two files apart.
function shortPath(path) {
  return path.split("/").slice(-2).join("/");
}
