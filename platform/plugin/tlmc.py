"""The C interface of include/tlmalloc/tlm_c.h for Python, by ctypes."""
import ctypes as c

VERSION = 1
DATA, CONTROL = 0, 1
READ, WRITE, IGNORE = 0, 1, 2
PAUSE, REMAP, RESUME = 23, 24, 25
OK, GENERIC_ERROR, ADDRESS_ERROR, COMMAND_ERROR = 1, -1, -2, -3


class Access(c.Structure):
    _fields_ = [("address", c.c_uint64), ("data", c.c_void_p), ("enables", c.c_void_p),
                ("command", c.c_uint32), ("length", c.c_uint32), ("streaming_width", c.c_uint32),
                ("enables_length", c.c_uint32), ("has_asid", c.c_uint32), ("asid", c.c_uint32),
                ("core", c.c_uint32), ("privilege", c.c_uint32), ("trusted", c.c_uint32),
                ("exclusive", c.c_uint32), ("delay_ps", c.c_uint64), ("response", c.c_int32),
                ("dmi_hint", c.c_uint32)]


class Dmi(c.Structure):
    _fields_ = [("pointer", c.POINTER(c.c_uint8)), ("first", c.c_uint64), ("last", c.c_uint64),
                ("read_latency_ps", c.c_uint64), ("write_latency_ps", c.c_uint64),
                ("reads", c.c_uint32), ("writes", c.c_uint32)]


class Mapping(c.Structure):
    _fields_ = [("va", c.c_uint64), ("nbytes", c.c_uint64), ("address", c.c_uint64), ("asid", c.c_uint32)]


LOST = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64, c.c_uint64)
WARNED = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p)
MAPPING = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_uint32, c.POINTER(Mapping), c.c_size_t)


def load(path):
    plugin = c.CDLL(path)
    for name, result, arguments in [
            ("version", c.c_uint32, []), ("library_version", c.c_char_p, []), ("error", c.c_char_p, []),
            ("create", c.c_void_p, [c.c_uint32, c.c_char_p, c.c_char_p]),
            ("transport", c.c_int, [c.c_void_p, c.c_uint32, c.POINTER(Access)]),
            ("debug", c.c_uint32, [c.c_void_p, c.c_uint32, c.POINTER(Access)]),
            ("get_dmi", c.c_int, [c.c_void_p, c.c_uint32, c.POINTER(Access), c.POINTER(Dmi)]),
            ("on_dmi_lost", None, [c.c_void_p, LOST, c.c_void_p]),
            ("now_ps", c.c_uint64, []), ("tick", c.c_int, [c.c_uint64]), ("reset", c.c_int, [c.c_void_p]),
            ("allocate", c.c_int, [c.c_void_p, c.c_uint32, c.c_char_p, c.c_uint64, c.POINTER(Access),
                                   c.POINTER(c.c_uint64)]),
            ("free", c.c_int, [c.c_void_p, c.c_uint32, c.c_uint64, c.c_uint64, c.POINTER(Access)]),
            ("bind", c.c_int, [c.c_void_p, c.c_uint32] + [c.c_uint64] * 3 + [c.c_uint32, c.POINTER(Access)]),
            ("unbind", c.c_int, [c.c_void_p, c.c_uint32] + [c.c_uint64] * 3 + [c.c_uint32, c.POINTER(Access)]),
            ("move", c.c_int, [c.c_void_p, c.c_uint32, c.c_uint64, c.c_char_p, c.POINTER(Access),
                               c.POINTER(c.c_uint64)]),
            ("on_mapping", None, [c.c_void_p, MAPPING, c.c_void_p]),
            ("statistics", c.c_size_t, [c.c_void_p, c.c_char_p, c.c_size_t]),
            ("on_warning", None, [WARNED, c.c_void_p])]:
        function = getattr(plugin, "tlmc_" + name)
        function.restype, function.argtypes = result, arguments
    return plugin


def access(command, address, data, **more):
    """An access with its bytes in a buffer that is kept with it."""
    buffer = c.create_string_buffer(bytes(data), len(data))
    made = Access(address=address, command=command, length=len(data), streaming_width=len(data),
                  data=c.cast(buffer, c.c_void_p).value, **more)
    made.buffer = buffer
    return made
