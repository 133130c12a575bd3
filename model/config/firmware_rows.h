/* The rows of the cycles of firmware, by class of instructions (engine.h). For platform_keys.c, which defines
 * ROW_STRUCT. */
#ifndef TLMALLOC_MODEL_CONFIG_FIRMWARE_ROWS_H
#define TLMALLOC_MODEL_CONFIG_FIRMWARE_ROWS_H

#include "row.h"

#define FIRMWARE(kind, low, default_cycles, meaning)                                                                   \
    {                                                                                                                  \
        CYCLES(controller.firmware.kind, controller.firmware.kind, low, 1000),                                         \
            "stall cycles in the documentation of Ibex, a core of this class", default_cycles,                         \
            "firmware: cycles " meaning                                                                                \
    }

#define FIRMWARE_ROWS                                                                                                  \
    FIRMWARE(instruction, 1, "1 tCK", "of every instruction of the core; the keys below add cycles for some classes"), \
        FIRMWARE(load, 0, "1 tCK", "that a load adds: the core's wait for its memory or its mailbox"),                 \
        FIRMWARE(store, 0, "1 tCK", "that a store adds"),                                                              \
        FIRMWARE(taken_branch, 0, "2 tCK", "that a taken conditional branch adds"),                                    \
        FIRMWARE(jump, 0, "1 tCK", "that a jump, a call or a return adds"),                                            \
        FIRMWARE(multiply, 0, "2 tCK", "that a multiplication adds"),                                                  \
        FIRMWARE(divide, 0, "36 tCK", "that a division adds")

#endif
