/* Runs of the command itself, each in a process of its own, whose reports only this process reads. */
#define _GNU_SOURCE /* memfd_create */
#include "explain/explain_repeat.h"
#include "model/base/grow.h"

#include "programs/kernel_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The words that are the same in all runs: everything but the key that is changed, and the report. */
struct run_repeater {
    const run_explained *of;
    char **words;
    size_t count;
    bool no_memory;
};

static void add(run_repeater *r, const char *before, const char *key, const char *between, const char *value) {
    const size_t length = strlen(before) + strlen(key) + strlen(between) + strlen(value) + 1;
    char *word = tla_grow_by_one(&r->words, r->count, sizeof *r->words) ? malloc(length) : NULL;
    r->no_memory |= !word;
    if (!word) return;
    snprintf(word, length, "%s%s%s%s", before, key, between, value);
    r->words[r->count++] = word;
}

/* --set for every key of a section, and of those in it. */
static void add_section(run_repeater *r, const char *path, json_t *section) {
    const char *name;
    json_t *value;
    json_object_foreach(section, name, value) {
        char key[128], number[32];
        snprintf(key, sizeof key, "%s%s%s", path, *path ? "." : "", name);
        if (json_is_object(value)) add_section(r, key, value);
        if (json_is_string(value)) add(r, "--set=", key, "=", json_string_value(value));
        if (json_is_boolean(value)) add(r, "--set=", key, "=", json_is_true(value) ? "true" : "false");
        if (!json_is_integer(value)) continue;
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        add(r, "--set=", key, "=", number);
    }
}

/* The child: `tlmalloc run` without input and without visible output. */
_Noreturn static void run(char **words, pid_t parent) {
    const int nowhere = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0)
        _exit(1);
    execv("/proc/self/exe", words);
    _exit(1);
}

/* Returns whether va.page_size follows mmu.page_size, as it does by default. A report does not show which keys were
 * set; if both are equal, it need not. */
static bool has_one_page_size(const run_explained *e) {
    const json_t *const mmu = json_object_get(json_object_get(e->config, "mmu"), "page_size"),
                        *const va = json_object_get(json_object_get(e->config, "va"), "page_size");
    return json_equal(mmu, va);
}

bool run_repeater_time(const run_repeater *r, const char *key, const char *value, uint64_t *took_ps) {
    char set[256], follows[256], json[64];
    char **words = malloc((r->count + 4) * sizeof *words);
    const int report = words ? memfd_create("report", 0) : -1;
    if (report < 0) {
        free(words);
        return false;
    }
    memcpy(words, r->words, r->count * sizeof *words);
    size_t count = r->count;
    snprintf(set, sizeof set, "--set=%s=%s", key, value);
    snprintf(json, sizeof json, "--json=/dev/fd/%d", report);
    if (*key) words[count++] = set;
    snprintf(follows, sizeof follows, "--set=va.page_size=%s", value);
    if (strcmp(key, "mmu.page_size") == 0 && has_one_page_size(r->of)) words[count++] = follows;
    words[count++] = json;
    words[count] = NULL;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) run(words, parent);
    int status = 1;
    bool good = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (good) {
        json_t *read = NULL;
        run_explained again;
        snprintf(json, sizeof json, "/dev/fd/%d", report);
        (void)lseek(report, 0, SEEK_SET);
        good = explain_run_read(json, NULL, r->of->pe_number, &read, &again, NULL) == TLA_OK;
        if (good) *took_ps = again.end_ps - again.begin_ps;
        json_decref(read);
    }
    close(report);
    free(words);
    return good;
}

run_repeater *run_repeater_make(const run_explained *e, const char *kernel_file) {
    const json_t *const command = json_object_get(e->report, "command");
    if (!kernel_file && tl_is_kernel_file(e->kernel)) return NULL;
    run_repeater *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->of = e;
    const char *const from = json_string_value(json_object_get(command, "from"));
    const json_t *const parameters = json_object_get(command, "parameters");
    add(r, "tlmalloc run", "", "", "");
    add(r, "run", "", "", "");
    add(r, "/dev/null", "", "", ""); /* a configuration of defaults */
    add_section(r, "", (json_t *)(uintptr_t)e->config);
    add(r, "--kernel=", kernel_file ? kernel_file : e->kernel, "", "");
    if (from) add(r, "--from=", from, "", "");
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        const char *const text = json_string_value(json_array_get(parameters, i));
        if (text) add(r, "--parameter=", text, "", "");
    }
    uint64_t took_ps;
    if (!r->no_memory && run_repeater_time(r, "", "", &took_ps) && took_ps == e->end_ps - e->begin_ps) return r;
    run_repeater_free(r);
    return NULL;
}

void run_repeater_free(run_repeater *r) {
    if (!r) return;
    for (size_t i = 0; i < r->count; i++)
        free(r->words[i]);
    free(r->words);
    free(r);
}
