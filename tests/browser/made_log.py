"""Makes event logs for a report, of any size: as `tlmalloc run --events' writes them, with what the tests ask for."""
import json
import random

COLUMNS = {
    "memory": ["module", "op", "arrival", "start", "done", "port", "sender", "correlation", "status", "service",
               "channel", "object", "address", "bytes", "block", "free", "largest", "free_blocks"],
    "ranges": ["number", "list of [va, pa, bytes]"],
    "mapping": ["module", "op", "arrival", "start", "done", "port", "sender", "correlation", "status", "request",
                "ranges"],
    "launch": ["module", "op", "arrival", "start", "done", "port", "sender", "correlation", "status", "request",
               "began", "took"],
    "access": ["module", "what", "at", "va", "bytes", "access", "asid"],
    "interval": ["who", "kind", "begin", "end", "place", "unit"],
    "transfer": ["pe", "engine", "start", "end", "bytes", "status", "for_message", "address", "physical", "tile",
                 "block", "tile_block", "memories"],
    "message": ["from", "to", "bytes", "sent", "received"],
    "tensor": ["object", "name", "va", "bytes"],
    "buckets": ["width"],
    "link": ["link", "bytes", "messages", "busy", "waited"],
    "end": ["end", "status", "lost", "told by kind", "lost by kind"]}

KINDS = ("bank", "link", "arithmetic", "tile", "issue", "alloc", "lookup", "walk", "message_wait", "dispatch")


def write(path, report, rows, lost=0):
    """A log with these rows, and what stands around them."""
    pes = [kernel["pe"] for kernel in report["kernels"]]
    header = {"format": "tlmalloc events", "version": 1, "tlmalloc": report["version"], "unit": "ps",
              "kernel": report["kernels"][0]["name"], "columns": COLUMNS, "ports": [], "pes": pes,
              "modules": ["va_manager"] + [pe + ".controller" for pe in pes] + [pe + ".mmu" for pe in pes],
              "nodes": ["host", "sip0.pcie_ep", "sip0.cube0.hbm_ctrl.pe0"], "links": [[0, 1], [1, 0]]}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(header) + "\n")
        for row in rows:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
        file.write(json.dumps(["end", report["sim_time_ps"], "TLA_OK", lost, {}, {"transfer": lost}]) + "\n")


def memory(module, op, arrival, done, sender, status, channel, address, nbytes, block, free, largest, tensor=None,
           free_blocks=None):
    return ["memory", module, op, arrival, arrival, done, 0, sender, 0, status, done - arrival, channel, tensor,
            address, nbytes, block, free, largest, free_blocks]


def many(report, count, seed=1):
    """About `count` rows: six of ten are intervals, three commands of memories, one a transfer."""
    pick = random.Random(seed)
    end = report["sim_time_ps"]
    pes = len(report["kernels"])
    intervals = count * 6 // 10 // pes
    for who in range(1, pes + 1):
        times = sorted(pick.randrange(end) for _ in range(intervals + 1))
        for i in range(intervals):
            kind = pick.choice(KINDS)
            place = {"link": 0, "bank": 2}.get(kind)
            yield ["interval", who, kind, times[i], times[i + 1], place, None]
    block = 0
    blocks = count * 3 // 20 // pes
    for module in range(1, pes + 1):
        live = []
        for i in range(blocks):
            now = end * i // blocks
            address, nbytes = 64 * pick.randrange(1 << 20), 64 * pick.randrange(1, 64)
            live.append((block, address, nbytes))
            yield memory(module, "ALLOC", now, now + 20, module, "TLA_OK", "tcm", address, nbytes, block,
                         2 ** 24 - pick.randrange(2 ** 20), 2 ** 23)
            block += 1
            if len(live) > 40:
                old, address, nbytes = live.pop(pick.randrange(len(live)))
                yield memory(module, "FREE", now + 30, now + 50, module, "TLA_OK", "tcm", address, nbytes, old,
                             2 ** 24 - pick.randrange(2 ** 20), 2 ** 23)
    for i in range(count // 10):
        begin = pick.randrange(end)
        yield ["transfer", i % pes, pick.choice(("read", "write")), begin, begin + pick.randrange(100000),
               256 * pick.randrange(1, 64), "TLA_OK", False, 0, True, 0, None, None, [2]]
