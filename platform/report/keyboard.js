"use strict";
// Keys: arrows pan and move the slider, + and - zoom, 0 shows all of the time, k that of the kernels.
// Tab goes from view to view by itself.

const KEYS = {
  ArrowLeft: (shift) => shift ? timeAxis.slide(window.tlmalloc.slider - timeAxis.end / 200) : timeAxis.pan(-0.1),
  ArrowRight: (shift) => shift ? timeAxis.slide(window.tlmalloc.slider + timeAxis.end / 200) : timeAxis.pan(0.1),
  "+": () => timeAxis.zoomBy(1.5),
  "=": () => timeAxis.zoomBy(1.5),
  "-": () => timeAxis.zoomBy(1 / 1.5),
  0: () => timeAxis.show(0, timeAxis.end),
  k: () => timeAxis.show(...timeAxis.kernels),
};

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    const key = KEYS[event.key];
    if (!key || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select")) return;
    key(event.shiftKey && event.key.startsWith("Arrow"));
    event.preventDefault();
  });
}
