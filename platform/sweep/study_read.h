/* Reading the results of a sweep. Internal to studies. */
#ifndef TLMALLOC_PLATFORM_SWEEP_STUDY_READ_H
#define TLMALLOC_PLATFORM_SWEEP_STUDY_READ_H

#include "study.h"

/* The rows and levels of s->goal; errors as of study_work_out. */
tla_status study_read(study *s, tla_error *error);

/* Prepare a statement (sql NULL: no host memory), and convert the code of a step. */
tla_status study_prepare(const study *s, const char *sql, sqlite3_stmt **statement, tla_error *error);
tla_status study_ended(const study *s, int code, tla_error *error);

tla_status study_no_memory(const study *s, tla_error *error);

#endif
