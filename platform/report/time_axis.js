"use strict";
// One time axis for all views and both runs: what is shown of it, zoom and pan, the slider.

const timeAxis = {
  scale: d3.scale.linear(), // ps to CSS pixels of a view
  end: 1,                   // of the longer run, ps
  kernels: [],              // times of kernels, [begin, end]: of all runs, of the first, of the second
  views: [],                // that are drawn by it
  atSlider: [],             // that show the time of the slider
  hasLoads: false,          // whether loads of links are known over time
  zoom: null,
  container: null,

  // Begins when all views are there.
  begin(end, kernels) {
    this.end = Math.max(1, end);
    this.kernels = kernels;
    this.container = document.getElementById("timed");
    this.scale.domain([0, this.end]);
    this.zoom = d3.behavior.zoom().on("zoom", () => this.moved());
    const box = d3.select(this.container);
    // The wheel scrolls the page; with Ctrl it zooms, with Shift addresses. What is no view does not drag.
    this.container.addEventListener("wheel", (event) => {
      const isOurs = event.ctrlKey && event.target.closest(".timed") ||
        event.shiftKey && event.target.closest("#memory .timed");
      if (!isOurs) event.stopImmediatePropagation();
    }, {capture: true, passive: true});
    for (const name of ["mousedown", "touchstart", "dblclick"])
      this.container.addEventListener(name, (event) => {
        if (!event.target.closest(".timed")) event.stopImmediatePropagation();
      }, {capture: true, passive: true});
    box.call(this.zoom);
    document.getElementById("whole").addEventListener("change", () => this.atSlider.forEach((view) => redraw(view)));
    new ResizeObserver(() => this.resize()).observe(this.container);
    this.resize();
    document.getElementById("reset").addEventListener("click", () => this.showAll());
    document.getElementById("kernel-time").addEventListener("click", () => this.showKernels());
    const slider = document.getElementById("slider");
    slider.addEventListener("input", () => this.slide(slider.value / 10000 * this.end));
    this.slide(0);
    document.getElementById("whole").checked = true; // until the slider is moved
  },

  resize() {
    const [begin, end] = this.scale.domain();
    this.scale.range([LEFT, Math.max(LEFT + 50, this.container.clientWidth - RIGHT)]);
    this.show(begin, end);
  },

  // Shows the time from begin to end, as much of it as there is.
  show(begin, end) {
    const least = Math.min(10, this.end);
    const length = Math.min(this.end, Math.max(least, end - begin));
    begin = Math.max(0, Math.min(this.end - length, begin));
    this.scale.domain([begin, begin + length]);
    this.zoom.x(this.scale).scaleExtent([length / this.end, length / least]);
    this.changed();
  },

  showAll() {
    memoryShown.reset();
    this.show(0, this.end);
  },

  // The time of all kernels; of two runs then that of the first one's, of the second one's, and again.
  showKernels() {
    const [begin, end] = this.scale.domain();
    const shown = this.kernels.findIndex(([from, to]) => Math.abs(from - begin) < 1 && Math.abs(to - end) < 1);
    if (this.kernels.length > 0) this.show(...this.kernels[(shown + 1) % this.kernels.length]);
  },

  // By pointer or wheel: keeps what is shown within the run.
  moved() {
    const [begin, end] = this.scale.domain();
    if (begin < 0 || end > this.end) this.show(begin, end);
    else this.changed();
  },

  changed() {
    window.tlmalloc.domain = this.scale.domain();
    showHover(null); // something else is under the pointer now
    for (const view of this.views) redraw(view);
  },

  // By a part of what is shown: 0.1 to the right.
  pan(part) {
    const [begin, end] = this.scale.domain(), by = (end - begin) * part;
    this.show(Math.max(0, Math.min(this.end - (end - begin), begin + by)), Math.min(this.end, end + by));
  },

  // Around the middle.
  zoomBy(factor) {
    const [begin, end] = this.scale.domain(), middle = (begin + end) / 2, half = (end - begin) / 2 / factor;
    this.show(middle - half, middle + half);
  },

  // The mark; the platform shows that time from now on, if it can.
  slide(ps) {
    if (this.hasLoads) document.getElementById("whole").checked = false;
    ps = Math.max(0, Math.min(this.end, ps));
    window.tlmalloc.slider = ps;
    document.getElementById("slider").value = Math.round(ps / this.end * 10000);
    document.getElementById("slider-time").textContent = timeText(ps);
    for (const view of [...this.views, ...this.atSlider]) redraw(view);
  },
};

// Moves the mark by a part of the time that is shown, from where that begins or ends if the mark is not in it.
function stepSlider(part) {
  const [begin, end] = timeAxis.scale.domain(), at = Math.max(begin, Math.min(end, window.tlmalloc.slider));
  timeAxis.slide(at + (end - begin) * part);
}

// A view whose x is time, with an axis below it.
class TimeView extends View {
  constructor(parent, label, of, hasAxis = true) {
    super(parent, label, of);
    this.panel.classList.add("timed");
    this.axis = hasAxis && d3.select(this.panel).append("svg").attr("aria-hidden", "true").append("g");
    timeAxis.views.push(this);
  }

  draw() {
    super.draw();
    if (this.axis) this.drawAxis();
    const x = timeAxis.scale(window.tlmalloc.slider);
    if (x < LEFT || x > timeAxis.scale.range()[1]) return;
    const context = this.canvas.getContext("2d");
    context.strokeStyle = styleColour("mark");
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, this.of.height());
    context.stroke();
    context.setLineDash([]);
  }

  // On paper it is scaled as the canvas is.
  drawAxis() {
    const [left, right] = timeAxis.scale.range(), ticks = Math.max(2, Math.min(8, Math.floor((right - left) / 90)));
    const box = "0 0 " + (right + RIGHT) + " 22", svg = this.axis.node().ownerSVGElement;
    if (svg.getAttribute("viewBox") !== box) svg.setAttribute("viewBox", box);
    this.axis.call(d3.svg.axis().scale(timeAxis.scale).orient("bottom").ticks(ticks).tickFormat(timeText));
  }
}
