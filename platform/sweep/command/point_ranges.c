/* Sets of points, as stretches in ascending order. */
#include "sweep/command/point_ranges.h"
#include "model/base/grow.h"

#include "model/base/phrase.h"

#include <errno.h>
#include <stdlib.h>

bool point_ranges_add(point_ranges *ranges, uint64_t first, uint64_t last) {
    if (ranges->count && ranges->at[ranges->count - 1].last + 1 == first) {
        ranges->at[ranges->count - 1].last = last;
        return true;
    }
    if (!tla_grow_by_one(&ranges->at, ranges->count, sizeof *ranges->at)) return false;
    ranges->at[ranges->count++] = (point_range){first, last};
    return true;
}

static bool read_number(const char **text, uint64_t *number) {
    char *end;
    errno = 0;
    const unsigned long long found = strtoull(*text, &end, 10);
    if (**text < '0' || **text > '9' || errno || found > INT64_MAX) return false;
    *text = end;
    *number = found;
    return true;
}

tla_status point_ranges_parse(const char *text, point_ranges *ranges, tla_error *error) {
    const char *rest = text;
    *ranges = (point_ranges){0};
    for (;;) {
        point_range r;
        bool good = read_number(&rest, &r.first);
        r.last = r.first;
        if (good && *rest == '-') {
            rest++;
            good = read_number(&rest, &r.last);
        }
        good = good && r.first <= r.last && (*rest == '\0' || *rest == ',') &&
               (!ranges->count || ranges->at[ranges->count - 1].last < r.first);
        if (good && !point_ranges_add(ranges, r.first, r.last)) {
            point_ranges_clear(ranges);
            return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for points");
        }
        if (!good) {
            point_ranges_clear(ranges);
            return tla_error_set(error, TLA_SYNTAX,
                                 "found %s, expected points in ascending order, such as 0-99 or 0-99,120,200-299",
                                 tla_quote(text).text);
        }
        if (!*rest) return TLA_OK;
        rest++;
    }
}

uint64_t point_ranges_total(const point_ranges *ranges) {
    uint64_t total = 0;
    for (size_t i = 0; i < ranges->count; i++)
        total += ranges->at[i].last - ranges->at[i].first + 1;
    return total;
}

void point_ranges_clear(point_ranges *ranges) {
    free(ranges->at);
    *ranges = (point_ranges){0};
}
