/* The settings of a serving engine: the settings.json beside a measured run, or YAML with its keys. */
#ifndef TLMALLOC_PLATFORM_SERVING_SETTINGS_H
#define TLMALLOC_PLATFORM_SERVING_SETTINGS_H

#include "serving/scheduler.h"
#include "tlmalloc/config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_SERVING_LAYERS_MAX = 64, TLA_SERVING_NAME_MAX = 48 };

/* Names of layers, in order. */
typedef struct tla_serving_layers {
    char names[TLA_SERVING_LAYERS_MAX][TLA_SERVING_NAME_MAX];
    uint32_t count;
} tla_serving_layers;

/* Between the two tiers of a key-value cache. */
typedef struct tla_host_link {
    double bandwidth_gb_s, latency_us; /* 10^9 bytes/s, above 0; of every move besides */
    uint64_t block_bytes;              /* of a block: keys and values of all layers */
} tla_host_link;

enum { TLA_ATTENTION_DMA_REQUESTS = 50 }; /* the most whose attention reads by DMA: every byte is moved */

typedef struct tla_serving_settings {
    tla_scheduler_rules rules;
    bool attention_by_dma;   /* its time is that of reading the blocks on a platform; a law of steps has all else */
    bool pattern_everywhere; /* on a platform all bytes of a block carry its pattern, and are compared; else the ends */
    uint32_t layers, hidden; /* of the model */
    uint32_t dtype_bytes;    /* of an element of what layers hand on; 0: not known */
    tla_serving_layers layer_sequence, once;
    bool skew_correction;
    double skew_alpha_default;
    uint32_t reductions_a_layer;         /* all-reduces, 0: none */
    bool has_reduction_time;             /* the settings state a bandwidth or a latency of all-reduces */
    tla_host_link host_link;             /* where the rules have a second tier */
    double reduction_gb_s, reduction_us; /* their bandwidth, 0: any; what each takes besides */
} tla_serving_settings;

/* Reads a file and overrides as tla_config_load does. Unknown keys of the file, and keys that are null, are ignored;
 * overrides with them are findings, and so are values that are not implemented. */
tla_status tla_serving_settings_load(const char *path, const char *const *overrides, size_t override_count,
                                     tla_serving_settings *settings, tla_config_report report, void *context);

/* The same from memory; `name` stands for the file in findings. */
tla_status tla_serving_settings_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                                      size_t override_count, tla_serving_settings *settings, tla_config_report report,
                                      void *context);

#ifdef __cplusplus
}
#endif
#endif
