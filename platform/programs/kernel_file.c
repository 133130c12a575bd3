/* Compiles and opens a kernel's file. */
#define _GNU_SOURCE
#include "kernel_file.h"

#include "object_check.h"
#include "program.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Where a compilation is under way, for a signal that ends it; empty when none is. */
static char scratch_folder[PATH_MAX], scratch_object[PATH_MAX + 16], scratch_shared[PATH_MAX + 16];

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), least = strlen(end);
    return length >= least && strcmp(text + length - least, end) == 0;
}

bool tl_is_kernel_file(const char *word) {
    return ends_with(word, ".c") || ends_with(word, ".so") || strchr(word, '/');
}

void tl_kernel_file_remove_scratch(void) {
    if (!scratch_folder[0]) return;
    unlink(scratch_object);
    unlink(scratch_shared);
    rmdir(scratch_folder);
    scratch_folder[0] = 0;
}

static tla_status make_scratch(tla_error *error) {
    const char *where = getenv("TMPDIR");
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s/tlmalloc-kernel-XXXXXX", where && *where ? where : "/tmp");
    if (length < 0 || (size_t)length >= sizeof folder || !mkdtemp(folder))
        return tla_error_set(error, TLA_IO, "%s: cannot make a folder to compile in: %s", folder, strerror(errno));
    snprintf(scratch_object, sizeof scratch_object, "%s/kernel.o", folder);
    snprintf(scratch_shared, sizeof scratch_shared, "%s/kernel.so", folder);
    memcpy(scratch_folder, folder, sizeof folder);
    return TLA_OK;
}

/* Runs the compiler with these words; what it prints goes to standard error. */
static tla_status run_compiler(char *const *words, const char *path, tla_error *error) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    pid_t child = 0;
    int failed = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (!failed) failed = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT || failed == EACCES)
        return tla_error_set(
            error, TLA_NOT_FOUND,
            "%s: there is no C compiler '%s' here: install gcc, name another one in CC, or compile the "
            "kernel elsewhere and give its .so",
            path, words[0]);
    if (failed) return tla_error_set(error, TLA_IO, "%s: %s: %s", path, words[0], strerror(failed));
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return tla_error_set(error, TLA_IO, "%s: %s: %s", path, words[0], strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return tla_error_set(error, TLA_NOT_FOUND, "%s: the C compiler '%s' cannot be run", path, words[0]);
    if (status) return tla_error_set(error, TLA_SYNTAX, "%s: does not compile: see above what %s says", path, words[0]);
    return TLA_OK;
}

enum { CC_WORDS = 8, WORDS = 24 };

/* $CC, which may have options, at the beginning of a command; returns how many words it has. */
static size_t compiler_words(char *buffer, size_t size, char *words[CC_WORDS]) {
    const char *cc = getenv("CC");
    snprintf(buffer, size, "%s", cc && *cc ? cc : "cc");
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(buffer, " \t", &rest); word && count < CC_WORDS; word = strtok_r(NULL, " \t", &rest))
        words[count++] = word;
    if (count == 0) words[count++] = "cc";
    return count;
}

static tla_status compile(const char *path, const char *include, tla_error *error) {
    char cc[PATH_MAX], headers[PATH_MAX + 2];
    snprintf(headers, sizeof headers, "-I%s", include);
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
                         "-c",
                         (char *)(uintptr_t)path,
                         "-o",
                         scratch_object,
                         NULL};
    /* Without start files: all data of the object are the kernel's. */
    char *linking[] = {"-shared", "-nostartfiles", scratch_object, "-o", scratch_shared, "-lm", NULL};
    char *words[CC_WORDS + WORDS];
    size_t first = compiler_words(cc, sizeof cc, words);
    memcpy(words + first, compiling, sizeof compiling);
    tla_status status = run_compiler(words, path, error);
    if (!status) status = tl_object_check(scratch_object, path, error);
    if (status) return status;
    memcpy(words + first, linking, sizeof linking);
    return run_compiler(words, path, error);
}

/* The declaration of an open object, as far as its own headers knew it. */
static tla_status take_declaration(tl_kernel_file *file, const char *path, tla_error *error) {
    const tl_kernel_info *declared = dlsym(file->object, "tl_kernel_declaration");
    if (!declared) return tla_error_set(error, TLA_SYNTAX, "%s: declares no kernel: expected a TL_KERNEL(...)", path);
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
                                       : "no reason is given");
    }
    tla_status status = take_declaration(file, path, error);
    if (status) tl_kernel_file_close(file);
    return status;
}

tla_status tl_kernel_file_open(const char *path, const char *include, tl_kernel_file *file, tla_error *error) {
    *file = (tl_kernel_file){0};
    char whole[PATH_MAX];
    if (!realpath(path, whole)) return tla_error_set(error, TLA_IO, "%s: %s", path, strerror(errno));
    if (!ends_with(path, ".c")) {
        tla_status status = tl_object_check(whole, path, error);
        return status ? status : open_object(whole, path, file, error);
    }
    if (access(whole, R_OK)) return tla_error_set(error, TLA_IO, "%s: %s", path, strerror(errno));
    tla_status status = make_scratch(error);
    if (!status) status = compile(path, include, error);
    if (!status) status = open_object(scratch_shared, path, file, error);
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
    if (!file) return tla_error_set(error, TLA_IO, "tensor %s: %s: %s", tensor->name, path, strerror(errno));
    const size_t got = fread(bytes, 1, nbytes, file);
    const bool more = got == nbytes && fgetc(file) != EOF, failed = ferror(file);
    fclose(file);
    if (failed) return tla_error_set(error, TLA_IO, "tensor %s: %s: cannot be read", tensor->name, path);
    if (got < nbytes || more)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: %s: found %s%zu bytes, expected %llu",
                             tensor->name, path, more ? "more than " : "", got, (unsigned long long)nbytes);
    return TLA_OK;
}
