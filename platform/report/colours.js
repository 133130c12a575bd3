"use strict";
// Colours that colour-blind people tell apart: Okabe and Ito's, for kinds; a scale of lightness, for loads.

// What the time of kernels is told apart by, of the kinds of the report (platform/run/README.md).
const GROUPS = [
  {name: "allocator", colour: "#d55e00", kinds: ["alloc", "alloc_queue", "host_alloc"]},
  {name: "mapping", colour: "#cc79a7", kinds: ["host_map", "lookup", "move"]},
  {name: "walk, fault", colour: "#f0e442", kinds: ["walk", "fault"]},
  {name: "links, copies", colour: "#56b4e9", kinds: ["issue", "link", "host_copy"]},
  {name: "memory", colour: "#0072b2", kinds: ["bank", "tcm"]},
  {name: "arithmetic", colour: "#009e73", kinds: ["arithmetic", "tile"]},
  {name: "message", colour: "#e69f00", kinds: ["message", "message_wait", "message_credit"]},
  {name: "other", colour: "#999999", kinds: ["other", "dispatch", "engine_queue", "host_command", "host_launch"]},
];

const GROUP_OF_KIND = new Map();
GROUPS.forEach((group, number) => group.kinds.forEach((kind) => GROUP_OF_KIND.set(kind, number)));

function groupOf(kind) {
  return GROUP_OF_KIND.has(kind) ? GROUP_OF_KIND.get(kind) : GROUPS.length - 1;
}

// Paper is light, whatever the system is.
let isPaper = false;

function isDark() {
  return !isPaper && window.matchMedia("(prefers-color-scheme: dark)").matches;
}

// A colour of the style sheet. Kept, since to ask is slow, until the system's looks change.
const styleColours = new Map();

function styleColour(name) {
  if (!styleColours.has(name))
    styleColours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return styleColours.get(name);
}

// From little to much, after "cividis": away from the colour of the ground, so that much stands out on either, and
// little still does.
const LOADS_ON_LIGHT = ["#fee838", "#d0be67", "#9b9476", "#6b6d75", "#3b496c", "#00224e"];
const LOADS_ON_DARK = ["#3d5a9e", "#66739a", "#8c8c8a", "#b3a86f", "#d9c858", "#fee838"];

function loadColour(share) {
  const colours = isDark() ? LOADS_ON_DARK : LOADS_ON_LIGHT;
  return colours[Math.round(Math.max(0, Math.min(1, share)) * (colours.length - 1))];
}

// Samples of loads in legends, which are as the looks are now.
function colourSamples() {
  for (const sample of document.querySelectorAll("i[data-load]"))
    sample.style.background = loadColour(Number(sample.dataset.load));
}

// "#rrggbb" as a pixel of ImageData.
function pixelOf(colour) {
  const value = parseInt(colour.slice(1), 16);
  return (0xff000000 | (value & 0xff) << 16 | value & 0xff00 | value >> 16) >>> 0;
}

function fillLegend() {
  const legend = document.getElementById("legend");
  for (const group of GROUPS) {
    const sample = element("i");
    sample.style.background = group.colour;
    legend.append(element("span", {title: group.kinds.join(", ")}, sample, group.name));
  }
  legend.append(element("span", {}, element("b", {}, "\u2015 "), "critical path"));
}
