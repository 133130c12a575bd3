/* Output files that appear complete or not at all. */
#include "cli/output.h"

#include "cli/fst_file.h"
#include "cli/output_name.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct output {
    struct output *next;
    FILE *stream;           /* NULL: finished */
    char *path, *temporary; /* temporary NULL: written in place */
    char *final;            /* the final name of the temporary file */
    const char *option;
    fst_file *fst; /* an FST; NULL: what is written is the file */
    output_name name;
} output;

typedef struct input {
    struct input *next;
    char *path;
    output_name name;
} input;

/* One command in a process. The signal handler walks the outputs, so the lists change with signals blocked. */
static output *volatile outputs;
static input *inputs;
static bool standard_output_taken; /* by an output, which may be finished */
static bool standard_output_bad;   /* and an error has reported it */
static bool standard_known;        /* where it leads */
static struct stat standard_before;

static void block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, before);
}

static void restore_signals(const sigset_t *before) {
    sigprocmask(SIG_SETMASK, before, NULL);
}

void output_protect(const char *path) {
    struct stat found;
    if (!path || stat(path, &found) != 0) return;
    input *made = malloc(sizeof *made);
    char *copy = strdup(path);
    if (!made || !copy) { /* it will be missed soon enough */
        free(made);
        free(copy);
        return;
    }
    *made = (input){.next = inputs, .path = copy, .name = output_name_of(&found)};
    inputs = made;
}

static tla_status no_memory(const char *path, tla_error *error) {
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path);
}

static tla_status cannot_write(const char *path, int reason, tla_error *error) {
    return tla_error_set(error, TLA_IO, "%s: cannot write: %s", path,
                         reason ? strerror(reason) : "an earlier write failed");
}

tla_status output_make_directory(const char *path, tla_error *error) {
    struct stat found;
    output_name name;
    if (!*path || strcmp(path, "-") == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "found '%s', expected the name of a directory", path);
    for (const output *o = output_name_find(path, -1, &name) ? outputs : NULL; o; o = o->next)
        if (output_names_meet(&name, &o->name))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: the directory is also the output '%s' of %s: name another directory", path,
                                 o->path, o->option);
    if (mkdir(path, 0777) == 0) return TLA_OK;
    const int reason = errno;
    if (stat(path, &found) != 0 || reason != EEXIST) return cannot_write(path, reason, error);
    return S_ISDIR(found.st_mode) ? TLA_OK
                                  : tla_error_set(error, TLA_IO, "%s: not a directory: name a directory", path);
}

/* The file that standard output goes to; false when it is none. */
static bool find_standard_file(output_name *name) {
    struct stat found;
    if (fstat(STDOUT_FILENO, &found) != 0 || !S_ISREG(found.st_mode)) return false;
    *name = output_name_of(&found);
    return true;
}

tla_status output_check_standard(tla_error *error) {
    output_name standard;
    if (!standard_known) standard_known = fstat(STDOUT_FILENO, &standard_before) == 0;
    if (!find_standard_file(&standard)) return TLA_OK;
    for (const input *i = inputs; i; i = i->next)
        if (output_names_meet(&standard, &i->name))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "standard output is the input '%s': redirect it to another file", i->path);
    return TLA_OK;
}

/* Whether an input, an output before this one, or standard output is the same file. */
static tla_status check_conflicts(const output *made, tla_error *error) {
    for (const input *i = inputs; i; i = i->next)
        if (output_names_meet(&made->name, &i->name))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: '%s' is the input '%s': name another file",
                                 made->option, made->path, i->path);
    for (const output *o = outputs; o; o = o->next)
        if (output_names_meet(&made->name, &o->name) || (made->stream == stdout && o->stream == stdout))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: '%s' is also the output '%s' of %s: name another file", made->option, made->path,
                                 o->path, o->option);
    output_name standard;
    if (made->stream == stdout || !find_standard_file(&standard) || !output_names_meet(&made->name, &standard))
        return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s: standard output already goes to '%s': name another file, or - for standard output",
                         made->option, made->path);
}

/* Makes the temporary file beside the final one, with the mode that the final one has or would get. */
static int open_temporary(output *made, const struct stat *existing) {
    enum { SUFFIX_BYTES = 40, NAME_KEPT = 200 };
    const char *slash = strrchr(made->final, '/');
    int directory = slash ? (int)(slash + 1 - made->final) : 0;
    size_t room = strlen(made->final) + SUFFIX_BYTES;
    int file = -1;
    made->temporary = malloc(room);
    if (!made->temporary) return -1;
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(made->temporary, room, "%.*s%.*s.%ld-%d.part", directory, made->final, NAME_KEPT,
                 made->final + directory, (long)getpid(), attempt);
        file = open(made->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) break;
    }
    if (file >= 0 && existing && fchmod(file, existing->st_mode & 07777) != 0) {
        int reason = errno;
        close(file);
        unlink(made->temporary);
        errno = reason;
        file = -1;
    }
    return file;
}

/* Opens a path that names no descriptor. An error leaves errno. */
static bool open_path(output *made, bool is_fst) {
    struct stat found;
    made->final = output_follow(made->path);
    if (!made->final) return false;
    bool exists = stat(made->final, &found) == 0;
    if (exists && !S_ISREG(found.st_mode)) {
        made->stream = fopen(made->final, "w");
        return made->stream;
    }
    if (exists && access(made->final, W_OK) != 0) return false;
    int file = open_temporary(made, exists ? &found : NULL);
    if (file < 0) return false;
    if (!is_fst) {
        made->stream = fdopen(file, "w");
    } else {
        close(file);
        if (fst_begin(made->temporary, &made->fst, &made->stream)) errno = ENOMEM;
    }
    return made->stream;
}

static bool open_descriptor(output *made, int descriptor) {
    if (made->stream) return true; /* standard output */
    int copy = dup(descriptor);
    if (copy >= 0) made->stream = fdopen(copy, "w");
    return made->stream;
}

static void discard(output *made) {
    if (made->stream && made->stream != stdout) fclose(made->stream);
    fst_release(made->fst);
    if (made->temporary) unlink(made->temporary);
    free(made->path);
    free(made->final);
    free(made->temporary);
    free(made);
}

static tla_status open_output(const char *option, const char *path, bool is_fst, FILE **stream, tla_error *error) {
    *stream = NULL;
    tla_status status = output_check_standard(error);
    if (status || !path) return status;
    if (!*path) return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found '', expected the name of a file", option);
    output *made = calloc(1, sizeof *made);
    if (!made || !(made->path = strdup(path))) {
        free(made);
        return no_memory(path, error);
    }
    made->option = option;
    int descriptor = output_descriptor(path);
    /* Names are compared before anything is opened: opening a pipe waits for its reader. */
    if (!output_name_find(path, descriptor, &made->name)) {
        status = cannot_write(path, errno, error);
        discard(made);
        return status;
    }
    if (is_fst && (descriptor >= 0 || made->name.in_place)) {
        discard(made);
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: '%.200s' is no regular file, which an FST needs: name another file, or write a VCD",
                             option, path);
    }
    if (descriptor == STDOUT_FILENO) made->stream = stdout;
    status = check_conflicts(made, error);
    if (status) {
        discard(made);
        return status;
    }
    sigset_t before;
    bool in_place = descriptor >= 0 || made->name.in_place;
    if (!in_place) block_signals(&before); /* the temporary file and its entry in the list come together */
    bool good = descriptor >= 0 ? open_descriptor(made, descriptor) : open_path(made, is_fst);
    int reason = errno;
    if (good) {
        made->next = outputs;
        outputs = made;
        *stream = made->stream;
        standard_output_taken |= made->stream == stdout;
    } else {
        discard(made);
        status = cannot_write(path, reason, error);
    }
    if (!in_place) restore_signals(&before);
    return status;
}

tla_status output_open(const char *option, const char *path, FILE **stream, tla_error *error) {
    return open_output(option, path, false, stream, error);
}

tla_status output_open_waveform(const char *option, const char *path, FILE **stream, tla_error *error) {
    const bool is_fst = path && fst_is_name(path);
    *stream = NULL;
    if (is_fst) {
        const tla_status status = fst_find_programs(path, error);
        if (status) return status;
    }
    return open_output(option, path, is_fst, stream, error);
}

void output_drop(FILE *stream) {
    sigset_t before;
    block_signals(&before);
    output *previous = NULL;
    for (output *o = outputs; stream && o; previous = o, o = o->next) {
        if (o->stream != stream) continue;
        if (previous)
            previous->next = o->next;
        else
            outputs = o->next;
        discard(o);
        break;
    }
    restore_signals(&before);
}

/* Puts the temporary file in its place, where since it was opened nothing but a regular file may have come. An error
 * leaves errno. */
static bool replace(const output *o) {
    struct stat found;
    if (lstat(o->final, &found) == 0 && !S_ISREG(found.st_mode)) {
        errno = S_ISDIR(found.st_mode) ? EISDIR : EEXIST;
        return false;
    }
    return rename(o->temporary, o->final) == 0;
}

/* Writes the rest: returns -1, or the cause of a failure, 0 when the cause is unknown. */
static int flush(FILE *stream) {
    errno = 0;
    if (fflush(stream) == 0 && !ferror(stream)) return -1;
    if (errno) return errno;
    clearerr(stream); /* a write failed earlier: another write most likely has the cause */
    return fputc('\n', stream) == EOF || fflush(stream) != 0 ? errno : 0;
}

/* Whether a descriptor still leads where it did: a kernel may have closed it, and opened another file there. */
static bool leads_to(int descriptor, dev_t device, ino_t number) {
    struct stat found;
    return fstat(descriptor, &found) == 0 && found.st_dev == device && found.st_ino == number;
}

tla_status output_flush_standard(tla_error *error) {
    if (standard_output_bad) return TLA_OK;
    int reason = flush(stdout);
    if (standard_known && !leads_to(STDOUT_FILENO, standard_before.st_dev, standard_before.st_ino)) reason = EBADF;
    if (reason < 0) return TLA_OK;
    standard_output_bad = true;
    return cannot_write("standard output", reason, error);
}

static bool leads_astray(const output *o) {
    struct stat own;
    if (o->fst) return false; /* the file is compared with what was written */
    if (o->temporary) return stat(o->temporary, &own) != 0 || !leads_to(fileno(o->stream), own.st_dev, own.st_ino);
    return o->name.exists && !leads_to(fileno(o->stream), o->name.device, o->name.number);
}

/* Everything that was written is in the file, and the file is closed. */
static tla_status finish(output *o, tla_error *error) {
    FILE *stream = o->stream;
    const bool astray = stream != stdout && leads_astray(o);
    o->stream = NULL;
    if (stream == stdout) return TLA_OK; /* it is not closed, and flushed for all */
    int reason = flush(stream);
    if (astray) reason = EBADF;
    if (fclose(stream) != 0 && reason < 0) reason = errno;
    if (o->fst) { /* which knows the cause of a broken pipe */
        const tla_status status = fst_finish(o->fst, o->path, error);
        if (status) return status;
    }
    return reason < 0 ? TLA_OK : cannot_write(o->path, reason, error);
}

tla_status output_commit(tla_error *error) {
    tla_status status = output_flush_standard(error);
    for (output *o = outputs; o; o = o->next) {
        tla_error found;
        tla_status finished = finish(o, &found);
        if (finished && !status) status = tla_error_set(error, finished, "%s", found.text);
    }
    sigset_t before;
    block_signals(&before);
    while (outputs) {
        output *o = outputs;
        outputs = o->next;
        if (!status && o->temporary) {
            if (!replace(o)) {
                status = cannot_write(o->path, errno, error);
            } else {
                free(o->temporary);
                o->temporary = NULL;
            }
        }
        discard(o);
    }
    restore_signals(&before);
    return status;
}

FILE *output_table(void) {
    return standard_output_taken ? stderr : stdout;
}

int output_remove_unfinished(void) {
    int removed = 0;
    for (const output *o = outputs; o; o = o->next) {
        if (!o->temporary) continue;
        if (o->fst) fst_end(o->fst);
        removed += unlink(o->temporary) == 0;
    }
    return removed;
}
