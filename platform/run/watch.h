/* `tlmalloc run --watch`: runs again whenever a file that the run reads has changed, and keeps a page up to date. */
#ifndef TLMALLOC_PLATFORM_RUN_WATCH_H
#define TLMALLOC_PLATFORM_RUN_WATCH_H

#include "cli/text_list.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct watch_request {
    const char *config, *kernel, *page;
    const char *from;             /* NULL: not given */
    text_list set, parameters;    /* stay the caller's */
    const char *include, *shared; /* folders of the headers of kernels */
    const char *script;           /* the path of watch.js */
} watch_request;

/* Runs until a signal ends it. Each run is a process of its own, and so is the report that writes the page. Beside the
 * page PAGE.watch.js tells an open page about new runs. At the end that file and all temporary files are removed, and
 * the page is a page like any other: that of the last run that succeeded, else what was there before. Returns the exit
 * status: CLI_OK after SIGINT, SIGTERM or SIGHUP; another signal then ends the process as it ends any command.
 * CLI_BAD_INPUT for a page that cannot be written or is an input, and for an input that cannot be read again;
 * CLI_FAILED when no page can be written any more. Both with a text. */
int watch_run(const watch_request *request);

#ifdef __cplusplus
}
#endif
#endif
