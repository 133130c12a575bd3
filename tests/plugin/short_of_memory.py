"""A host whose memory is at its end: short_of_memory.py PLUGIN. Calls fail and say so, or do what they should."""
import ctypes as c
import os
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../platform/plugin"))
import tlmc  # noqa: E402

plugin = tlmc.load(sys.argv[1])
SETTINGS = b"hbm.base = 0x80000000\ntcm.present = false\nhbm.capacity_per_cube = 8 GiB\nsystem.pes_per_cube = 1\n"


def in_a_process(body):
    child = os.fork()
    if not child:
        body()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, body.__name__


def with_no_more_than(nbytes, call):
    """What a call returns while the process gets no more than that."""
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + nbytes, resource.RLIM_INFINITY))
    result = call()
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return result


def a_guard_without_memory():
    """It says that it cannot look; where it only reports, the access is made."""
    said = []
    warned = tlmc.WARNED(lambda context, report, text: said.append(text.decode()))
    plugin.tlmc_on_warning(warned, None)
    expected = {b"report": tlmc.OK, b"error": tlmc.GENERIC_ERROR}
    made = {mode: plugin.tlmc_create(tlmc.VERSION, mode, SETTINGS + b"controller.guard = " + mode) for mode in expected}
    assert all(made.values()), plugin.tlmc_error()
    assert plugin.tlmc_tick(1) == 0
    for mode, response in expected.items():
        write = tlmc.access(tlmc.WRITE, 0x80000000, b"hello")
        assert with_no_more_than(1 << 20, lambda: plugin.tlmc_transport(made[mode], tlmc.DATA, c.byref(write))) == 0
        assert write.response == response and "host is out of memory" in said[-1], (mode, write.response, said)


def threads_without_stacks():
    """The simulation is over before it has begun, and every call says why."""
    made = [plugin.tlmc_create(tlmc.VERSION, b"c%d" % number, SETTINGS) for number in range(40)]
    assert all(made), plugin.tlmc_error()
    assert with_no_more_than(0, lambda: plugin.tlmc_tick(1)) != 0
    assert b"stack" in plugin.tlmc_error(), plugin.tlmc_error()
    read = tlmc.access(tlmc.READ, 0x80000000, bytes(4))
    for call in [lambda: plugin.tlmc_transport(made[0], tlmc.DATA, c.byref(read)), lambda: plugin.tlmc_tick(5)]:
        assert call() != 0
        assert all(part in plugin.tlmc_error() for part in [b"the simulation has ended: ", b"stack"]), plugin.tlmc_error()


in_a_process(a_guard_without_memory)
in_a_process(threads_without_stacks)
print("the plugin fails in words where there is no memory")
