# Where the firmware begins: at the first byte of its memory. There are no constructors and no initialised data, and
# nothing is read before it was written, so that there is nothing to clear.
    .section .start, "ax"
    .globl _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, __stack
    j serve
