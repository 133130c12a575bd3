"use strict";
// Only in pages of `run --watch`: asks a script beside the page which run is the last one. A page that was opened as a
// file may load a script, but may not fetch. A new run loads the page again; what was shown stays shown.

const WATCH = {page: /*PAGE*/0, script: /*SCRIPT*/"", asked: 0, missed: 0};
const WATCH_PAUSE_MS = 100, WATCH_MISSED_MAX = 20;

function showWatched(text, message) {
  let box = document.getElementById("watch");
  if (!box) {
    box = document.createElement("div");
    box.id = "watch";
    box.setAttribute("role", "status");
    document.body.prepend(box);
  }
  const words = [document.createElement("p"), document.createElement("pre")];
  words[0].textContent = text;
  words[0].className = message ? "failed" : "hint";
  words[1].textContent = message;
  if (message) words[1].style.cssText = "white-space: pre-wrap; overflow-wrap: anywhere;";
  box.replaceChildren(...(message ? words : words.slice(0, 1)));
  box.hidden = !text;
}

// What is shown, in the window's name: it outlives the page, also of a file.
function keepShown() {
  const state = {watch: WATCH.script, scroll: window.scrollY};
  if (typeof timeAxis !== "undefined" && window.tlmalloc && window.tlmalloc.domain) {
    const [begin, end] = timeAxis.scale.domain(), whole = document.getElementById("whole");
    if (begin > 0 || end < timeAxis.end) state.domain = [begin, end];
    state.slider = window.tlmalloc.slider;
    state.whole = whole.checked;
    const name = document.getElementById("memory-name");
    if (name) Object.assign(state, {memory: name.value, low: memoryShown.low, high: memoryShown.high,
      span: memoryShown.axis.length});
    state.open = [...document.querySelectorAll("details")].map((box) => box.open);
  }
  window.name = JSON.stringify(state);
}

function showKept() {
  let state = null;
  try {
    state = JSON.parse(window.name);
  } catch (problem) {
    return; // a name that is not ours
  }
  if (!state || state.watch !== WATCH.script) return;
  window.name = "";
  if (typeof timeAxis !== "undefined" && window.tlmalloc.domain && state.slider !== undefined) {
    const name = document.getElementById("memory-name");
    if (name && [...name.options].some((option) => option.value === state.memory)) {
      name.value = state.memory;
      memoryShown.choose(state.memory);
      if (state.low > 0 || state.high < state.span) memoryShown.show(state.low, state.high);
    }
    if (state.domain && state.domain[0] < timeAxis.end) timeAxis.show(...state.domain);
    timeAxis.slide(state.slider);
    document.getElementById("whole").checked = state.whole;
    const boxes = document.querySelectorAll("details");
    if (state.open && state.open.length === boxes.length) state.open.forEach((open, i) => { boxes[i].open = open; });
  }
  window.scrollTo(0, state.scroll);
}

// Called by the script beside the page.
function tlmallocWatched(now) {
  WATCH.missed = 0;
  window.tlmalloc = window.tlmalloc || {};
  window.tlmalloc.watched = now;
  if (now.state === "ended") return showWatched("The watch has ended.", "");
  if (now.page > WATCH.page) {
    keepShown();
    location.reload();
    return undefined;
  }
  if (now.state === "failed") showWatched("The last run failed" + (WATCH.page ? "; the page shows the run before it:" : ":"),
    now.message);
  else showWatched(now.state === "running" ? "Running ..." : "", "");
  setTimeout(askWatched, WATCH_PAUSE_MS);
  return undefined;
}

function askWatched() {
  const script = document.createElement("script");
  script.onload = () => script.remove();
  script.onerror = () => {
    script.remove();
    if (++WATCH.missed < WATCH_MISSED_MAX) setTimeout(askWatched, WATCH_PAUSE_MS);
    else showWatched("The watch has ended.", "");
  };
  script.src = WATCH.script + "?" + WATCH.asked++;
  document.head.append(script);
}

function beginWatch() {
  if (window.tlmalloc && window.tlmalloc.ready === false) {
    setTimeout(beginWatch, 20);
    return;
  }
  showKept();
  askWatched();
}

beginWatch();
