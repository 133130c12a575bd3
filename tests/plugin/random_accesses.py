"""20,000 random accesses through the plugin beside a plain array: random_accesses.py PLUGIN.

Reads, writes and ignored ones of 1 to 4096 bytes at any address, with byte enables and streaming, around the ends of
both memories; debug accesses and pointers to the same bytes; and LR and SC of three cores. Every access is held to the
rules of a loosely timed target: an answer, attributes as they were, a delay that does not go back, an error that
touches nothing. TLMALLOC_SEED repeats a run.
"""
import ctypes as c
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../platform/plugin"))
import tlmc  # noqa: E402

plugin = tlmc.load(sys.argv[1])
seed = int(os.environ.get("TLMALLOC_SEED", "18"))
print("TLMALLOC_SEED=%d" % seed)
random.seed(seed)
HBM, TCM, SIZE = 0x80000000, 0x10000, 1 << 20
controller = plugin.tlmc_create(tlmc.VERSION, b"controller", b"""
hbm.capacity_per_cube = 1 MiB
system.pes_per_cube = 1
tcm.capacity = 1 MiB
tcm.scheduler_reserve = 0 B
hbm.base = 0x80000000
tcm.base = 0x10000
""")
assert controller, plugin.tlmc_error().decode()

HALF = bytes(0xff if byte & 1 else 0 for byte in range(256))  # of random bytes those that are odd are enables
memories = {HBM: bytearray(SIZE), TCM: bytearray(SIZE)}
reserved = {}  # of a core: base and the addresses, as long as none of them has been written
counts = {"refused": 0, "made": 0, "failed": 0, "debug": 0, "direct": 0}


def written(base, addresses):
    for core in [k for k, (where, held) in reserved.items() if where == base and held & addresses]:
        del reserved[core]


def transport(base, offset, command, data, enables=b"", width=0, **more):
    """The access as it came back; its attributes have been compared."""
    made = tlmc.access(command, base + offset, data, delay_ps=random.randrange(10**6), **more)
    made.streaming_width = width or len(data)
    keep = c.create_string_buffer(enables, len(enables)) if enables else None
    made.enables = c.cast(keep, c.c_void_p).value if keep else None
    made.enables_length = len(enables)
    fields = [name for name, _ in tlmc.Access._fields_ if name not in ("delay_ps", "response", "dmi_hint", "exclusive")]
    before, delay = [getattr(made, name) for name in fields], made.delay_ps
    assert plugin.tlmc_transport(controller, tlmc.DATA, c.byref(made)) == 0, plugin.tlmc_error().decode()
    assert [getattr(made, name) for name in fields] == before
    assert made.response != 0 and made.delay_ps >= delay
    assert not keep or keep.raw == enables
    if made.response != tlmc.OK or command != tlmc.READ:
        assert made.buffer.raw == bytes(data)
    return made


def some_access(base, model):
    command = random.choice([tlmc.READ, tlmc.READ, tlmc.WRITE, tlmc.WRITE, tlmc.IGNORE])
    length = random.choice([1, 4, 8, 64, 512, 4096, random.randint(1, 300)])
    offset = random.choice([random.randrange(SIZE - length), SIZE - random.randint(1, 2 * length)])
    enables = random.randbytes(random.choice([0, 0, 1, 3, length])).translate(HALF)
    width = random.choice([0, 0, length, random.randint(1, length + 3)])
    data = random.randbytes(length)
    made = transport(base, offset, command, data, enables, width)
    span = min(width or length, length)
    if offset + span > SIZE:
        counts["refused"] += 1
        assert made.response == tlmc.ADDRESS_ERROR
        return
    assert made.response == tlmc.OK
    if command == tlmc.IGNORE:
        expected = data
    elif not enables and span == length:
        expected = bytes(model[offset:offset + length]) if command == tlmc.READ else data
        model[offset:offset + length] = expected
    else:
        expected = bytearray(data)
        for i in range(length):
            if enables and not enables[i % len(enables)]:
                continue
            if command == tlmc.READ:
                expected[i] = model[offset + i % span]
            else:
                model[offset + i % span] = data[i]
    assert made.buffer.raw == bytes(expected)
    if command == tlmc.WRITE:
        written(base, set(range(offset, offset + span)))


def look_around(base, model):
    """By a debugger's access, or by a pointer if there is one."""
    length = random.randint(1, 200)
    offset = random.randrange(SIZE - length)
    held = set(range(offset, offset + length))
    command = random.choice([tlmc.READ, tlmc.WRITE])
    made = tlmc.access(command, base + offset, random.randbytes(length))
    data = made.buffer.raw
    dmi = tlmc.Dmi()
    if random.random() < 0.5:
        counts["debug"] += 1
        assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(made)) == length
        data = made.buffer.raw
    elif plugin.tlmc_get_dmi(controller, tlmc.DATA, c.byref(made), c.byref(dmi)):
        assert dmi.first <= base + offset <= dmi.last and dmi.last < base + SIZE and dmi.reads and dmi.writes
        for where, addresses in reserved.values():
            assert where != base or not any(dmi.first <= base + at <= dmi.last for at in addresses)
        if base + offset + length - 1 > dmi.last:
            return
        counts["direct"] += 1
        there = (c.c_uint8 * length).from_address(c.addressof(dmi.pointer.contents) + base + offset - dmi.first)
        if command == tlmc.READ:
            data = bytes(there)
        else:
            there[:] = data
    else:
        assert any(where == base and offset in addresses for where, addresses in reserved.values())
        return
    if command == tlmc.READ:
        assert data == model[offset:offset + length]
    else:
        model[offset:offset + length] = data
        written(base, held)


def exclusive(base, model):
    core = random.randrange(3)
    length, offset = random.choice([1, 4, 8]), random.randrange(24)  # three cores at the same few bytes
    held = set(range(offset, offset + length))
    if random.random() < 0.5:
        made = transport(base, offset, tlmc.READ, bytes(length), core=core, exclusive=1)
        assert made.response == tlmc.OK and made.buffer.raw == model[offset:offset + length]
        reserved[core] = (base, held)
        return
    if core in reserved and random.random() < 0.8:
        base, held = reserved[core]
        model, offset, length = memories[base], min(held), len(held)
    due = core in reserved and reserved[core][0] == base and held <= reserved[core][1]
    data = bytes(random.getrandbits(8) for _ in range(length))
    made = transport(base, offset, tlmc.WRITE, data, core=core, exclusive=1)
    assert made.response == tlmc.OK and bool(made.exclusive) == due
    reserved.pop(core, None)  # made or not
    counts["made" if due else "failed"] += 1
    if due:
        model[offset:offset + length] = data
        written(base, held)


for number in range(20000):
    base = random.choice([HBM, TCM])
    random.choices([some_access, look_around, exclusive], [6, 2, 2])[0](base, memories[base])
    if random.random() < 0.01:
        assert plugin.tlmc_tick(plugin.tlmc_now_ps() + random.randrange(10**6)) == 0
for base, model in memories.items():
    whole = tlmc.access(tlmc.READ, base, bytes(SIZE))
    assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(whole)) == SIZE and whole.buffer.raw == model
assert all(n > 300 for n in counts.values()), counts
print(counts)
