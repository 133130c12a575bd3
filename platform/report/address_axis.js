"use strict";
// The axis of addresses: stretches in which there are blocks stand one above the other to scale, what lies between them
// is a narrow gap, since memories are far larger than what is used of them.

class AddressAxis {
  // memories: those whose blocks it is for, of all runs.
  constructor(memories) {
    const ranges = stretchesOf(memories);
    const used = ranges.reduce((sum, [low, high]) => sum + high - low, 0) || 1;
    this.gap = used / 40; // as wide as
    this.low = [];
    this.high = [];
    for (const [low, high] of ranges) {
      const last = this.low.length - 1;
      if (last >= 0 && low - this.high[last] <= this.gap) this.high[last] = Math.max(high, this.high[last]);
      else {
        this.low.push(low);
        this.high.push(high);
      }
    }
    // Where each stretch begins on the axis.
    this.at = [];
    let at = 0;
    this.low.forEach((low, number) => {
      this.at.push(at);
      at += this.high[number] - low + this.gap;
    });
    this.length = Math.max(1, at - this.gap);
  }

  // The place of an address on the axis.
  place(address) {
    const number = Math.max(0, d3.bisectRight(this.low, address) - 1);
    if (this.low.length === 0) return 0;
    return this.at[number] + Math.min(address - this.low[number], this.high[number] - this.low[number] + this.gap / 2);
  }

  // The address at a place; within a gap that of its end.
  address(place) {
    const number = Math.max(0, d3.bisectRight(this.at, place) - 1);
    if (this.low.length === 0) return 0;
    return Math.min(this.high[number], this.low[number] + Math.max(0, place - this.at[number]));
  }

  // Places from low to high of addresses that are multiples of a power of two, about so many.
  ticks(low, high, count) {
    const step = 2 ** Math.ceil(Math.log2(Math.max(1, (high - low) / count))), found = [];
    this.low.forEach((from, number) => {
      const at = this.at[number], end = Math.min(this.high[number], from + high - at);
      for (let address = Math.ceil(Math.max(from, from + low - at) / step) * step; address <= end; address += step)
        found.push(at + address - from);
    });
    return found;
  }

  // The gaps that lie between two places: [place, from address, to address].
  gaps(low, high) {
    const found = [];
    for (let i = 1; i < this.low.length; i++) {
      const place = this.at[i] - this.gap / 2;
      if (place > low && place < high) found.push([place, this.high[i - 1], this.low[i]]);
    }
    return found;
  }
}

// Addresses at which there was a block, as stretches in order.
function stretchesOf(memories) {
  const lows = [], highs = [];
  for (const memory of memories) {
    const order = orderBy(memory.low, Uint32Array.from(memory.low.keys()));
    let low = NaN, high = NaN;
    for (const number of order) {
      if (memory.low[number] <= high) {
        high = Math.max(high, memory.high[number]);
        continue;
      }
      if (!Number.isNaN(low)) lows.push(low) && highs.push(high);
      low = memory.low[number];
      high = memory.high[number];
    }
    if (!Number.isNaN(low)) lows.push(low) && highs.push(high);
  }
  return lows.map((low, number) => [low, highs[number]]).sort((a, b) => a[0] - b[0]);
}
