/* A sweep: a base platform, keys with values, what runs at every point, and the figures that are kept. */
#ifndef TLMALLOC_PLATFORM_SWEEP_SWEEP_H
#define TLMALLOC_PLATFORM_SWEEP_SWEEP_H

#include "model/config/loader.h"
#include "model/config/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SWEEP_FACTORS_MAX = 64, SWEEP_FIGURES_MAX = 64, SWEEP_OPTIONS_MAX = 24 };

#define SWEEP_POINTS_DEFAULT UINT64_C(1000000)
#define SWEEP_POINTS_MAX (UINT64_C(1) << 40)

/* The row of the base platform. */
#define SWEEP_BASE_POINT INT64_C(-1)

/* A file or a folder that a value names: value[at .. at + length). */
typedef struct sweep_path {
    size_t at, length;
} sweep_path;

enum { SWEEP_PATHS_MAX = 2 };

/* An argument of a command beside keys of a configuration. */
typedef struct sweep_option {
    const char *name; /* "--policy"; NULL ends a list */
    bool is_file;     /* its value may name a file, which stands beside the sweep */
    bool is_flag;     /* it takes no value: true or false of the sweep give it or not */
    size_t (*paths)(const char *value, sweep_path paths[SWEEP_PATHS_MAX]); /* files within its value; NULL: is_file */
} sweep_option;

typedef enum sweep_platform {
    SWEEP_NO_PLATFORM,       /* the command takes no configuration */
    SWEEP_PLATFORM_ARGUMENT, /* CONFIG is its first argument */
    SWEEP_PLATFORM_OPTION    /* --config CONFIG, and keys without it too */
} sweep_platform;

/* A command that can be swept. */
typedef struct sweep_command {
    const char *name;
    sweep_platform platform;
    bool timing_profile; /* CONFIG may be a timing profile */
    bool input;          /* takes a file besides: `input` of the sweep */
    bool input_needed;
    bool experiment; /* each point is an experiment of its own: `workload`, and parameters as "with.NAME" */
    sweep_option options[SWEEP_OPTIONS_MAX];
    bool settings; /* takes settings of its own by --set: "setting.NAME" */
} sweep_command;

typedef enum sweep_kind {
    SWEEP_KEY,       /* of the configuration: --set */
    SWEEP_OPTION,    /* of the command; the value none: not given */
    SWEEP_INPUT,     /* the file that the command reads */
    SWEEP_PARAMETER, /* of a kernel, an experiment's workload, a serving engine: "parameter.m", "with.aged", "setting.x"
                      */
} sweep_kind;

/* A key and its value, as the base has it. */
typedef struct sweep_setting {
    char *name, *value;
    sweep_kind kind;
    tla_place at;
} sweep_setting;

/* A swept key: single values, or a range for drawing. Keys of one axis change together. */
typedef struct sweep_factor {
    char *name;
    sweep_kind kind;
    tla_value_type type; /* of its numbers, where it has some; COUNT where nothing is known of it */
    bool power_of_two;   /* the configuration wants one */
    char **values;       /* NULL entries, of points in a list: the base's value */
    size_t value_count;
    bool ranged, logarithmic;
    uint64_t low, high;
    char *zip; /* the name of the axis; NULL: an axis of its own */
    size_t axis;
    tla_place at;
} sweep_factor;

typedef struct sweep_figure {
    char *name, *path;
    tla_place at;
} sweep_figure;

/* A file that points read, and what lies in it. */
typedef struct sweep_file {
    char *path;
    uint64_t digest;
} sweep_file;

typedef enum sweep_sample { SWEEP_PRODUCT, SWEEP_LIST, SWEEP_RANDOM, SWEEP_LATIN } sweep_sample;

/* product, list, random, latin; NULL past the last. */
const char *sweep_sample_name(uint64_t sample);

typedef struct sweep {
    char *path, *text; /* the file, and its contents */
    char *name, *about;
    const sweep_command *command;
    char *platform, *input, *workload; /* NULL: none; paths from where the program runs */
    bool platform_is_profile;          /* the platform is a timing profile */
    sweep_setting *settings;
    size_t setting_count;
    sweep_factor *factors;
    size_t factor_count;
    size_t axis_count;
    size_t axis_sizes[SWEEP_FACTORS_MAX]; /* values of an axis; of a range 0 */
    sweep_sample sample;
    uint64_t count, seed; /* points; seed of those that are drawn */
    sweep_figure *figures;
    size_t figure_count;
    char **constraints;
    tla_place *constraint_places;
    size_t constraint_count;
    uint64_t time_limit_ps; /* of a point on the host; 0: none */
    sweep_file *files;      /* those that could be read when the sweep was */
    size_t file_count;
    char file[512]; /* of findings, which outlive the reading: the path, cut where it is too long */
} sweep;

/* Reads and checks a sweep by the reader of configurations: its text, and its path for messages and for the files that
 * it names, which stand beside it. `commands` are those that can be swept, the last with name NULL. Findings go to
 * report, which may be NULL. TLA_SYNTAX for any finding, TLA_NO_HOST_MEMORY; *made is empty then, and needs sweep_clear
 * no more. */
tla_status sweep_parse(const char *path, const char *text, size_t length, const sweep_command *commands, sweep *made,
                       tla_config_report report, void *context);
void sweep_clear(sweep *s);

/* Returns the value of a factor at a point, 0 .. count - 1, or the base's at SWEEP_BASE_POINT; false: the base has
 * none. The points of a product are in the order of the keys, the last key the fastest. Drawn points depend only on the
 * seed: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). A Latin hypercube
 * has a value from each of `count` equal parts of every axis (McKay, Beckman, Conover 1979). Its permutations are those
 * of a Feistel network that is walked until it ends below `count`, so that nothing is stored. */
bool sweep_value(const sweep *s, int64_t point, size_t factor, tla_phrase *value);

/* The same for a reader: where neither the point nor the base has a value, that of the resolved configuration. *has:
 * false without a value, for example for an invalid configuration. TLA_NO_HOST_MEMORY. */
tla_status sweep_shown_value(const sweep *s, int64_t point, size_t factor, tla_phrase *value, bool *has);

/* Which value of its list a factor has at a point; SIZE_MAX where it has none: in a range, or the base's. */
size_t sweep_level(const sweep *s, int64_t point, size_t factor);

/* Whether the base alone can run: every swept option has a value without the sweep. */
bool sweep_has_base(const sweep *s);

/* Returns the base's value of a setting; NULL if the file has none. */
const char *sweep_setting_value(const sweep *s, const char *name);

/* A word for the command line or the experiment of a point, in the order in which they are given. */
typedef void (*sweep_visit)(void *context, sweep_kind kind, const char *name, const char *value);

/* Everything that is set at a point: the base's settings that no factor overrides, then the factors. */
void sweep_each_setting(const sweep *s, int64_t point, sweep_visit visit, void *context);

/* Resolves the configuration of a point; nothing is read for a command without a configuration, or with a timing
 * profile. TLA_SYNTAX with the found text; `error` may be NULL. */
tla_status sweep_config(const sweep *s, int64_t point, tla_config *config, tla_error *error);
bool sweep_has_config(const sweep *s);

/* Computes sixteen digits that identify a run: the command, its words, every key of the resolved configuration, and the
 * contents of the files that they name, by FNV-1a of 64 bits. The place of a file does not count, nor do the files that
 * a file names (the headers of a kernel). Equal digits: the same run. TLA_SYNTAX for an invalid configuration. */
tla_status sweep_hash(const sweep *s, int64_t point, char hash[17]);

/* The same of the whole sweep: keys, values, sample, seed, constraints, figures and the base. */
tla_status sweep_fingerprint(const sweep *s, char hash[17]);

#ifdef __cplusplus
}
#endif
#endif
