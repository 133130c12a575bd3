"use strict";
// Memory: addresses over time, of one memory at a time, the same of both runs on the same addresses.

const BLOCK_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];

const NAMES_SHOWN = 200;

// Which memory is shown, and how much of its axis: from one place to another.
const memoryShown = {
  name: "", low: 0, high: 1, views: [], axis: null,

  choose(name) {
    this.name = name;
    const memories = this.views.map((view) => view.memory()).filter((memory) => memory);
    this.axis = new AddressAxis(memories);
    for (const memory of memories) {
      memory.bottom = memory.low.map((address) => this.axis.place(address));
      memory.top = memory.bottom.map((place, number) => place + memory.high[number] - memory.low[number]);
    }
    this.reset();
  },

  // All addresses at which there was a block.
  reset() {
    if (this.axis) this.show(0, this.axis.length);
  },

  show(low, high) {
    const length = Math.max(1, Math.min(this.axis.length, high - low));
    this.low = Math.max(0, Math.min(this.axis.length - length, low));
    this.high = this.low + length;
    window.tlmalloc.addresses = [this.axis.address(this.low), this.axis.address(this.high)];
    for (const view of timeAxis.views) redraw(view);
  },

  zoomBy(factor, around) {
    this.show(around - (around - this.low) / factor, around + (this.high - around) / factor);
  },

  pan(part) {
    const by = (this.high - this.low) * part;
    this.show(this.low + by, this.high + by);
  },
};

class MemoryView {
  constructor(run, number, memories) {
    this.run = run;
    this.memories = memories;
    this.state = window.tlmalloc.views["memory" + number] = {name: "", blocks: 0, drawn: 0, failed: 0,
      named: 0};
    memoryShown.views.push(this);
  }

  memory() {
    return this.memories.get(memoryShown.name);
  }

  height() {
    return 230;
  }

  // Tensors by their object, other blocks by who took them.
  colourOf(memory, number) {
    const t = this.run.log.table("memory"), row = memory.taken[number];
    const key = Number.isNaN(t.object[row]) ? 3 + (Number.isNaN(t.sender[row]) ? 0 : t.sender[row]) : t.object[row];
    return key % BLOCK_COLOURS.length;
  }

  paint(context, width, height) {
    const memory = this.memory(), {low, high} = memoryShown, scale = timeAxis.scale, [from, to] = scale.domain();
    context.fillStyle = styleColour("panel");
    context.fillRect(LEFT, 0, width - LEFT - RIGHT, height);
    this.paintAddresses(context, height);
    Object.assign(this.state, {name: memoryShown.name, blocks: memory ? memory.begin.length : 0, drawn: 0,
      failed: memory ? memory.failed.length : 0, named: 0});
    if (!memory) return;
    if (!memory.colours) memory.colours = Uint8Array.from(memory.begin, (_, number) => this.colourOf(memory, number));
    const raster = new Raster(context, LEFT, 0, width - LEFT - RIGHT, height, styleColour("panel"));
    const pixels = BLOCK_COLOURS.map(pixelOf), across = raster.width / (to - from), up = raster.height / (high - low);
    for (let i = 0; i < memory.begin.length; i++) {
      if (memory.end[i] <= from || memory.begin[i] >= to || memory.top[i] <= low || memory.bottom[i] >= high) continue;
      raster.fill((memory.begin[i] - from) * across, (memory.end[i] - from) * across,
        (high - memory.top[i]) * up, (high - memory.bottom[i]) * up, pixels[memory.colours[i]]);
      this.state.drawn++;
    }
    raster.show();
    this.paintTensors(context, memory, width, height);
    this.paintGaps(context, width, height);
    this.paintFailures(context, memory);
  }

  // Names of tensors in blocks that have room for them.
  paintTensors(context, memory, width, height) {
    const {low, high} = memoryShown, scale = timeAxis.scale, up = height / (high - low);
    const {tensors} = this.run.log, objects = this.run.log.column("memory", "object");
    if (!memory.ofTensors) // most blocks of many are of none
      memory.ofTensors = [...memory.taken.keys()].filter((i) => tensors.has(objects[memory.taken[i]]));
    context.textBaseline = "middle";
    for (const i of memory.ofTensors) {
      if (this.state.named === NAMES_SHOWN) break;
      const left = Math.max(LEFT, scale(memory.begin[i])), right = Math.min(width - RIGHT, scale(memory.end[i]));
      const top = Math.max(0, (high - memory.top[i]) * up), bottom = Math.min(height, (high - memory.bottom[i]) * up);
      if (right - left < 40 || bottom - top < 14) continue;
      context.fillStyle = BLOCK_COLOURS[memory.colours[i]] === "#0072b2" ? "#ffffff" : "#000000";
      const name = clippedText(tensors.get(objects[memory.taken[i]]));
      context.fillText(fitText(context, name, right - left - 10), left + 5, (top + bottom) / 2);
      this.state.named++;
    }
  }

  // Where stretches begin and end, and what lies between them, as far as there is room.
  paintAddresses(context, height) {
    const {low, high, axis} = memoryShown, up = d3.scale.linear().domain([low, high]).range([height, 0]);
    if (axis.low.length === 0) return; // no block was ever there
    const texts = [[height - 7, addressText(axis.address(low))], [7, addressText(axis.address(high))]];
    for (const [place, from, to] of axis.gaps(low, high))
      texts.push([up(place), "\u2195 " + bytesText(to - from) + " left out"]);
    for (const place of axis.ticks(low, high, 5)) texts.push([up(place), addressText(Math.round(axis.address(place)))]);
    const free = [];
    context.fillStyle = styleColour("faint");
    context.textBaseline = "middle";
    for (const [y, text] of texts) {
      if (free.some((taken) => Math.abs(taken - y) < 13) || y < 6 || y > height - 6) continue;
      free.push(y);
      context.fillText(fitText(context, text, LEFT - 12), 4, y);
    }
  }

  paintGaps(context, width, height) {
    const {low, high, axis} = memoryShown, up = d3.scale.linear().domain([low, high]).range([height, 0]);
    const thick = Math.max(1, up(0) - up(axis.gap));
    context.fillStyle = styleColour("ground");
    for (const [place] of axis.gaps(low, high))
      context.fillRect(LEFT, up(place) - thick / 2, width - LEFT - RIGHT, thick);
  }

  paintFailures(context, memory) {
    const done = this.run.log.column("memory", "done");
    context.fillStyle = styleColour("worse");
    for (const row of memory.failed) {
      const x = timeAxis.scale(done[row]);
      if (x < LEFT || x > timeAxis.scale.range()[1]) continue;
      context.beginPath();
      context.moveTo(x - 5, 0);
      context.lineTo(x + 5, 0);
      context.lineTo(x, 9);
      context.fill();
    }
  }

  placeAt(y) {
    return memoryShown.high - y / this.height() * (memoryShown.high - memoryShown.low);
  }

  blockAt(x, y) {
    const memory = this.memory(), time = timeAxis.scale.invert(x), place = this.placeAt(y);
    if (!memory || x < LEFT) return -1;
    const [from, to] = timeAxis.scale.domain();
    const slack = (to - from) / 800, reach = (memoryShown.high - memoryShown.low) / this.height();
    let best = -1, least = Infinity;
    for (let i = 0; i < memory.begin.length; i++) {
      if (memory.begin[i] > time + slack || memory.end[i] < time - slack) continue;
      const away = Math.max(0, memory.bottom[i] - place, place - memory.top[i]);
      if (away <= reach && away < least) {
        least = away;
        best = i;
      }
    }
    return best;
  }

  find(x, y) {
    const memory = this.memory(), done = this.run.log.column("memory", "done");
    if (memory && y < 12)
      for (const row of memory.failed)
        if (Math.abs(timeAxis.scale(done[row]) - x) < 6)
          return {view: "memory", failed: true, text: timeText(done[row]) + "\n" + failureWords(this.run.log, row)};
    const block = this.blockAt(x, y);
    return block < 0 ? null : {view: "memory", ...blockWords(this.run.log, memory, block)};
  }

  // Zooms to a block.
  zoomTo(x, y) {
    const memory = this.memory(), block = this.blockAt(x, y);
    if (block < 0) return;
    const time = memory.end[block] - memory.begin[block], size = memory.high[block] - memory.low[block];
    memoryShown.show(memory.bottom[block] - size / 4, memory.top[block] + size / 4);
    timeAxis.show(memory.begin[block] - time / 10, memory.end[block] + time / 10);
  }
}

function showMemory(parent, runs) {
  const logged = [];
  runs.forEach((run, number) => {
    if (run.log) logged.push({run, number, memories: memoriesOf(run.log, run.report.sim_time_ps)});
  });
  const sizes = new Map();
  for (const {memories} of logged) for (const memory of memories.values())
    sizes.set(memory.name, (sizes.get(memory.name) || 0) + memory.begin.length);
  if (sizes.size === 0) return;
  const select = element("select", {id: "memory-name"});
  for (const name of sizes.keys()) select.append(element("option", {value: name}, name));
  parent.append(element("p", {}, element("label", {}, "Memory ", select), element("span", {class: "hint"},
    " double click: zoom to a block; Shift+wheel, arrows up and down: addresses; 0: all")));
  for (const {run, number, memories} of logged) {
    parent.append(element("h3", {}, nameOf(run)));
    const of = new MemoryView(run, number, memories), view = new TimeView(parent, "Addresses over time", of, false);
    new TimeView(parent, "Free memory over time", new FreeListView(run, number, memories));
    view.canvas.addEventListener("dblclick", (event) => {
      const box = view.canvas.getBoundingClientRect();
      of.zoomTo(event.clientX - box.left, event.clientY - box.top);
      event.stopPropagation();
    });
    view.canvas.addEventListener("wheel", (event) => {
      if (!event.shiftKey) return;
      event.stopPropagation();
      const turned = event.deltaY || event.deltaX;
      memoryShown.zoomBy(2 ** (-turned / 300), of.placeAt(event.clientY - view.canvas.getBoundingClientRect().top));
      event.preventDefault();
    }, {passive: false});
  }
  select.addEventListener("change", () => memoryShown.choose(select.value));
  // First a memory that tensors are in, since all kernels wait for that.
  const first = [...sizes.keys()].find((name) => name.endsWith(" hbm")) || [...sizes.keys()][0];
  select.value = first;
  memoryShown.choose(first);
}
