"""Drives the plugin from Python: drive.py PLUGIN. Ends with an AssertionError where something is not as tlm_c.h says."""
import ctypes as c
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../platform/plugin"))
import tlmc  # noqa: E402

plugin = tlmc.load(sys.argv[1])
BASE = 0x80000000
SETTINGS = b"""
hbm.capacity_per_cube = 64 MiB   # of one PE
system.pes_per_cube = 1
hbm.base = 0x80000000
tcm.base = 0x1000
controller.guard = error
"""


def said():
    return plugin.tlmc_error().decode()


def refused(version, settings):
    assert not plugin.tlmc_create(version, b"refused", settings)
    return said()


def transport(controller, made, socket=tlmc.DATA):
    assert plugin.tlmc_transport(controller, socket, c.byref(made)) == 0, said()
    return made.response


def late(name):
    text = c.create_string_buffer(1 << 16)
    plugin.tlmc_statistics(controller, text, len(text))
    rows = [line.split() for line in text.value.decode().splitlines() if line.startswith("order ")]
    return [int(row[2]) for row in rows if row[1] == name]


# Another version, and settings that are none, are refused in words, and nothing is half made.
assert plugin.tlmc_version() == tlmc.VERSION
why = refused(tlmc.VERSION + 1, SETTINGS)
assert "built for version 2" in why and "has version 1" in why, why
for settings, expected in [(b"hbm.base", 'line 1: found "hbm.base", expected KEY = VALUE'),
                           (b"\nhbm.base = 12x", 'line 2: found hbm.base = "12x", expected an address below 2^64'),
                           (b"hbm.base = -1", 'line 1: found hbm.base = "-1", expected an address'),
                           (b"hbm.base = 0x10000000000000000", "line 1: found hbm.base"),
                           (b"hbm.base = \x1b\xff", 'line 1: found hbm.base = "\\x1b\\xff"'),
                           (b"hbm.base = 0", "line 1: found hbm.base without tcm.base"),
                           (b"# \n\ntcm.base = 0", "line 3: found tcm.base without hbm.base"),
                           (b"\ncontroller.addresses = plain", "line 2: controller.addresses = plain needs hbm.base"),
                           (b"controller.addresses = kernbench\nhbm.base = 0\ntcm.present = false",
                            "line 2: found hbm.base with controller.addresses = kernbench, expected plain"),
                           (b"controller.addresses = kernbench\n\ntcm.base = 0", "line 3: found tcm.base with"),
                           (b"\ncontroller.addresses = flat", 'line 2: controller.addresses: found "flat"'),
                           (b"\n\ntcm.present = maybe", 'line 3: tcm.present: found "maybe", expected false or true'),
                           (b"a.b = 1\nhbm.capacity = 5", 'line 1: unknown key "a.b"; line 2: hbm.capacity: found "5"'),
                           (b"\ncontroller.hbm_policy = best", 'line 2: controller.hbm_policy: found "best"'),
                           (b"hbm.base = 0\ntcm.base = 0x1000", "line 2: found HBM at 0x0 .. 0x17fffffff and TCM at"),
                           (b"tcm.base = 0x1000\nhbm.base = 0xffffffffffffffff", "line 2: found HBM: base 0xffff"),
                           (b"hbm.base = 0\n\ntcm.base = 0xffffffffffffffff", "line 3: found TCM: base 0xffff"),
                           (b"hbm.base = 1\ncontroller.alignment = 64 B\ntcm.present = false",
                            "line 1: found HBM: base 0x1 is not a multiple of alignment 64")]:
    why = refused(tlmc.VERSION, settings)
    assert expected in why and "\n" not in why, (settings, why)

controller = plugin.tlmc_create(tlmc.VERSION, b"controller", SETTINGS)
assert controller, said()
second = plugin.tlmc_create(tlmc.VERSION, b"second", b"tcm.present = false")
third = plugin.tlmc_create(tlmc.VERSION, b"third", b"hbm.base = 1\nhbm.base = 010 KiB\ntcm.present = false")  # the last
assert second and third, said()
for name in b"a b", b"a.b", b"a\n", b"\xff", b" ":
    assert not plugin.tlmc_create(tlmc.VERSION, name, b"tcm.present = false") and "use printable" in said(), name
for taken in b"controller", b"second":  # there is no destroy that would free a name
    assert not plugin.tlmc_create(tlmc.VERSION, taken, b"tcm.present = false") and "another controller has" in said()

warnings = []
warned = tlmc.WARNED(lambda context, report, text: warnings.append((report.decode(), text.decode())))
plugin.tlmc_on_warning(warned, None)
lost = []
withdrawn = tlmc.LOST(lambda context, first, last: lost.append((first, last)))
plugin.tlmc_on_dmi_lost(controller, withdrawn, None)

# The first call may be a debugger's.
first = tlmc.access(tlmc.READ, BASE, bytes(16))
assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(first)) == 16, said()
assert plugin.tlmc_statistics(controller, None, 64) > 64

# A block, its bytes, and a pointer to them that is void when it is freed.
me = tlmc.Access(has_asid=1, asid=5, core=3)
address = c.c_uint64()
assert plugin.tlmc_allocate(controller, 0, b"hbm", 4096, c.byref(me), c.byref(address)) == 0, said()
assert address.value == BASE
assert me.delay_ps > 0  # a command has a price
write = tlmc.access(tlmc.WRITE, BASE + 8, b"from Python", has_asid=1, asid=5, core=3, delay_ps=1000)
assert transport(controller, write) == tlmc.OK
assert write.delay_ps > 1000
peek = tlmc.access(tlmc.READ, BASE + 8, bytes(11))
assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(peek)) == 11
assert peek.buffer.raw == b"from Python"
dmi = tlmc.Dmi()
assert plugin.tlmc_get_dmi(controller, tlmc.DATA, c.byref(write), c.byref(dmi)) == 1
assert dmi.first == BASE and dmi.last == BASE + 4095 and dmi.reads and dmi.writes
assert bytes(dmi.pointer[8:19]) == b"from Python"
assert dmi.read_latency_ps > 0

# An access before what has been simulated is served when that was, which is said once and counted.
early = [tlmc.access(tlmc.READ, BASE + 8, bytes(11), has_asid=1, asid=5, core=3, delay_ps=at) for at in (900, 400)]
assert [transport(controller, one) for one in early] == [tlmc.OK] * 2
same = tlmc.access(tlmc.READ, BASE + 8, bytes(11), has_asid=1, asid=5, core=3, delay_ps=1000)
assert transport(controller, same) == tlmc.OK and early[1].delay_ps > early[0].delay_ps >= write.delay_ps
assert len(warnings) == 1 and warnings[0][0] == "/tlmalloc/time/late" and "for 900 ps arrived at 1000 ps" in warnings[0][1]
warnings.clear()
assert late("late") == [2] and late("displaced_ps") == [700] and late("worst_ps") == [600]

# Somebody else's block.
stranger = tlmc.access(tlmc.READ, BASE + 8, bytes(11), has_asid=1, asid=6, core=4)
assert transport(controller, stranger) == tlmc.GENERIC_ERROR
assert stranger.buffer.raw == bytes(11)
assert len(warnings) == 1 and warnings[0][0] == "/tlmalloc/memory_controller/guard" and "asid 6" in warnings[0][1], warnings

# An address space that is none, and would be hardware's or trusted.
for asid in 2**31 - 1, 2**31, 2**32 - 1:
    none = tlmc.access(tlmc.WRITE, BASE + 8, bytes(11), has_asid=1, asid=asid)
    for call in [lambda: plugin.tlmc_transport(controller, tlmc.DATA, c.byref(none)),
                 lambda: not plugin.tlmc_get_dmi(controller, tlmc.DATA, c.byref(none), c.byref(dmi)),
                 lambda: plugin.tlmc_allocate(controller, 0, b"hbm", 1, c.byref(none), c.byref(address)),
                 lambda: plugin.tlmc_free(controller, 0, BASE, 4096, c.byref(none))]:
        assert call() != 0 and said() == "invalid asid %d: it must be below 2147483647" % asid, said()
assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(peek)) == 11 and peek.buffer.raw == b"from Python"

# LR and SC.
reserve = tlmc.access(tlmc.READ, BASE + 64, bytes(4), has_asid=1, asid=5, core=3, exclusive=1)
store = tlmc.access(tlmc.WRITE, BASE + 64, b"\1\0\0\0", has_asid=1, asid=5, core=3, exclusive=1)
other = tlmc.access(tlmc.WRITE, BASE + 64, b"\7\0\0\0", has_asid=1, asid=5, core=2)
assert transport(controller, store) == tlmc.OK and not store.exclusive  # nothing was reserved
assert transport(controller, tlmc.access(tlmc.WRITE, BASE + 64, bytes(4), has_asid=1, asid=5)) == tlmc.OK
assert transport(controller, reserve) == tlmc.OK and reserve.exclusive
assert transport(controller, other) == tlmc.OK
store.exclusive = 1
assert transport(controller, store) == tlmc.OK and not store.exclusive
assert transport(controller, reserve) == tlmc.OK and reserve.buffer.raw == b"\7\0\0\0"
store.exclusive = 1
assert transport(controller, store) == tlmc.OK and store.exclusive

lost.clear()
assert plugin.tlmc_free(controller, 0, BASE, 4096, c.byref(me)) == 0, said()
assert lost == [(BASE, BASE + 4095)], lost
assert plugin.tlmc_free(controller, 0, BASE, 4096, c.byref(me)) != 0
assert said(), "a double free has words"
assert plugin.tlmc_allocate(controller, 0, b"dram", 1, c.byref(me), c.byref(address)) != 0
assert "use hbm or tcm" in said()

# Bad accesses are answered; bad calls are refused.
assert transport(controller, tlmc.access(tlmc.READ, 0x7fffffff, bytes(4))) == tlmc.ADDRESS_ERROR
assert plugin.tlmc_transport(controller, 2, c.byref(write)) != 0 and "unknown socket 2" in said()
assert plugin.tlmc_transport(None, 0, c.byref(write)) != 0 and "null pointer" in said()
assert plugin.tlmc_transport(controller, 0, c.byref(tlmc.Access(command=3))) != 0 and "unknown command 3" in said()
state = tlmc.access(tlmc.READ, 0xf40, bytes(4), delay_ps=me.delay_ps)
assert transport(controller, state, tlmc.CONTROL) == tlmc.OK and state.buffer.raw[0] == 3  # done
assert plugin.tlmc_get_dmi(controller, tlmc.CONTROL, c.byref(state), c.byref(dmi)) == 0 and not dmi.pointer

assert plugin.tlmc_get_dmi(controller, tlmc.DATA, c.byref(write), None) == 0 and "null pointer" in said()

# Calls from within a callback fail, and what called back goes on.
inside = []
def call_again(context, first, last):
    inside.extend([plugin.tlmc_reset(controller) and said(), plugin.tlmc_transport(controller, 0, c.byref(write)),
                   plugin.tlmc_create(tlmc.VERSION, b"inside", SETTINGS), plugin.tlmc_tick(1)])
again = tlmc.LOST(call_again)
assert plugin.tlmc_get_dmi(second, tlmc.DATA, c.byref(tlmc.access(tlmc.READ, 1 << 37, bytes(4))), c.byref(dmi)) == 1
plugin.tlmc_on_dmi_lost(second, again, None)
assert plugin.tlmc_reset(second) == 0, said()
assert "from within a callback" in inside[0] and inside[1] != 0 and inside[2] is None and inside[3] != 0, inside
plugin.tlmc_on_dmi_lost(second, tlmc.LOST(0), None)

# Time goes on with ticks alone.
assert plugin.tlmc_now_ps() == 0
assert plugin.tlmc_tick(5_000_000) == 0 and plugin.tlmc_now_ps() == 5_000_000
assert plugin.tlmc_tick(4_999_999) != 0 and "the time is already 5000000 ps" in said()
assert not plugin.tlmc_create(tlmc.VERSION, b"late", SETTINGS) and "time has started" in said()

# A reset, and the other controller, which has KernBench's addresses and knows nothing of all this.
assert plugin.tlmc_allocate(controller, 0, b"tcm", 64, c.byref(me), c.byref(address)) == 0 and address.value == 0x1000
assert plugin.tlmc_reset(controller) == 0, said()
me.delay_ps = 0
assert plugin.tlmc_allocate(controller, 0, b"tcm", 64, c.byref(me), c.byref(address)) == 0 and address.value == 0x1000
me.delay_ps = 0
assert plugin.tlmc_allocate(second, 0, b"hbm", 100, c.byref(me), c.byref(address)) == 0 and address.value == 1 << 37
me.delay_ps = 0
assert plugin.tlmc_allocate(third, 0, b"hbm", 100, c.byref(me), c.byref(address)) == 0 and address.value == 10240
length = plugin.tlmc_statistics(controller, None, 0)
text = c.create_string_buffer(length + 1)
assert plugin.tlmc_statistics(controller, text, length + 1) == length
assert b"controller.controller" in text.value and b"used_bytes" in text.value
print("the plugin does from Python what tlm_c.h says")
