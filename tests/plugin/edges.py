"""Where the plugin's calls end: edges.py PLUGIN. The end of time, threads, debug accesses with byte enables."""
import ctypes as c
import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../platform/plugin"))
import tlmc  # noqa: E402

plugin = tlmc.load(sys.argv[1])
BASE, SIZE = 0x80000000, 1 << 16
controller = plugin.tlmc_create(tlmc.VERSION, b"controller", b"hbm.base = 0x80000000\ntcm.present = false\n"
                                b"hbm.capacity_per_cube = 64 KiB\nsystem.pes_per_cube = 1\n")


def said():
    return plugin.tlmc_error().decode()


assert controller, said()

# A debugger's access moves the bytes that an access moves.
seed = int(os.environ.get("TLMALLOC_SEED", "30"))
print("TLMALLOC_SEED=%d" % seed)
dice = random.Random(seed)
for _ in range(3000):
    length = dice.randrange(1, 80)
    data = dice.randbytes(length)
    width = dice.choice([length, dice.randrange(1, length + 5)])
    enables = bytes(dice.choice([0, 255]) for _ in range(dice.randrange(1, 90))) if dice.randrange(3) else None
    at = BASE + dice.randrange(SIZE - length)
    command = dice.choice([tlmc.READ, tlmc.WRITE])
    before = tlmc.access(tlmc.READ, at, bytes(length))
    assert plugin.tlmc_transport(controller, tlmc.DATA, c.byref(before)) == 0

    def made():
        access = tlmc.access(command, at, data)
        access.streaming_width = width
        if enables:
            access.kept = c.create_string_buffer(enables, len(enables))
            access.enables, access.enables_length = c.cast(access.kept, c.c_void_p).value, len(enables)
        return access

    outcomes = []
    for is_debug in True, False:
        access, after = made(), tlmc.access(tlmc.READ, at, bytes(length))
        if is_debug:
            enabled = sum(not enables or enables[i % len(enables)] != 0 for i in range(length))
            assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(access)) == enabled, said()
        else:
            assert plugin.tlmc_transport(controller, tlmc.DATA, c.byref(access)) == 0 and access.response == tlmc.OK
        assert plugin.tlmc_transport(controller, tlmc.DATA, c.byref(after)) == 0
        outcomes.append((access.buffer.raw, after.buffer.raw))
        undo = tlmc.access(tlmc.WRITE, at, before.buffer.raw)
        assert plugin.tlmc_transport(controller, tlmc.DATA, c.byref(undo)) == 0
    assert outcomes[0] == outcomes[1], (length, width, enables, outcomes)
none = tlmc.access(tlmc.READ, BASE, bytes(4), enables=1)
assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(none)) == 0 and "byte enables of length 0" in said()

# Without data nothing is moved, also where the first byte is not enabled.
enables = c.create_string_buffer(b"\0\xff", 2)
for command in tlmc.READ, tlmc.WRITE:
    for enabled in {}, {"enables": c.cast(enables, c.c_void_p).value, "enables_length": 2}:
        none = tlmc.Access(address=BASE, command=command, length=16, streaming_width=16, **enabled)
        assert plugin.tlmc_debug(controller, tlmc.DATA, c.byref(none)) == 0 and "null pointer for the data of 16" in said()

# Of two threads at once the second is told so, in words of its own; a callback's calls are told apart.
words = {}


def call_from(name):
    assert plugin.tlmc_reset(controller) != 0
    words[name] = said()


def called_back(context, first, last):
    other = threading.Thread(target=call_from, args=["thread"])
    call_from("callback")
    other.start()
    other.join()


lost = tlmc.LOST(called_back)
dmi = tlmc.Dmi()
assert plugin.tlmc_get_dmi(controller, tlmc.DATA, c.byref(tlmc.access(tlmc.READ, BASE, bytes(4))), c.byref(dmi)) == 1
plugin.tlmc_on_dmi_lost(controller, lost, None)
assert plugin.tlmc_reset(controller) == 0, said()
plugin.tlmc_on_dmi_lost(controller, tlmc.LOST(0), None)
assert "from within a callback" in words["callback"], words
assert "another thread is in a call" in words["thread"], words
assert "another thread" not in said()
failures = []


def hammer():
    for _ in range(3000):
        access = tlmc.access(tlmc.READ, BASE, bytes(4))
        if plugin.tlmc_transport(controller, tlmc.DATA, c.byref(access)) != 0:
            failures.append(said())


threads = [threading.Thread(target=hammer) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert all("another thread is in a call" in text for text in failures), failures

# No access begins or ends behind the end of time.
for at in 0, 5_000_000, 2**62, 2**63, 2**63 + 1, 2**64 - 1:
    assert plugin.tlmc_tick(at) == 0 and plugin.tlmc_now_ps() == at, said()
    for delay in 0, 1, 2**32, 2**63 - at if at <= 2**63 else 0, 2**63, 2**63 + 1, 2**64 - 1:
        access = tlmc.access(tlmc.READ, BASE, bytes(64), delay_ps=delay)
        who, address = tlmc.Access(delay_ps=delay), c.c_uint64()
        for call, delayed in [(lambda: plugin.tlmc_transport(controller, tlmc.DATA, c.byref(access)), access),
                              (lambda: plugin.tlmc_allocate(controller, 0, b"hbm", 64, c.byref(who),
                                                            c.byref(address)), who)]:
            done = call()
            if at + delay <= 2**63:
                assert done == 0 and delay <= delayed.delay_ps < 2**63 + 2**62, (at, delay, said())
            else:
                assert done != 0 and "after 2^63 ps" in said(), (at, delay, said())
                assert delayed.delay_ps == delay
        if at + delay <= 2**63:
            who.delay_ps = 0
            assert plugin.tlmc_reset(controller) == 0
print("the plugin's calls end where tlm_c.h says")
