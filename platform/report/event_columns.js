"use strict";
// The event log of a run as the command put it into the page: columns of numbers, decoded when they are asked for.

// A column as platform/report/event_columns.hpp says; NaN where a row has nothing.
function decodeColumn(bytes, at, rows) {
  const values = new Float64Array(rows);
  let before = 0;
  for (let row = 0; row < rows; row++) {
    let byte = bytes[at++], low = byte & 127, shift = 7;
    while (byte > 127 && shift < 28) {
      byte = bytes[at++];
      low |= (byte & 127) << shift;
      shift += 7;
    }
    let size = low >>> 1;
    if (byte > 127) {
      let factor = 2 ** 27; // bits of integers are 32
      do {
        byte = bytes[at++];
        size += (byte & 127) * factor;
        factor *= 128;
      } while (byte > 127);
    }
    before += low & 1 ? -size : size;
    values[row] = before === 0 ? NaN : before - 1;
  }
  return values;
}

class EventTables {
  constructor(head, bytes) {
    this.head = head;
    this.bytes = bytes;
    this.decoded = new Map();
    this.places = new Map();
    let at = 0;
    for (const [table, {columns}] of Object.entries(head.tables))
      for (const [name, length] of columns) {
        this.places.set(table + "." + name, at);
        at += length;
      }
    this.tensors = new Map();
    const objects = this.column("tensor", "object"), names = this.column("tensor", "name");
    objects.forEach((object, row) => this.tensors.set(object, head.texts[names[row]]));
  }

  rows(table) {
    return this.head.tables[table].rows;
  }

  column(table, name) {
    const key = table + "." + name;
    if (!this.decoded.has(key))
      this.decoded.set(key, decodeColumn(this.bytes, this.places.get(key), this.rows(table)));
    return this.decoded.get(key);
  }

  // All columns of a table by their names.
  table(name) {
    return Object.fromEntries(this.head.tables[name].columns.map(([column]) => [column, this.column(name, column)]));
  }

  // The number of a text in columns, -1 where no row has it.
  textNumber(text) {
    return this.head.texts.indexOf(text);
  }

  text(number) {
    return Number.isNaN(number) ? "" : this.head.texts[number];
  }

  // Who sent a command.
  sender(number) {
    return Number.isNaN(number) ? "hardware" : number === 0 ? "host" : this.head.pes[number - 1];
  }

  module(number) {
    return this.head.modules[number];
  }

  // Of a kernel's time: where.
  place(kind, number) {
    if (Number.isNaN(number)) return "";
    if (kind !== "link") return this.head.nodes[number];
    const [from, to] = this.head.links[number];
    return this.head.nodes[from] + " -> " + this.head.nodes[to];
  }
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const packed = atob(text), bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
}

// Reads the log of a run, if it has one, into run.log.
async function readEvents(run, number) {
  run.log = null;
  if (!run.events) return;
  const holder = document.getElementById("tlmalloc-events-" + number);
  const packed = new Blob([fromBase64(holder.textContent)]);
  holder.remove();
  const stream = packed.stream().pipeThrough(new DecompressionStream("deflate"));
  run.log = new EventTables(run.events, new Uint8Array(await new Response(stream).arrayBuffer()));
}

// The order of rows by a column's values, as it is where it is sorted.
function orderBy(values, rows) {
  for (let i = 1; i < rows.length; i++)
    if (values[rows[i]] < values[rows[i - 1]]) return rows.sort((a, b) => values[a] - values[b]);
  return rows;
}
