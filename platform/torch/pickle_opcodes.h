/* The instructions of pickle, as in the source of CPython's pickletools. A writer is free to use any of those that are
 * handled, so none is left out because CPython's own does not use it in some protocol. */
#ifndef TLMALLOC_PLATFORM_TORCH_PICKLE_OPCODES_H
#define TLMALLOC_PLATFORM_TORCH_PICKLE_OPCODES_H

/* Those that are handled. */
enum {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    DUP = '2',
    NONE = 'N',
    INT = 'I',
    LONG = 'L',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    LONG4 = 0x8b,
    FLOAT = 'F',
    BINFLOAT = 'G',
    STRING = 'S',
    BINSTRING = 'T',
    SHORT_BINSTRING = 'U',
    UNICODE = 'V',
    BINUNICODE = 'X',
    LIST = 'l',
    EMPTY_LIST = ']',
    APPEND = 'a',
    APPENDS = 'e',
    DICT = 'd',
    EMPTY_DICT = '}',
    SETITEM = 's',
    SETITEMS = 'u',
    EMPTY_TUPLE = ')',
    TUPLE = 't',
    PUT = 'p',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    GET = 'g',
    BINGET = 'h',
    LONG_BINGET = 'j',
    PROTO = 0x80,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    MEMOIZE = 0x94,
    FRAME = 0x95
};

/* Returns the name of a rejected opcode, which plain data do not need; NULL for the opcodes above and for unknown ones.
 * */
const char *pickle_refused_name(unsigned char opcode);

#endif
