"use strict";
// Only in pages of `run --watch`: asks a script beside the page which run is the last one. A page that was opened as a
// file may load a script, but may not fetch. A new run loads the page again; what was shown stays shown. After the end
// of a watch the page looks for the next one.

const WATCH = {page: /*PAGE*/0, script: /*SCRIPT*/"", watch: /*WATCH*/"", asked: 0, missed: 0, pause: 100};
const WATCH_PAUSE_MS = 100, WATCH_ENDED_PAUSE_MS = 1000, WATCH_MISSED_MAX = 20;

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

function showEnded() {
  WATCH.pause = WATCH_ENDED_PAUSE_MS;
  showWatched("The watch has ended.", "");
}

// Called by the script beside the page.
function tlmallocWatched(now) {
  WATCH.missed = 0;
  window.tlmalloc = window.tlmalloc || {};
  window.tlmalloc.watched = now;
  if (now.watch !== WATCH.watch || now.page > WATCH.page) {
    keepShown();
    location.reload();
    return;
  }
  WATCH.pause = WATCH_PAUSE_MS;
  // A page 0 may be one of before this watch.
  const hasRun = document.getElementById("tlmalloc-data") !== null, isEarlier = hasRun && !WATCH.page;
  if (now.state === "ended") showEnded();
  else if (now.state === "failed") showWatched("The last run failed" +
    (isEarlier ? "; the page shows an earlier run:" : hasRun ? "; the page shows the run before it:" : ":"), now.message);
  else if (now.state === "running") showWatched("Running ..." + (isEarlier ? " The page shows an earlier run." : ""), "");
  else showWatched("", "");
}

function askWatched() {
  const script = document.createElement("script");
  const next = () => {
    script.remove();
    setTimeout(askWatched, WATCH.pause);
  };
  script.onload = next;
  script.onerror = () => {
    if (++WATCH.missed === WATCH_MISSED_MAX) showEnded();
    next();
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
