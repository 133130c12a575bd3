/* One line on stderr that says how far a long run is, if somebody is watching. */
#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

double host_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

progress_line progress_begin(const char *what) {
    return (progress_line){.what = what, .watched = isatty(STDERR_FILENO), .next = host_seconds() + 1.0};
}

void progress_update(progress_line *progress, uint64_t done, uint64_t total) {
    if (!progress->watched || host_seconds() < progress->next) return;
    fprintf(stderr, "\r%s: %3.0f %%", progress->what, total ? 100.0 * (double)done / (double)total : 100.0);
    fflush(stderr);
    progress->shown = true;
    progress->next = host_seconds() + 0.2;
}

void progress_end(progress_line *progress) {
    if (progress->shown) fprintf(stderr, "\r\033[K");
    progress->shown = false;
}
