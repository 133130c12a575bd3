/* The page of `tlmalloc run --watch`, and the script beside it that tells an open page about new runs. */
#ifndef TLMALLOC_PLATFORM_RUN_WATCH_PAGE_H
#define TLMALLOC_PLATFORM_RUN_WATCH_PAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct watch_page {
    const char *source;    /* the path of watch.js */
    char *path;            /* of the page, behind all symbolic links */
    char script[PATH_MAX]; /* PAGE.watch.js, beside the page as it was named */
    char *code;            /* of watch.js */
    char *before;          /* the bytes of a file that was there before and is no page of tlmalloc's; or NULL */
    size_t before_bytes;   /* of it */
    bool is_new;           /* nothing was there before */
    bool is_written;       /* the file is a watched page */
    char watch[48];        /* a name of this watch */
    unsigned shown;        /* the number of the last page; 0: that of the time before the first run */
    int lock;              /* a descriptor of the script, or -1 */
} watch_page;

/* The first bytes of a page. */
bool watch_page_is_page(const char *path);

/* Takes the script beside `page`, and writes a first page: the page that is there, or one without a run. False with a
 * message when that is impossible: another watch keeps the page, PAGE.watch.js is a file of the user's, or a file
 * cannot be written. watch_page_end must follow. `source` is the path of watch.js and must outlive the page. */
bool watch_page_begin(watch_page *p, const char *page, const char *source);

/* Tells an open page what has happened. `state`: running, done, failed or ended. False with a message. */
bool watch_page_tell(watch_page *p, const char *state, const char *message);

/* Shows the next page, of this text: a page of `tlmalloc report`. False with a message. */
bool watch_page_show(watch_page *p, const char *text);

/* Removes the script. The page is then what `tlmalloc report` has written; if no run succeeded, the file that was there
 * before has its contents again, and a page that did not exist is removed. False with a message when the page cannot be
 * written: it stays as it is. */
bool watch_page_end(watch_page *p);

#ifdef __cplusplus
}
#endif
#endif
