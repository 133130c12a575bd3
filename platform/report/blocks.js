"use strict";
// Blocks of the log by memory: where each was, from when to when, who took it and who gave it back.

// Commands that end the life of a block which they name.
const FREEING = ["FREE", "FREE_BATCH", "UNREF", "VA_FREE"];

// The memories of a log: {name, rows of its commands, blocks as columns, failures}. A block that moves is a block of its
// own in each of its places.
class Memory {
  constructor(name) {
    this.name = name;
    this.commands = [];
    this.begin = [];
    this.end = [];
    this.low = [];
    this.high = [];
    this.taken = []; // rows of the log
    this.freed = []; // or -1
    this.left = []; // rows of moves to another place, or -1
    this.failed = [];
    this.moves = []; // rows of blocks that have left a place here
  }

  add(begin, end, low, bytes, taken, freed) {
    this.begin.push(begin);
    this.end.push(end);
    this.low.push(low);
    this.high.push(low + bytes);
    this.taken.push(taken);
    this.freed.push(freed);
    this.left.push(-1);
    return [this, this.begin.length - 1];
  }
}

// By name, in the order of modules and channels; those that hold no block and refused nothing are left out.
function memoriesOf(log, end) {
  const t = log.table("memory"), ok = log.textNumber("TLA_OK");
  const freeing = new Set(FREEING.map((op) => log.textNumber(op)));
  const memories = new Map(), blocks = new Map(), ranges = new Map(), rows = log.rows("memory");
  const of = (module, channel) => {
    const key = module * 64 + (Number.isNaN(channel) ? 63 : channel);
    if (!memories.has(key))
      memories.set(key, new Memory(log.module(module) + " " + (log.text(channel) || "addresses")));
    return memories.get(key);
  };
  for (let row = 0; row < rows; row++) {
    const memory = of(t.module[row], t.channel[row]);
    memory.commands.push(row);
    if (t.status[row] !== ok) {
      memory.failed.push(row);
      continue;
    }
    // Virtual ranges have no number of a block: they are known by their address.
    const isRange = Number.isNaN(t.block[row]), known = isRange ? ranges : blocks;
    const key = isRange ? t.module[row] * 2 ** 52 + t.address[row] : t.block[row];
    if (Number.isNaN(t.address[row])) continue;
    const found = known.get(key);
    if (found === undefined && !freeing.has(t.op[row]) && t.bytes[row] > 0) {
      known.set(key, memory.add(t.done[row], end, t.address[row], t.bytes[row], row, -1));
    } else if (found !== undefined && freeing.has(t.op[row])) {
      found[0].end[found[1]] = t.done[row];
      found[0].freed[found[1]] = row;
      if (isRange) known.delete(key);
    }
  }
  moveBlocks(log, blocks, of);
  const named = [...memories.entries()].sort(([a], [b]) => a - b).map(([, memory]) => memory);
  for (const memory of named) {
    for (const column of ["begin", "end", "low", "high"]) memory[column] = Float64Array.from(memory[column]);
    memory.commands = orderBy(t.done, Uint32Array.from(memory.commands));
  }
  return new Map(named.filter((memory) => memory.begin.length + memory.failed.length > 0)
    .map((memory) => [memory.name, memory]));
}

// A block is in its new place from the begin of its move on, and leaves its old one when that is freed.
function moveBlocks(log, blocks, of) {
  const m = log.table("move");
  for (let row = 0; row < log.rows("move"); row++) {
    of(m.module[row], m.channel[row]).moves.push(row);
    const found = blocks.get(m.block[row]);
    if (found === undefined) continue; // its ALLOC is missing
    const [memory, number] = found;
    if (!Number.isNaN(m.to_channel[row])) // else it is a block of another controller there
      blocks.set(m.block[row], of(m.module[row], m.to_channel[row]).add(m.begin[row], memory.end[number],
        m.to_address[row], m.bytes[row], memory.taken[number], memory.freed[number]));
    memory.end[number] = m.freed[row];
    memory.freed[number] = -1;
    memory.left[number] = row;
  }
}

function movedWords(log, row) {
  const m = log.table("move");
  return "moved to " + addressText(m.to_address[row]) + " (" + log.text(m.by[row]) + ")";
}

function notGivenBack(log) {
  return log.head.lost_by_kind && log.head.lost_by_kind.memory > 0 ?
    "freed or not: unknown, because the log is truncated" : "not freed";
}

// A block in words.
function blockWords(log, memory, number) {
  const t = log.table("memory"), row = memory.taken[number], freed = memory.freed[number], left = memory.left[number];
  const tensor = log.tensors.get(t.object[row]);
  const lines = [(tensor === undefined ? "" : "tensor " + clippedText(tensor) + ", ") +
    (Number.isNaN(t.block[row]) ? "range" : "block " + t.block[row]) + ", allocated by " + log.sender(t.sender[row]),
  addressText(memory.low[number]) + ", " + exactBytesText(memory.high[number] - memory.low[number]),
  timeText(memory.begin[number]) + " to " + timeText(memory.end[number]) + " (" +
    timeText(memory.end[number] - memory.begin[number]) + ")",
  left >= 0 ? movedWords(log, left) : freed < 0 ? notGivenBack(log) : "freed by " + log.sender(t.sender[freed]) + " (" + log.text(t.op[freed]) + ")"];
  return {tensor: tensor === undefined ? null : tensor, block: Number.isNaN(t.block[row]) ? null : t.block[row],
    owner: log.sender(t.sender[row]), freed_by: freed < 0 ? null : log.sender(t.sender[freed]),
    address: memory.low[number], bytes: memory.high[number] - memory.low[number], begin_ps: memory.begin[number],
    end_ps: memory.end[number], text: lines.join("\n")};
}

// Why a request failed, by what was free.
function failureWords(log, row) {
  const t = log.table("memory"), free = t.free[row], largest = t.largest[row], bytes = t.bytes[row];
  const begin = log.text(t.op[row]) + " of " + exactBytesText(bytes) + ": " + log.text(t.status[row]);
  if (Number.isNaN(free)) return begin;
  if (free < bytes) return begin + "; only " + exactBytesText(free) + " were free";
  if (largest < bytes)
    return begin + "; " + exactBytesText(free) + " were free, in holes of at most " + exactBytesText(largest) +
      ": fragmentation";
  return begin + "; " + exactBytesText(free) + " were free, " + exactBytesText(largest) + " of them in one hole";
}
