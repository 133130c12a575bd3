"use strict";
// Views on canvas: drawn when something has changed, at most once a frame; and what the pointer is over.

const LEFT = 150, RIGHT = 14; // of a view, beside its time, CSS pixels

const redraws = new Set();
let redrawAsked = false;

function redraw(view) {
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

// A canvas below a heading. `of.height()` is its height; `of.paint(context, width, height)` draws, in CSS pixels;
// `of.find(x, y)` says what is there, {text, ...}, or null.
class View {
  constructor(parent, label, of) {
    this.of = of;
    this.canvas = element("canvas", {tabindex: "0", role: "img", "aria-label": label});
    this.panel = element("div", {class: "panel"}, this.canvas);
    parent.append(this.panel);
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => showHover(null));
    new ResizeObserver(() => redraw(this)).observe(this.panel);
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
  constructor(context, x, y, width, height) {
    this.dense = context.canvas.width / context.canvas.clientWidth || 1;
    this.context = context;
    this.x = Math.round(x * this.dense);
    this.y = Math.round(y * this.dense);
    this.width = Math.max(1, Math.round(width * this.dense));
    this.height = Math.max(1, Math.round(height * this.dense));
    this.image = context.createImageData(this.width, this.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  // From pixel to pixel, device pixels within the raster; at least one, so that nothing is lost.
  fill(x0, x1, y0, y1, pixel) {
    x0 = Math.floor(x0);
    y0 = Math.floor(y0);
    const left = Math.max(0, x0), right = Math.min(this.width, Math.max(x0 + 1, Math.floor(x1)));
    const top = Math.max(0, y0), bottom = Math.min(this.height, Math.max(y0 + 1, Math.floor(y1)));
    if (left >= right) return;
    for (let y = top; y < bottom; y++) this.pixels.fill(pixel, y * this.width + left, y * this.width + right);
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
  box.textContent = found.text;
  const width = box.offsetWidth, height = box.offsetHeight;
  box.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - width - 4)) + "px";
  box.style.top = Math.max(4, y + 16 + height > window.innerHeight ? y - height - 10 : y + 16) + "px";
}

// A text that ends before `width`.
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText("\u2026" + text.slice(-length)).width > width) length--;
  return "\u2026" + text.slice(-length);
}
