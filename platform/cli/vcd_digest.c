/* A sum over the changes of a VCD, whatever their order. */
#include "cli/vcd_digest.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096, WORDS = 5, FIRST_SLOTS = 1024 };

typedef struct slot {
    uint64_t identifier; /* its characters; 0: free */
    uint64_t signal;     /* its number, in order of declaration */
} slot;

struct vcd_digest {
    slot *slots; /* a power of two; at most half of them in use */
    size_t slot_count, signals;
    uint64_t changes, time, declared, sum;
    bool failed;
    size_t length; /* of the line so far */
    char line[LINE_BYTES];
};

vcd_digest *vcd_digest_create(void) {
    vcd_digest *made = calloc(1, sizeof *made);
    if (made) made->slots = calloc(FIRST_SLOTS, sizeof *made->slots);
    if (made && !made->slots) {
        free(made);
        return NULL;
    }
    if (made) made->slot_count = FIRST_SLOTS;
    return made;
}

void vcd_digest_destroy(vcd_digest *digest) {
    if (digest) free(digest->slots);
    free(digest);
}

/* As the finalizer of splitmix64: every bit of the result depends on every bit of both. */
static uint64_t mix(uint64_t a, uint64_t b) {
    a = a * 0x9e3779b97f4a7c15u + b;
    a = (a ^ (a >> 30)) * 0xbf58476d1ce4e5b9u;
    a = (a ^ (a >> 27)) * 0x94d049bb133111ebu;
    return a ^ (a >> 31);
}

static uint64_t hash_text(const char *text) {
    uint64_t hash = 0;
    for (; *text; text++)
        hash = mix(hash, (unsigned char)*text);
    return hash;
}

/* The characters of an identifier, of which a platform's signals have no more than eight; 0: not one. */
static uint64_t pack(const char *identifier) {
    uint64_t packed = 0;
    const size_t length = strlen(identifier);
    for (size_t i = 0; i < length && length <= sizeof packed; i++)
        packed = packed << 8 | (unsigned char)identifier[i];
    return packed;
}

static slot *find(slot *slots, size_t count, uint64_t identifier) {
    size_t at = mix(identifier, 0) & (count - 1);
    while (slots[at].identifier && slots[at].identifier != identifier)
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool grow(vcd_digest *d) {
    const size_t count = 2 * d->slot_count;
    slot *made = calloc(count, sizeof *made);
    if (!made) return false;
    for (size_t i = 0; i < d->slot_count; i++)
        if (d->slots[i].identifier) *find(made, count, d->slots[i].identifier) = d->slots[i];
    free(d->slots);
    d->slots = made;
    d->slot_count = count;
    return true;
}

/* $var wire BITS IDENTIFIER NAME */
static bool declare(vcd_digest *d, char *const word[WORDS]) {
    const uint64_t identifier = word[4] ? pack(word[3]) : 0;
    if (!identifier || (2 * (d->signals + 1) > d->slot_count && !grow(d))) return false;
    *find(d->slots, d->slot_count, identifier) = (slot){identifier, d->signals++};
    d->declared = mix(mix(d->declared, hash_text(word[2])), hash_text(word[4]));
    return true;
}

static bool change(vcd_digest *d, const char *value, const char *identifier) {
    const uint64_t packed = identifier ? pack(identifier) : 0;
    const slot *const found = packed ? find(d->slots, d->slot_count, packed) : NULL;
    if (!found || !found->identifier) return false;
    while (value[0] == '0' && value[1])
        value++;
    d->sum += mix(mix(d->time, found->signal), hash_text(value));
    d->changes++;
    return true;
}

/* Cuts a line into its first words; the others stay NULL. */
static void cut(char *line, char *word[WORDS]) {
    char *rest = NULL;
    for (size_t i = 0; i < WORDS; i++) {
        word[i] = strtok_r(i == 0 ? line : NULL, " \t\r", &rest);
        if (!word[i]) return;
    }
}

static bool read_line(vcd_digest *d, char *line) {
    char *word[WORDS] = {NULL};
    cut(line, word);
    if (!word[0] || (d->signals == 0 && word[0][0] != '$')) return true; /* a remark at the beginning */
    switch (word[0][0]) {
    case '#':
        d->time = strtoull(word[0] + 1, NULL, 10);
        return true;
    case 'b':
        return change(d, word[0] + 1, word[1]);
    case '0':
    case '1':
        return change(d, (char[]){word[0][0], 0}, word[0] + 1);
    case '$':
        if (strcmp(word[0], "$var") == 0) return declare(d, word);
        if (strcmp(word[0], "$scope") == 0 && word[2]) d->declared = mix(mix(d->declared, 1), hash_text(word[2]));
        if (strcmp(word[0], "$upscope") == 0) d->declared = mix(d->declared, 2);
        return true;
    default:
        return false;
    }
}

void vcd_digest_add(vcd_digest *d, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != '\n') {
            if (d->length + 1 < LINE_BYTES) d->line[d->length++] = bytes[i];
            continue;
        }
        d->line[d->length] = 0;
        d->length = 0;
        if (!read_line(d, d->line)) d->failed = true;
    }
}

bool vcd_digest_equal(const vcd_digest *a, const vcd_digest *b) {
    return !a->failed && !b->failed && a->signals > 0 && a->signals == b->signals && a->changes == b->changes &&
           a->time == b->time && a->declared == b->declared && a->sum == b->sum;
}
