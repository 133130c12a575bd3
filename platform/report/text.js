"use strict";
// Elements, and numbers as text. What reports say goes into the page as text only, never as markup.

// Without what would steer the text behind it: control characters, and those that turn the direction of writing.
function plainText(text) {
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0"));
}

// As much of a text as is told beside other things.
function clippedText(text) {
  return text.length > 120 ? text.slice(0, 119) + "\u2026" : text;
}

// An element with attributes and children, which are elements or texts.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  for (const child of children) made.append(typeof child === "string" ? plainText(child) : child);
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

// A size in an answer: with all of its bytes where the short text is not exact.
function exactBytesText(bytes) {
  const unit = 1024 ** Math.min(5, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return bytesText(bytes) + (bytes / unit * 100 % 1 === 0 ? "" : " (" + bytes + " B)");
}

// From the least to the most, which may be too close to each other to be told apart by their sizes.
function bytesRangeText(least, most) {
  if (least === most) return bytesText(most);
  if (most - least > most / 100) return bytesText(least) + " to " + bytesText(most);
  return bytesText(most) + ", " + bytesText(most - least) + " less";
}

function energyText(fj) {
  const units = ["fJ", "pJ", "nJ", "\u00b5J", "mJ", "J"];
  let unit = 0;
  while (fj >= 1000 && unit + 1 < units.length) {
    fj /= 1000;
    unit++;
  }
  return digits(fj, 3) + " " + units[unit];
}

function addressText(address) {
  return "0x" + address.toString(16);
}

// Of a figure by its key: times stand in microseconds, to the picosecond, and all other numbers as they are.
function isTime(key) {
  return key === "ps" || key.endsWith("_ps");
}

function figureTitle(key) {
  const words = (isTime(key) ? key.slice(0, -3) || "time" : key).replaceAll("_", " ");
  return isTime(key) ? words + ", \u00b5s" : words;
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
  if (key.endsWith("_fj")) return energyText(value);
  if (key.endsWith("_pct")) return digits(value, 2) + " %";
  if (!Number.isInteger(value)) return String(Number(value.toPrecision(5)));
  return figureText(key, value);
}

// The last parts of a path, which tell two files apart.
function shortPath(path) {
  return path.split("/").slice(-2).join("/");
}
