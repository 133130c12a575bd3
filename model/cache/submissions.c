/* Submissions in flight, as changes of their number. */
#include "tlmalloc/cache/partition.h"

#include <stdlib.h>
#include <string.h>

typedef struct tla_submission_change {
    uint64_t at_ps;
    int64_t delta;
} change;

/* Index of the first change later than that time; changes are mostly noted in the order of time. */
static size_t later_than(const tla_submissions *s, uint64_t at_ps) {
    size_t i = s->count;
    while (i > 0 && s->changes[i - 1].at_ps > at_ps)
        i--;
    return i;
}

/* There is room. */
static void note(tla_submissions *s, uint64_t at_ps, int64_t delta) {
    const size_t i = later_than(s, at_ps);
    if (i > 0 && s->changes[i - 1].at_ps == at_ps) {
        s->changes[i - 1].delta += delta;
        return;
    }
    memmove(s->changes + i + 1, s->changes + i, (s->count - i) * sizeof *s->changes);
    s->changes[i] = (change){at_ps, delta};
    s->count++;
}

tla_status tla_submissions_begin(tla_submissions *s, uint64_t at_ps) {
    const size_t needed = s->count + 2 + (size_t)s->in_flight; /* with the ends of all */
    if (needed > s->room) {
        const size_t room = 2 * needed;
        change *changes = realloc(s->changes, room * sizeof *changes);
        if (!changes) return TLA_NO_HOST_MEMORY;
        s->changes = changes;
        s->room = room;
    }
    note(s, at_ps, 1);
    s->in_flight++;
    return TLA_OK;
}

void tla_submissions_end(tla_submissions *s, uint64_t at_ps) {
    note(s, at_ps, -1);
    s->in_flight--;
}

uint64_t tla_submissions_idle(const tla_submissions *s, uint64_t from_ps) {
    int64_t number = s->before;
    size_t i = 0;
    while (i < s->count && s->changes[i].at_ps <= from_ps)
        number += s->changes[i++].delta;
    if (number == 0) return from_ps;
    for (; i < s->count; i++)
        if ((number += s->changes[i].delta) == 0) return s->changes[i].at_ps;
    return UINT64_MAX;
}

void tla_submissions_forget(tla_submissions *s, uint64_t until_ps) {
    const size_t n = later_than(s, until_ps);
    for (size_t i = 0; i < n; i++)
        s->before += s->changes[i].delta;
    if (n > 0) memmove(s->changes, s->changes + n, (s->count - n) * sizeof *s->changes);
    s->count -= n;
}

void tla_submissions_clear(tla_submissions *s) {
    free(s->changes);
    *s = (tla_submissions){0};
}
