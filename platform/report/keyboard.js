"use strict";
// Keys: arrows pan and move the slider, + and - zoom, 0 shows all of the time, k that of the kernels.
// Tab goes from view to view by itself.

const KEYS = {
  ArrowLeft: (shift) => shift ? stepSlider(-1 / 200) : timeAxis.pan(-0.1),
  ArrowRight: (shift) => shift ? stepSlider(1 / 200) : timeAxis.pan(0.1),
  "+": () => timeAxis.zoomBy(1.5),
  "=": () => timeAxis.zoomBy(1.5),
  "-": () => timeAxis.zoomBy(1 / 1.5),
  ArrowUp: () => memoryShown.pan(0.1),
  ArrowDown: () => memoryShown.pan(-0.1),
  0: () => timeAxis.showAll(),
  k: () => timeAxis.showKernels(),
};

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const key = KEYS[event.key];
    // Up and down scroll the page, but in a view of a memory.
    if (event.key === "ArrowUp" || event.key === "ArrowDown") if (!event.target.closest("#memory .timed")) return;
    if (!key || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select")) return;
    key(event.shiftKey && event.key.startsWith("Arrow"));
    event.preventDefault();
  });
}
