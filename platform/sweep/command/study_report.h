/* The report of a study: as text, as JSON, as CSV, and as a picture. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_STUDY_REPORT_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_STUDY_REPORT_H

#include "sweep/study.h"

#include <jansson.h>

/* The figures of the Pareto front; count 0: no front. */
typedef struct study_front {
    study_goal goals[SWEEP_FIGURES_MAX];
    size_t count;
} study_front;

void study_print(FILE *out, const study *s, const study_front *front);

/* NULL without host memory. */
json_t *study_to_json(const study *s, const study_front *front);

/* The points in order: number, configuration, status, message, keys and figures; no times of the host. TLA_IO or
 * TLA_NO_HOST_MEMORY; errors of `out` stay there. */
tla_status study_write_csv(const study *s, FILE *out, tla_error *error);

/* The files of a picture. */
typedef struct study_picture {
    FILE *data, *script, *picture; /* picture NULL: no gnuplot */
} study_picture;

tla_status study_open_picture(const char *directory, const study *s, study_picture *made, tla_error *error);

/* A panel for each factor: the goal by its values; and one for the strongest pair. False when gnuplot fails. */
bool study_draw(const study_picture *files, const study *s);

#endif
