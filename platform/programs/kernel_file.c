/* Compiles and opens a kernel's file. */
#define _GNU_SOURCE
#include "kernel_file.h"

#include "model/base/phrase.h"
#include "object_check.h"
#include "program.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The scratch folder of the current compilation, for a signal that ends it; empty without a compilation. The compiler
 * leads a group of processes. */
static volatile pid_t compiler;
static char scratch_folder[PATH_MAX], scratch_object[PATH_MAX + 16], scratch_shared[PATH_MAX + 16];

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), least = strlen(end);
    return length >= least && strcmp(text + length - least, end) == 0;
}

bool tl_is_kernel_file(const char *word) {
    return ends_with(word, ".c") || ends_with(word, ".so") || strchr(word, '/');
}

/* Removes the files of a folder. Without memory of the host, for a handler of signals. */
static void remove_files(const char *path) {
    _Alignas(struct dirent64) char entries[4096];
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    for (ssize_t got; (got = getdents64(folder, entries, sizeof entries)) > 0;)
        for (ssize_t at = 0; at < got; at += ((const struct dirent64 *)(const void *)(entries + at))->d_reclen)
            unlinkat(folder, ((const struct dirent64 *)(const void *)(entries + at))->d_name, 0);
    close(folder);
}

void tl_kernel_file_remove_scratch(void) {
    enum { TRIES = 1000 }; /* of a ms: a compiler that has been killed may make a last file */
    if (compiler) kill(-compiler, SIGKILL);
    if (!scratch_folder[0]) return;
    for (int tries = 0; tries < TRIES; tries++) {
        remove_files(scratch_folder);
        if (rmdir(scratch_folder) == 0 || errno == ENOENT) break;
        poll(NULL, 0, 1);
    }
    scratch_folder[0] = 0;
}

/* A path that no program takes for an option, or for a file of options. */
static void plain_path(const char *path, char *plain, size_t size) {
    snprintf(plain, size, "%s%s", *path == '-' || *path == '@' ? "./" : "", path);
}

static tla_status make_scratch(tla_error *error) {
    const char *where = getenv("TMPDIR");
    char root[PATH_MAX], folder[PATH_MAX];
    plain_path(where && *where ? where : "/tmp", root, sizeof root);
    if (where && *where && strcmp(root, where) != 0 &&
        setenv("TMPDIR", root, 1)) /* the compiler's own files go there */
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    int length = snprintf(folder, sizeof folder, "%s/tlmalloc-kernel-XXXXXX", root);
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder))
        return tla_error_set(error, TLA_IO,
                             "%s: cannot create a folder for the compiler: %s; set TMPDIR to a writable folder", folder,
                             strerror(errno));
    snprintf(scratch_object, sizeof scratch_object, "%s/kernel.o", folder);
    snprintf(scratch_shared, sizeof scratch_shared, "%s/kernel.so", folder);
    memcpy(scratch_folder, folder, sizeof folder);
    return TLA_OK;
}

/* Returns the environment of a compiler: its own temporary files are in the folder, too, and are removed with it. NULL
 * without memory. */
static char **environment(char *folder, size_t size) {
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **made = malloc((count + 2) * sizeof *made);
    if (!made) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "TMPDIR=", strlen("TMPDIR=")) != 0) made[kept++] = environ[i];
    snprintf(folder, size, "TMPDIR=%s", scratch_folder);
    made[kept++] = folder;
    made[kept] = NULL;
    return made;
}

/* Starts a program with this process's signals, without input, and in a group of its own, so that the whole group can
 * be ended; its output goes to standard error. Returns an errno, or 0. */
static int start(char *const *words, char *const *variables) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all, before;
    pid_t made = 0;
    if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* the process and its number come together */
    int failed = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (!failed) failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed) failed = posix_spawnattr_setpgroup(&attributes, 0);
    if (!failed) failed = posix_spawnattr_setsigmask(&attributes, &before);
    if (!failed) failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    if (!failed) failed = posix_spawnp(&made, words[0], &actions, &attributes, words, variables);
    if (!failed) compiler = made;
    sigprocmask(SIG_SETMASK, &before, NULL);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* The compiler's status, as of waitpid; false when it has not ended in time, and has been killed. */
static bool wait_for_compiler(unsigned limit_ms, int *status) {
    enum { STEP_MS = 10 };
    for (unsigned waited = 0; waitpid(compiler, status, WNOHANG) == 0; waited += STEP_MS) {
        if (waited >= limit_ms) {
            kill(-compiler, SIGKILL);
            while (waitpid(compiler, status, 0) < 0 && errno == EINTR)
                ;
            compiler = 0;
            return false;
        }
        poll(NULL, 0, STEP_MS);
    }
    compiler = 0;
    return true;
}

static tla_status run_compiler(char *const *words, const char *path, unsigned limit_ms, tla_error *error) {
    char folder[PATH_MAX + 16];
    char **const variables = environment(folder, sizeof folder);
    const int failed = variables ? start(words, variables) : ENOMEM;
    free(variables);
    if (failed == ENOENT || failed == EACCES)
        return tla_error_set(error, TLA_NOT_FOUND,
                             "%s: C compiler '%s' not found: install gcc, name another compiler in CC, or compile the "
                             "kernel elsewhere and pass its .so",
                             path, words[0]);
    if (failed) return tla_error_set(error, TLA_IO, "%s: %s: %s", path, words[0], strerror(failed));
    int status = 0;
    if (!wait_for_compiler(limit_ms, &status))
        return tla_error_set(error, TLA_TIMEOUT,
                             "%s: the C compiler '%s' did not finish in %u s and was killed: name another compiler in "
                             "CC, or compile the kernel elsewhere and pass its .so",
                             path, words[0], limit_ms / 1000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return tla_error_set(error, TLA_NOT_FOUND,
                             "%s: the C compiler '%s' cannot be run: name another compiler in CC, or compile the "
                             "kernel elsewhere and pass its .so",
                             path, words[0]);
    if (status)
        return tla_error_set(error, TLA_SYNTAX, "%s: does not compile: see the messages of %s above", path, words[0]);
    return TLA_OK;
}

/* A command: $CC, which may have options, and its arguments. */
typedef struct command {
    char *cc, **words; /* from malloc */
    size_t first;      /* behind those of $CC */
} command;

static tla_status begin_command(command *c, size_t more, tla_error *error) {
    const char *cc = getenv("CC");
    if (!cc || !cc[strspn(cc, " \t")]) cc = "cc";
    *c = (command){.cc = strdup(cc), .words = calloc(strlen(cc) / 2 + 1 + more, sizeof *c->words)};
    if (!c->cc || !c->words) {
        free(c->cc);
        free(c->words);
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    }
    char *rest = NULL;
    for (char *word = strtok_r(c->cc, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        c->words[c->first++] = word;
    return TLA_OK;
}

static tla_status compile(const char *path, const char *include, const char *kernels, unsigned limit_ms,
                          tla_error *error) {
    char headers[PATH_MAX + 2], shared[PATH_MAX + 2], source[PATH_MAX + 2];
    command made;
    plain_path(path, source, sizeof source);
    snprintf(headers, sizeof headers, "-I%s", include);
    snprintf(shared, sizeof shared, "-I%s", kernels);
    /* A large frame must meet the guard page and not step over it; fused operations differ from host to host. */
    char *compiling[] = {"-std=c17",
                         "-O2",
                         "-g",
                         "-fPIC",
                         "-Wall",
                         "-fstack-clash-protection",
                         "-ffp-contract=off",
                         "-fno-common",
                         headers,
                         shared,
                         "-c",
                         source,
                         "-o",
                         scratch_object,
                         NULL};
    /* Without start files: all data of the object are the kernel's. */
    char *linking[] = {"-shared", "-nostartfiles", scratch_object, "-o", scratch_shared, "-lm", NULL};
    tla_status status = begin_command(&made, sizeof compiling / sizeof *compiling, error);
    if (status) return status;
    memcpy(made.words + made.first, compiling, sizeof compiling);
    status = run_compiler(made.words, path, limit_ms, error);
    if (!status) status = tl_object_check(scratch_object, path, error);
    memcpy(made.words + made.first, linking, sizeof linking);
    if (!status) status = run_compiler(made.words, path, limit_ms, error);
    free(made.cc);
    free(made.words);
    return status;
}

/* The declaration of an open object, as far as its own headers knew it. */
static tla_status take_declaration(tl_kernel_file *file, const char *path, tla_error *error) {
    const tl_kernel_info *declared = dlsym(file->object, "tl_kernel_declaration");
    if (!declared) return tla_error_set(error, TLA_SYNTAX, "%s: declares no kernel: add a TL_KERNEL(...)", path);
    tla_error why;
    file->kernel = (tl_kernel_info){0};
    if (declared->calls_version != TL_CALLS_VERSION || declared->bytes > sizeof file->kernel)
        file->kernel = (tl_kernel_info){declared->calls_version, declared->calls_bytes, declared->bytes};
    else
        memcpy(&file->kernel, declared, declared->bytes);
    tla_status status = tl_kernel_validate(&file->kernel, &why);
    return status ? tla_error_set(error, status, "%s: %s", path, why.text) : TLA_OK;
}

static tla_status open_object(const char *object, const char *path, tl_kernel_file *file, tla_error *error) {
    file->object = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!file->object) {
        const char *said = dlerror();
        const char *undefined = said ? strstr(said, "undefined symbol: ") : NULL;
        return tla_error_set(error, TLA_UNSUPPORTED, "%s: cannot be loaded: %s", path,
                             undefined ? undefined
                             : said    ? said
                                       : "unknown reason");
    }
    tla_status status = take_declaration(file, path, error);
    if (status) tl_kernel_file_close(file);
    return status;
}

tla_status tl_kernel_file_prepare(const char *path, const char *include, const char *kernels, unsigned limit_ms,
                                  tl_kernel_file *file, tla_error *error) {
    *file = (tl_kernel_file){.path = path};
    if (!realpath(path, file->code)) return tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text);
    if (!ends_with(path, ".c")) return tl_object_check(file->code, path, error);
    struct stat found;
    const int reason = stat(file->code, &found) || access(file->code, R_OK) ? errno
                       : S_ISDIR(found.st_mode)                             ? EISDIR
                                                                            : 0;
    if (reason) return tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(reason).text);
    char header[PATH_MAX];
    const int length = snprintf(header, sizeof header, "%s/tlmalloc/kernel.h", include);
    if (length < 0 || (size_t)length >= sizeof header || access(header, R_OK))
        return tla_error_set(error, TLA_NOT_FOUND,
                             "%s: kernels in C need the headers of tlmalloc, and '%.200s/tlmalloc/kernel.h' cannot be "
                             "read: install Debian's libtlmalloc-dev",
                             path, include);
    tla_status status = make_scratch(error);
    if (!status) status = compile(path, include, kernels, limit_ms, error);
    if (status) tl_kernel_file_remove_scratch();
    snprintf(file->code, sizeof file->code, "%s", scratch_shared);
    return status;
}

tla_status tl_kernel_file_open(tl_kernel_file *file, tla_error *error) {
    const tla_status status = open_object(file->code, file->path, file, error);
    tl_kernel_file_remove_scratch();
    return status;
}

void tl_kernel_file_close(tl_kernel_file *file) {
    if (file->object) dlclose(file->object);
    file->object = NULL;
}

tla_status tl_kernel_file_read(const char *kernel_path, const tl_kernel_tensor *tensor, uint64_t nbytes, void *bytes,
                               tla_error *error) {
    const char *slash = strrchr(kernel_path, '/');
    const int folder = slash && tensor->file[0] != '/' ? (int)(slash + 1 - kernel_path) : 0;
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%.*s%s", folder, kernel_path, tensor->file);
    FILE *file = fopen(path, "rb");
    if (!file)
        return tla_error_set(error, TLA_IO, "tensor %s: %s: %s", tensor->name, path, tla_cannot_read(errno).text);
    const size_t got = fread(bytes, 1, nbytes, file);
    const bool more = got == nbytes && fgetc(file) != EOF;
    const int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        return tla_error_set(error, TLA_IO, "tensor %s: %s: %s", tensor->name, path, tla_cannot_read(failed).text);
    if (got < nbytes || more)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: %s: found %s%zu bytes, expected %llu",
                             tensor->name, path, more ? "more than " : "", got, (unsigned long long)nbytes);
    return TLA_OK;
}
