/* The owner of a block: the recorded call stack, read on demand. */
#define _GNU_SOURCE /* memmem, memrchr */
#include "torch/parts.h"
#include "trace/json_text.h"

#include "model/base/escape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool ends_with(const data_value *text, const char *end) {
    size_t length = strlen(end);
    return text->count >= length && memcmp(text->text + text->count - length, end, length) == 0;
}

static bool has(const data_value *text, const char *part) {
    return memmem(text->text, text->count, part, strlen(part)) != NULL;
}

/* 2: the program's own Python, 1: PyTorch's Python, 0: anything else. */
static int rank(const data_value *frame) {
    const data_value *file = data_get(frame, "filename");
    if (!file || file->kind != DATA_TEXT || !ends_with(file, ".py")) return 0;
    return has(file, "/torch/") ? 1 : 2;
}

/* A name for a person, or a report: cut, and escaped. */
typedef struct shown_name {
    char text[80 + 1];
} shown_name;

static shown_name show(const char *text, size_t length) {
    shown_name shown;
    tla_escape(text, length, shown.text, sizeof shown.text);
    return shown;
}

static shown_name show_base(const data_value *path) {
    const char *slash = memrchr(path->text, '/', path->count), *begin = slash ? slash + 1 : path->text;
    return show(begin, (size_t)(path->text + path->count - begin));
}

static void print_frame(const data_value *frame, char *text, size_t room, size_t *used) {
    const data_value *file = data_get(frame, "filename"), *name = data_get(frame, "name"),
                     *line = data_get(frame, "line");
    if (!file || !name || file->kind != DATA_TEXT || name->kind != DATA_TEXT || *used >= room) return;
    int got = snprintf(text + *used, room - *used, "%s%s (%s:%" PRIu64 ")", *used ? " < " : "",
                       show(name->text, name->count).text, show_base(file).text,
                       line && line->kind == DATA_UNSIGNED ? line->integer : 0);
    if (got > 0 && (size_t)got < room - *used)
        *used += (size_t)got;
    else /* a frame that has no room is left out whole */
        text[*used] = 0;
}

static void print_frames(const data_value *frames, int count, char *text, size_t room) {
    if (!frames || frames->kind != DATA_LIST || frames->count == 0) return;
    size_t first = 0, used = 0;
    int best = -1;
    for (size_t i = 0; i < frames->count; i++)
        if (rank(frames->items[i]) > best) {
            best = rank(frames->items[i]);
            first = i;
        }
    for (size_t i = first; i < frames->count && count > 0; i++, count--)
        print_frame(frames->items[i], text, room, &used);
}

static void print_source(const data_value *dict, int count, char *text, size_t room) {
    const data_value *history = data_get(dict, "history");
    if (history && history->kind == DATA_LIST && history->count) dict = history->items[0];
    print_frames(data_get(dict, "frames"), count, text, room);
}

void torch_frames(const torch_snapshot *s, const void *source, int count, char *text, size_t room) {
    text[0] = 0;
    if (!source) return;
    if (s->pickle) {
        print_source(source, count, text, room);
        return;
    }
    json_text json = json_text_of(s->text, s->length, torch_place(s, source));
    const data_value *value;
    if (!json_read(&json, &value)) print_source(value, count, text, room);
    json_text_clear(&json);
}
