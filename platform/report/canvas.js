"use strict";
// Views on canvas: drawn when something has changed and they can be seen, at most once a frame; and what the pointer is
// over.

const LEFT = 150, RIGHT = 14; // of a view, beside its time, CSS pixels

const allViews = [], redraws = new Set(), unseen = new Set();
let redrawAsked = false;

// What is asked for before the first frame is drawn is drawn in it.
function redraw(view) {
  if (!view.isSeen) {
    unseen.add(view);
    return;
  }
  redraws.add(view);
  if (redrawAsked) return;
  redrawAsked = true;
  requestAnimationFrame(() => {
    redrawAsked = false;
    const now = [...redraws];
    redraws.clear();
    for (const each of now) each.draw();
    window.tlmalloc.draws++;
  });
}

// Does something once, when an element is about to be seen, or printed.
const waiting = new Map();
const watcher = new IntersectionObserver((changes) => {
  for (const {target, isIntersecting} of changes) {
    if (target.view) target.view.seen(isIntersecting);
    else if (isIntersecting) doNow(target);
  }
});

function whenSeen(target, action) {
  waiting.set(target, action);
  watcher.observe(target);
}

function doNow(target) {
  const action = waiting.get(target);
  waiting.delete(target);
  watcher.unobserve(target);
  if (action) action();
}

// The colours of the page have become others.
function changeLooks(asks) {
  styleColours.clear();
  colourSamples();
  for (const view of allViews) asks(view);
}

// All of it is printed, what has not been seen too, in the colours of paper.
function preparePaper(isNow) {
  isPaper = isNow;
  document.documentElement.classList.toggle("paper", isNow);
  if (isNow) for (const target of [...waiting.keys()]) doNow(target);
  changeLooks(isNow ? (view) => view.draw() : redraw);
  if (isNow) unseen.clear();
}

window.addEventListener("beforeprint", () => preparePaper(true));
window.addEventListener("afterprint", () => preparePaper(false));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changeLooks(redraw));

// A canvas below a heading. `of.height()` is its height; `of.paint(context, width, height)` draws, in CSS pixels;
// `of.find(x, y)` says what is there, {text, ...}, or null.
class View {
  constructor(parent, label, of) {
    this.of = of;
    this.canvas = element("canvas", {tabindex: "0", role: "img", "aria-label": label});
    this.panel = element("div", {class: "panel"}, this.canvas);
    this.canvas.style.height = of.height() + "px"; // at once: what is drawn later moves nothing
    parent.append(this.panel);
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => showHover(null));
    this.isSeen = false;
    this.panel.view = this;
    allViews.push(this);
    unseen.add(this);
    watcher.observe(this.panel);
    new ResizeObserver(() => redraw(this)).observe(this.panel);
  }

  seen(isSeen) {
    this.isSeen = isSeen;
    if (isSeen && unseen.delete(this)) redraw(this);
  }

  draw() {
    const width = this.panel.clientWidth, height = this.of.height(), dense = window.devicePixelRatio || 1;
    if (width < 1) return;
    const columns = Math.round(width * dense), rows = Math.round(height * dense);
    if (this.canvas.width !== columns || this.canvas.height !== rows) {
      this.canvas.width = columns;
      this.canvas.height = rows;
      this.canvas.style.height = height + "px";
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, columns, rows);
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.font = "11px system-ui, sans-serif";
    this.of.paint(context, width, height);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const found = this.of.find(event.clientX - box.left, event.clientY - box.top);
    showHover(found, event.clientX, event.clientY);
  }
}

// Pixels to fill one by one, of a part of a canvas, for more marks than a canvas draws in a frame.
class Raster {
  // Of the colour of the ground, or clear.
  constructor(context, x, y, width, height, ground) {
    this.dense = context.canvas.width / context.canvas.clientWidth || 1;
    this.context = context;
    this.x = Math.round(x * this.dense);
    this.y = Math.round(y * this.dense);
    this.width = Math.max(1, Math.round(width * this.dense));
    this.height = Math.max(1, Math.round(height * this.dense));
    // A large image costs more to make than to fill: each canvas keeps its own.
    const kept = context.canvas.kept;
    const isKept = kept && kept.width === this.width && kept.height === this.height;
    this.image = context.canvas.kept = isKept ? kept : context.createImageData(this.width, this.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.pixels.fill(ground ? pixelOf(ground) : 0);
  }

  // From pixel to pixel, device pixels within the raster; at least one, so that nothing is lost.
  fill(x0, x1, y0, y1, pixel) {
    x0 = Math.floor(x0);
    y0 = Math.floor(y0);
    const left = Math.max(0, x0), right = Math.min(this.width, Math.max(x0 + 1, Math.floor(x1)));
    const top = Math.max(0, y0), bottom = Math.min(this.height, Math.max(y0 + 1, Math.floor(y1)));
    if (left >= right) return;
    if (right - left > 16) {
      for (let y = top; y < bottom; y++) this.pixels.fill(pixel, y * this.width + left, y * this.width + right);
    } else { // for a few pixels a call costs more than they do
      const pixels = this.pixels;
      for (let y = top; y < bottom; y++)
        for (let at = y * this.width + left, end = y * this.width + right; at < end; at++) pixels[at] = pixel;
    }
  }

  // One pixel wide.
  column(x, y0, y1, pixel) {
    if (x < 0 || x >= this.width) return;
    const bottom = Math.min(this.height, Math.max(Math.floor(y0) + 1, Math.floor(y1)));
    const pixels = this.pixels;
    for (let at = Math.floor(y0) * this.width + x; at < bottom * this.width; at += this.width) pixels[at] = pixel;
  }

  show() {
    this.context.putImageData(this.image, this.x, this.y);
  }
}

function showHover(found, x, y) {
  const box = document.getElementById("hover");
  window.tlmalloc.hover = found;
  box.hidden = !found;
  if (!found) return;
  box.textContent = plainText(found.text);
  const width = box.offsetWidth, height = box.offsetHeight;
  box.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - width - 4)) + "px";
  box.style.top = Math.max(4, y + 16 + height > window.innerHeight ? y - height - 10 : y + 16) + "px";
}

// Names of rows, left of them, as many as there is room for. `middle`: where a row is.
function paintNames(context, names, middle) {
  context.textBaseline = "middle";
  context.fillStyle = styleColour("text");
  let before = -Infinity;
  names.forEach((name, row) => {
    const y = Math.max(6, middle(row));
    if (y < before + 11) return;
    context.fillText(fitText(context, name, LEFT - 8), 0, y);
    before = y;
  });
}

// A text that ends before `width`.
function fitText(context, text, width) {
  text = plainText(text);
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText("\u2026" + text.slice(-length)).width > width) length--;
  return "\u2026" + text.slice(-length);
}
