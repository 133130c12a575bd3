"""Blocks that move while a host uses them by virtual addresses: moves.py PLUGIN."""
import ctypes as c
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../platform/plugin"))
import tlmc  # noqa: E402

plugin = tlmc.load(sys.argv[1])
BASE, TCM, VA, SIZE = 0x80000000, 0x90000000, 0x1000, 5000
SETTINGS = "hbm.base = 0x80000000\ntcm.base = 0x90000000\nhbm.capacity_per_cube = 64 KiB\nsystem.pes_per_cube = 1\n"
controller = plugin.tlmc_create(tlmc.VERSION, b"moves", (SETTINGS + "controller.move = stop\n").encode())
fixed = plugin.tlmc_create(tlmc.VERSION, b"fixed", SETTINGS.encode())


def said():
    return plugin.tlmc_error().decode()


assert controller and fixed, said()
mapped, log, refused, me = {}, [], {}, tlmc.Access()


@tlmc.MAPPING
def changed(_, change, mappings, count):
    assert plugin.tlmc_free(controller, 0, BASE, 1, c.byref(me)) and "from within a callback" in said()
    if change in refused:
        return refused[change]
    for entry in mappings[:count]:
        log.append((change, entry.va, entry.nbytes, entry.asid))
        if change == tlmc.REMAP:
            mapped[entry.va] = entry.address
    return 0


def allocate(nbytes, memory=b"hbm"):
    address = c.c_uint64()
    assert plugin.tlmc_allocate(controller, 0, memory, nbytes, c.byref(me), c.byref(address)) == 0, said()
    return address.value


def move(address, memory=b"hbm", of=None):
    moved = c.c_uint64()
    status = plugin.tlmc_move(of or controller, 0, address, memory, c.byref(me), c.byref(moved))
    return status, moved.value


def access(command, address, data):
    one = tlmc.access(command, address, data)
    assert plugin.tlmc_transport(controller, tlmc.DATA, c.byref(one)) == 0 and one.response == tlmc.OK, said()
    return one.buffer.raw


def bound(function, address, va=VA):
    return function(controller, 0, address, SIZE, va, 7, c.byref(me))


below, block = allocate(64), allocate(SIZE)
data = bytes(i * 7 % 256 for i in range(SIZE))
access(tlmc.WRITE, block, data)

# It moves only with a recorded mapping, and where the host's MMU agrees.
status, _ = move(block)
assert status and "mapped" in said(), said()
assert bound(plugin.tlmc_bind, block) == 0, said()
mapped[VA] = block
status, _ = move(block)
assert status and mapped[VA] == block and access(tlmc.READ, block, bytes(SIZE)) == data
plugin.tlmc_on_mapping(controller, changed, None)
for change in tlmc.PAUSE, tlmc.REMAP:
    log.clear()
    refused[change] = status
    assert move(block)[0] == status and mapped[VA] == block and access(tlmc.READ, block, bytes(SIZE)) == data
    assert log == ([] if change == tlmc.PAUSE else [(at, VA, SIZE, 7) for at in (tlmc.PAUSE, tlmc.RESUME)]), log
    del refused[change]

# In its memory, to the other one and back.
log.clear()
plugin.tlmc_free(controller, 0, below, 64, c.byref(me))
before = me.delay_ps
for memory, first in (b"hbm", BASE), (b"tcm", TCM), (b"hbm", BASE):
    status, at = move(mapped[VA], memory)
    assert status == 0 and first <= at < first + (1 << 20) and mapped[VA] == at != block, said()
    assert access(tlmc.READ, at, bytes(SIZE)) == data
    block = at
assert log == [(at, VA, SIZE, 7) for _ in range(3) for at in (tlmc.PAUSE, tlmc.REMAP, tlmc.RESUME)], log
assert me.delay_ps > before  # of the copies, and of the commands

# Each rejection has its words.
assert move(block, b"sram")[0] and "use hbm or tcm" in said()
assert move(block + 1)[0] and move(BASE + (1 << 30))[0]
assert plugin.tlmc_move(controller, 0, block, b"hbm", c.byref(me), None) and "place for the address" in said()
assert move(block, of=fixed)[0]
assert plugin.tlmc_bind(fixed, 0, BASE, 1, VA, 0, c.byref(me))
assert bound(plugin.tlmc_unbind, block, VA + 1)
allocate((64 << 10) - 3 * SIZE)
while plugin.tlmc_allocate(controller, 0, b"hbm", 64, c.byref(me), c.byref(c.c_uint64())) == 0:
    pass
assert move(block)[0] and access(tlmc.READ, block, bytes(SIZE)) == data  # no room

assert bound(plugin.tlmc_unbind, block) == 0 and move(block)[0]
assert plugin.tlmc_free(controller, 0, block, SIZE, c.byref(me)) == 0, said()
size = plugin.tlmc_statistics(controller, None, 0)
text = c.create_string_buffer(size + 1)
plugin.tlmc_statistics(controller, text, size + 1)
rows = [line.split() for line in text.value.decode().splitlines() if "moved_blocks" in line]
assert rows, text.value.decode()
print("blocks moved:", " ".join(" ".join(row[:4]) for row in rows))
