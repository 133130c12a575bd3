/* Steps of a serving engine whose blocks are bytes on a platform. Decisions about blocks are commands to its memory
 * controllers and MMUs, and a step waits for them. If the settings select it, a step also waits for attention, which
 * reads the blocks by DMA. */
#ifndef TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_LAW_H
#define TLMALLOC_PLATFORM_SERVING_COMMAND_PLATFORM_LAW_H

#include "serving/command/platform_attention.h"
#include "serving/command/platform_counts.h"
#include "serving/step_law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Builds the platform of a law "platform CONFIG + LAW" (cli/law_argument.h); LAW, of step_law.h, is the rest of a step.
 * Block b lies in the slice of PE b modulo the number of PEs, at a virtual address of that PE; a second tier is in the
 * platform's host_memory, and its moves are by DMA. One in a process. TLA_SYNTAX, TLA_IO; TLA_UNSUPPORTED for a manager
 * other than that of blocks and for slices in lockstep. TLA_INVALID_ARGUMENT for settings without the bytes of a block,
 * or more blocks than fit into the slices or the host's memory. Other errors as tla_step_law_parse.
 *
 * With attention_by_dma every step has in transfer_ns what reading one layer of its requests' blocks took
 * (platform_attention.hpp), times the layers, and of a profile LAW leaves its layer `attention` out. */
tla_status platform_law_parse(const char *text, const tla_serving_settings *settings, tla_step_law *law,
                              tla_error *error);

/* The same on the platform of a configuration, whose modules have names that begin with `prefix`; `rest` is LAW.
 * Several in a process are all made before the first step, and each runs to its end before another begins. The caller
 * sets the handler of SystemC for reports of modules. */
tla_status platform_law_make(const char *prefix, const tla_config *config, const char *rest,
                             const tla_serving_settings *settings, tla_step_law *law, tla_error *error);

/* Starts every HBM free list from a snapshot of an arena (npu::age, with the same errors); call it before the first
 * step. */
tla_status platform_law_age(tla_step_law *law, const char *snapshot, size_t length, tla_error *error);

/* Sends the decisions after the last step, releases the blocks of the cache, and checks that the platform is as before:
 * TLA_LEAK if not; also the errors of a step. */
tla_status platform_law_finish(tla_step_law *law, tla_error *error);

/* Returns the reads of attention so far; all 0 where a law gives its time. */
platform_attention_totals platform_law_attention(const tla_step_law *law);

/* Returns the counts of decisions so far. */
platform_counts platform_law_counts(const tla_step_law *law);

#ifdef __cplusplus
}
#endif
#endif
