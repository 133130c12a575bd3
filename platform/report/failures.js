"use strict";
// Requests that memories refused, and why.

const FAILURES_SHOWN = 500;

function showFailures(parent, run, number) {
  const log = run.log, ok = log.textNumber("TLA_OK"), t = log.table("memory"), rows = [];
  for (let row = 0; row < log.rows("memory"); row++) if (t.status[row] !== ok) rows.push(row);
  window.tlmalloc.views["failures" + number] = {count: rows.length};
  if (rows.length === 0) return;
  const body = element("tbody");
  for (const row of orderBy(t.done, rows).slice(0, FAILURES_SHOWN))
    body.append(element("tr", {}, element("td", {}, timeText(t.done[row])),
      element("td", {class: "text"}, log.module(t.module[row]) + " " + log.text(t.channel[row])),
      element("td", {class: "text"}, log.sender(t.sender[row])),
      element("td", {class: "text"}, failureWords(log, row))));
  const head = ["time", "memory", "requested by", "reason"]
    .map((text) => element("th", {scope: "col", class: "text"}, text));
  parent.append(element("h3", {}, nameOf(run) + ": " + rows.length + " failed" +
    (rows.length > FAILURES_SHOWN ? ", the first " + FAILURES_SHOWN : "")),
  element("div", {class: "table", tabindex: "0"},
    element("table", {}, element("thead", {}, element("tr", {}, ...head)), body)));
}
