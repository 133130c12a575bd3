/* A page with a script that asks a script beside the page for news. */
#define _GNU_SOURCE
#include "run/watch_page.h"

#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/message.h"
#include "cli/output_name.h"
#include "cli/read_text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES_MAX = 300 << 20 };

/* What a watched page has beside the text of its report. The policy in the head of a page forbids all scripts of other
 * files: a watched page may load those of its own scheme. */
static const char policy[] = "script-src 'unsafe-inline'",
                  allowed[] = " 'self' file:", script_begin[] = "<script id=\"tlmalloc-watch\">\n",
                  script_end[] = "</script>\n", body_end[] = "</body>";

static char *find_last(char *text, const char *part) {
    char *last = NULL;
    for (char *at = text; (at = strstr(at, part)); at++)
        last = at;
    return last;
}

/* ---- files ---- */

/* Writes a file beside its final name, with the mode of the one that is there, and renames it. With `lock` the new file
 * is locked before it has the name, and *lock is a descriptor of it. Returns an error number, or 0. */
static int write_bytes(const char *path, const char *bytes, size_t count, int *lock) {
    char part[PATH_MAX + 32];
    struct stat found;
    const char *const slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    snprintf(part, sizeof part, "%.*s%.200s.%ld.part", folder, path, path + folder, (long)getpid());
    FILE *const out = fopen(part, "we");
    bool good = out;
    if (good && stat(path, &found) == 0) good = fchmod(fileno(out), found.st_mode & 07777) == 0;
    if (good) good = fwrite(bytes, 1, count, out) == count && fflush(out) == 0;
    const int held = good && lock ? fcntl(fileno(out), F_DUPFD_CLOEXEC, 3) : -1;
    if (held >= 0) flock(held, LOCK_EX | LOCK_NB);
    if (out && fclose(out) != 0) good = false;
    if (good && rename(part, path) == 0) {
        if (lock && *lock >= 0) close(*lock);
        if (lock) *lock = held;
        return 0;
    }
    const int reason = errno;
    if (held >= 0) close(held);
    if (out) unlink(part);
    return reason ? reason : EIO;
}

/* Reports why a file was not written; false after an error. */
static bool is_written(const char *path, int reason) {
    if (reason) print_message("tlmalloc run: --output: %s: cannot write: %s", path, strerror(reason));
    return !reason;
}

static bool read_bytes(const char *path, char **bytes, size_t *count) {
    struct stat found;
    FILE *const in = fopen(path, "re");
    *bytes = NULL;
    *count = 0;
    const bool sized = in && fstat(fileno(in), &found) == 0 && found.st_size <= PAGE_BYTES_MAX;
    if (sized) *bytes = malloc((size_t)found.st_size + 1);
    if (*bytes) *count = fread(*bytes, 1, (size_t)found.st_size, in);
    const bool good = *bytes && !ferror(in);
    if (good) (*bytes)[*count] = 0;
    if (in) fclose(in);
    return good;
}

static bool begins_with(const char *path, const char *begin) {
    char text[64] = "";
    FILE *const in = fopen(path, "re");
    if (!in) return false;
    const bool same = fread(text, 1, strlen(begin), in) == strlen(begin) && strcmp(text, begin) == 0;
    fclose(in);
    return same;
}

bool watch_page_is_page(const char *path) {
    return begins_with(path, "<!DOCTYPE html>");
}

/* ---- the text of a page ---- */

/* Replaces a part of a text from malloc, and returns the new text; NULL without host memory. */
static char *replace(char *text, char *at, size_t count, const char *by) {
    const size_t length = strlen(text), added = strlen(by), before = (size_t)(at - text);
    char *const made = malloc(length - count + added + 1);
    if (made) {
        memcpy(made, text, before);
        memcpy(made + before, by, added);
        strcpy(made + before + added, at + count);
    }
    free(text);
    return made;
}

static char *replace_mark(char *text, const char *mark, const char *by) {
    char *const at = text ? strstr(text, mark) : NULL;
    return at ? replace(text, at, strlen(mark), by) : text;
}

/* The last part of the script's name, as in an address, in quotes. */
static void name_script(const char *path, char *name, size_t size) {
    const char *const slash = strrchr(path, '/');
    size_t length = 0;
    name[length++] = '"';
    for (const char *at = slash ? slash + 1 : path; *at && length + 5 < size; at++) {
        const bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                           strchr("._-", *at);
        length += (size_t)snprintf(name + length, size - length, plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
    name[length++] = '"';
    name[length] = 0;
}

static bool can_be_watched(const char *text) {
    return strstr(text, policy) && strstr(text, body_end);
}

/* The page with the script that watches; NULL without host memory. */
static char *add_script(const watch_page *p, const char *text) {
    char name[3 * NAME_MAX + 8], number[32], watch[64];
    name_script(p->script, name, sizeof name);
    snprintf(number, sizeof number, "%u", p->shown);
    snprintf(watch, sizeof watch, "\"%s\"", p->watch);
    char *code = strdup(p->code), *page = strdup(text);
    code = replace_mark(code, "/*PAGE*/0", number);
    code = replace_mark(code, "/*SCRIPT*/\"\"", name);
    code = replace_mark(code, "/*WATCH*/\"\"", watch);
    if (page) page = replace(page, strstr(page, policy) + strlen(policy), 0, allowed);
    if (page) page = replace(page, find_last(page, body_end), 0, script_end);
    if (page && code) page = replace(page, find_last(page, body_end) - strlen(script_end), 0, code);
    if (page && code)
        page = replace(page, find_last(page, body_end) - strlen(script_end) - strlen(code), 0, script_begin);
    if (!code) {
        free(page);
        page = NULL;
    }
    free(code);
    return page;
}

/* The page without it. Changes the text in place. */
static void remove_script(char *text) {
    char *const begin = find_last(text, script_begin), *const end = begin ? strstr(begin, script_end) : NULL;
    if (!end) return;
    memmove(begin, end + strlen(script_end), strlen(end + strlen(script_end)) + 1);
    char *const head = strstr(text, policy), *const more = head ? head + strlen(policy) : NULL;
    if (more && strncmp(more, allowed, strlen(allowed)) == 0)
        memmove(more, more + strlen(allowed), strlen(more + strlen(allowed)) + 1);
}

static bool write_watched(watch_page *p, const char *text) {
    char *const page = add_script(p, text);
    if (!page) print_message("tlmalloc run: --output: %s: no host memory", p->path);
    const bool good = page && is_written(p->path, write_bytes(p->path, page, strlen(page), NULL));
    free(page);
    p->is_written = p->is_written || good;
    return good;
}

/* ---- begin and end ---- */

/* The script belongs to one watch at a time. A watch that was killed leaves it. */
static bool take_script(watch_page *p) {
    struct stat own, found;
    for (int attempt = 0; attempt < 10; attempt++) {
        p->lock = open(p->script, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
        if (p->lock < 0) {
            return is_written(p->script, errno);
        }
        if (flock(p->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            print_message("tlmalloc run: --output: another watch writes this page: end it, or name another page");
            break;
        }
        /* the other watch may have put a new file there before it ended */
        const bool same = fstat(p->lock, &own) == 0 && stat(p->script, &found) == 0 && own.st_ino == found.st_ino &&
                          own.st_dev == found.st_dev;
        if (same && (own.st_size == 0 || begins_with(p->script, "tlmallocWatched("))) return true;
        if (same) {
            print_message("tlmalloc run: --watch: %s exists and is not of a watch: name another page", p->script);
            break;
        }
        close(p->lock);
    }
    if (p->lock >= 0) close(p->lock);
    p->lock = -1;
    return false;
}

static const char waiting[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:\">\n<title>tlmalloc</title>\n</head>\n<body>\n"
    "<h1>tlmalloc</h1>\n<p>No run has succeeded yet.</p>\n</body>\n</html>\n";

/* The page for the time before the first run that succeeds: an earlier page, also one that a killed watch has left. */
static bool write_first(watch_page *p) {
    char *bytes = NULL;
    size_t count = 0;
    p->is_new = access(p->path, F_OK) != 0;
    if (p->is_new) return write_watched(p, waiting);
    if (!read_bytes(p->path, &bytes, &count)) {
        print_message("tlmalloc run: --output: %s: cannot keep the file that is there: name another page", p->path);
        free(bytes);
        return false;
    }
    if (!memchr(bytes, 0, count) && watch_page_is_page(p->path) && can_be_watched(bytes)) {
        remove_script(bytes);
        p->is_new = strcmp(bytes, waiting) == 0;
        const bool good = write_watched(p, bytes);
        free(bytes);
        return good;
    }
    p->before = bytes;
    p->before_bytes = count;
    return write_watched(p, waiting);
}

bool watch_page_begin(watch_page *p, const char *page, const char *source) {
    size_t length = 0;
    tla_error error;
    struct timespec now;
    *p = (watch_page){.source = source, .lock = -1};
    const int written = snprintf(p->script, sizeof p->script, "%s.watch.js", page);
    p->path = output_follow(page);
    if (written < 0 || (size_t)written >= sizeof p->script || !p->path)
        return is_written(page, p->path ? ENAMETOOLONG : errno);
    if (read_text(source, PAGE_BYTES_MAX, &p->code, &length, &error)) {
        print_message("tlmalloc run: --watch: %s", error.text);
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(p->watch, sizeof p->watch, "%ld-%lld-%ld", (long)getpid(), (long long)now.tv_sec, now.tv_nsec);
    return take_script(p) && write_first(p) && watch_page_tell(p, "running", "");
}

/* Returns an error number, or 0. */
static int tell(watch_page *p, const char *state, const char *message) {
    json_t *const now = json_object();
    json_object_set_new(now, "page", json_integer(p->shown));
    json_object_set_new(now, "state", json_string(state));
    json_object_set_new(now, "message", json_from_text(message));
    json_object_set_new(now, "watch", json_string(p->watch));
    char *const text = json_compact_text(now);
    json_decref(now);
    char *call = NULL;
    const int length = text ? asprintf(&call, "tlmallocWatched(%s);\n", text) : -1;
    const int reason = length >= 0 ? write_bytes(p->script, call, (size_t)length, &p->lock) : ENOMEM;
    if (length >= 0) free(call);
    free(text);
    return reason;
}

bool watch_page_tell(watch_page *p, const char *state, const char *message) {
    return is_written(p->script, tell(p, state, message));
}

bool watch_page_show(watch_page *p, const char *text) {
    if (!can_be_watched(text) || !strstr(p->code, "/*WATCH*/")) {
        print_message("tlmalloc run: --watch: %s does not belong to this version: install tlmalloc again", p->source);
        return false;
    }
    p->shown++;
    if (write_watched(p, text)) return true;
    p->shown--; /* the page is the one before */
    return false;
}

/* The page without its script, unless the file is another now. */
static bool write_last(const watch_page *p) {
    char *bytes = NULL;
    size_t count = 0;
    bool good = true;
    if (!p->is_written) return true;
    if (!p->shown && p->before) return is_written(p->path, write_bytes(p->path, p->before, p->before_bytes, NULL));
    if (read_bytes(p->path, &bytes, &count) && !memchr(bytes, 0, count) && strstr(bytes, script_begin)) {
        remove_script(bytes);
        if (!p->shown && p->is_new)
            unlink(p->path);
        else
            good = is_written(p->path, write_bytes(p->path, bytes, strlen(bytes), NULL));
    }
    free(bytes);
    return good;
}

bool watch_page_end(watch_page *p) {
    enum { SEEN_MS = 600 }; /* more than two pauses of watch.js */
    bool good = true;
    if (p->lock >= 0) { /* the page is ours */
        good = write_last(p);
        if (tell(p, "ended", "") == 0) poll(NULL, 0, SEEN_MS);
        unlink(p->script);
        close(p->lock);
    }
    free(p->path);
    free(p->code);
    free(p->before);
    return good;
}
