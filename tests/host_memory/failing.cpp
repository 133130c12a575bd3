// The wrapped functions: each asks whether it is to fail, and counts what is live.
#include "host_memory/failing.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <set>
#include <sys/mman.h>
#include <yaml.h>

namespace {

struct state {
    std::mutex lock;
    bool armed = false, all_later = false;
    std::size_t left = 0, failed = 0, asked = 0;
    std::set<const void *> live;
};

state &host() {
    static state only;
    return only;
}

bool fails() {
    state &s = host();
    const std::lock_guard<std::mutex> hold(s.lock);
    s.asked++;
    if (!s.armed) return false;
    if (s.left > 0) {
        s.left--;
        return false;
    }
    s.failed++;
    s.armed = s.all_later;
    return true;
}

template <typename T>
T *note(T *made) {
    state &s = host();
    const std::lock_guard<std::mutex> hold(s.lock);
    if (made) s.live.insert(made);
    return made;
}

void forget(const void *gone) {
    state &s = host();
    const std::lock_guard<std::mutex> hold(s.lock);
    s.live.erase(gone);
}

} // namespace

namespace host_memory {

void fail_from(std::size_t n, bool all_later) {
    state &s = host();
    const std::lock_guard<std::mutex> hold(s.lock);
    s.armed = true;
    s.all_later = all_later;
    s.left = n;
    s.failed = 0;
}

std::size_t stop() {
    state &s = host();
    const std::lock_guard<std::mutex> hold(s.lock);
    s.armed = false;
    return s.failed;
}

std::size_t live() {
    state &s = host();
    const std::lock_guard<std::mutex> hold(s.lock);
    return s.live.size();
}

std::size_t asked() {
    state &s = host();
    const std::lock_guard<std::mutex> hold(s.lock);
    return s.asked;
}

} // namespace host_memory

extern "C" {

void *__real_malloc(std::size_t);
void *__real_calloc(std::size_t, std::size_t);
void *__real_realloc(void *, std::size_t);
void *__real_aligned_alloc(std::size_t, std::size_t);
char *__real_strdup(const char *);
char *__real_strndup(const char *, std::size_t);
void __real_free(void *);
void *__real_mmap(void *, std::size_t, int, int, int, off_t);
int __real_munmap(void *, std::size_t);
FILE *__real_fopen(const char *, const char *);
int __real_fclose(FILE *);
int __real_pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
int __real_yaml_parser_initialize(yaml_parser_t *);
int __real_yaml_parser_parse(yaml_parser_t *, yaml_event_t *);

void *__wrap_malloc(std::size_t size) {
    return fails() ? nullptr : note(__real_malloc(size));
}

void *__wrap_calloc(std::size_t n, std::size_t size) {
    return fails() ? nullptr : note(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, std::size_t size) {
    if (fails()) return nullptr;
    void *made = __real_realloc(old, size);
    if (made) forget(old);
    return note(made);
}

void *__wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
    return fails() ? nullptr : note(__real_aligned_alloc(alignment, size));
}

char *__wrap_strdup(const char *text) {
    return fails() ? nullptr : note(__real_strdup(text));
}

char *__wrap_strndup(const char *text, std::size_t length) {
    return fails() ? nullptr : note(__real_strndup(text, length));
}

void __wrap_free(void *old) {
    forget(old);
    __real_free(old);
}

void *__wrap_mmap(void *where, std::size_t length, int protection, int flags, int file, off_t offset) {
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *made = __real_mmap(where, length, protection, flags, file, offset);
    return made == MAP_FAILED ? made : note(made);
}

int __wrap_munmap(void *where, std::size_t length) {
    forget(where);
    return __real_munmap(where, length);
}

FILE *__wrap_fopen(const char *path, const char *mode) {
    if (fails()) {
        errno = ENOMEM;
        return nullptr;
    }
    return note(__real_fopen(path, mode));
}

int __wrap_fclose(FILE *file) {
    forget(file);
    return __real_fclose(file);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    return fails() ? ENOMEM : __real_pthread_mutex_init(mutex, attributes);
}

int __wrap_yaml_parser_initialize(yaml_parser_t *parser) {
    return fails() ? 0 : __real_yaml_parser_initialize(parser);
}

int __wrap_yaml_parser_parse(yaml_parser_t *parser, yaml_event_t *event) {
    if (!fails()) return __real_yaml_parser_parse(parser, event);
    std::memset(event, 0, sizeof *event);
    parser->error = YAML_MEMORY_ERROR;
    return 0;
}
}
