"use strict";
// The resolved configuration of runs, beside the defaults; first only what differs from them.

function showSettings(parent, runs) {
  const defaults = flatten(PAGE.defaults, "", new Map());
  const settings = runs.map((run) => flatten(run.report.config, "", new Map()));
  const keys = [...new Set([...defaults.keys(), ...settings.flatMap((each) => [...each.keys()])])];
  const isChanged = (key) => settings.some((each) => each.get(key) !== defaults.get(key));
  const all = element("input", {type: "checkbox"}), body = element("tbody");
  const fill = () => {
    body.replaceChildren();
    for (const key of keys.filter((each) => all.checked || isChanged(each))) {
      const line = element("tr", {}, element("td", {class: "text"}, key));
      for (const each of settings) line.append(element("td", {}, each.has(key) ? String(each.get(key)) : "\u2013"));
      line.append(element("td", {}, defaults.has(key) ? String(defaults.get(key)) : "\u2013"));
      if (isChanged(key)) line.className = "changed";
      body.append(line);
    }
    window.tlmalloc.views.settings = {shown: body.children.length, changed: keys.filter(isChanged).length};
  };
  all.addEventListener("change", fill);
  const head = ["key", ...runs.map(nameOf), "default"];
  parent.hidden = false;
  parent.append(element("p", {}, element("label", {}, all, " include default values")),
    element("div", {class: "table", tabindex: "0"}, element("table", {}, element("thead", {}, element("tr", {},
      ...head.map((text) => element("th", {scope: "col"}, text)))), body)));
  fill();
}
