/* Where the time of a run went, as a table, in words and as JSON. */
#include "explain/explain_run.h"

#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/message.h"
#include "explain/explain_energy.h"
#include "explain/explain_repeat.h"
#include "model/base/phrase.h"
#include "programs/kernel_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *title;
} topics[TOPIC_COUNT] = {[TOPIC_ALLOCATION] = {"allocation", "allocation"},
                         [TOPIC_ALLOCATION_QUEUE] = {"allocation_queue", "queue of the allocation engine"},
                         [TOPIC_COMMANDS] = {"commands", "the host's commands in transit"},
                         [TOPIC_MAPPING] = {"mapping", "mapping"},
                         [TOPIC_WALKS] = {"walks", "page-table walks"},
                         [TOPIC_LOOKUPS] = {"lookups", "lookups in the TLB"},
                         [TOPIC_FAULTS] = {"faults", "page faults"},
                         [TOPIC_MOVES] = {"moves", "stops while blocks move"},
                         [TOPIC_MEMORY] = {"memory", "DMA: memories and their banks"},
                         [TOPIC_LINKS] = {"links", "DMA: links"},
                         [TOPIC_ISSUE] = {"issue", "DMA: issue of chunks"},
                         [TOPIC_TCM] = {"tcm", "DMA: the TCM"},
                         [TOPIC_ENGINES] = {"engine_queue", "queue of an engine of the PE"},
                         [TOPIC_ARITHMETIC] = {"arithmetic", "arithmetic"},
                         [TOPIC_TILES] = {"tiles", "tiles of arithmetic"},
                         [TOPIC_MESSAGE_WAIT] = {"message_wait", "messages not sent yet"},
                         [TOPIC_CREDIT] = {"credit", "slots for messages"},
                         [TOPIC_MESSAGES] = {"messages", "messages"},
                         [TOPIC_DISPATCH] = {"dispatch", "dispatch of calls"},
                         [TOPIC_COPIES] = {"copies", "inputs from the host"},
                         [TOPIC_LAUNCH] = {"launch", "launch"},
                         [TOPIC_OTHER] = {"other", "other"}};

enum { CHANGES_MAX = 3 };

const char *time_topic_title(time_topic topic) {
    return topics[topic].title;
}

const char *time_topic_name(time_topic topic) {
    return topics[topic].name;
}

static double us(uint64_t ps) {
    return (double)ps / 1e6;
}

static double percent(const run_explained *e, uint64_t ps) {
    return e->end_ps > e->begin_ps ? 100 * (double)ps / (double)(e->end_ps - e->begin_ps) : 0;
}

static void print_head(FILE *out, const run_explained *e) {
    const char *const status = json_string_value(json_object_get(e->report, "status"));
    const char *const message = json_string_value(json_object_get(e->report, "message"));
    if (status && strcmp(status, "TLA_OK") != 0) {
        print_escaped(out, "The run failed (%s: %s). Its time until the failure:", status, message ? message : "");
        fputc('\n', out);
    }
    print_escaped(out, "%s: %s", e->path, e->kernel);
    if (e->of_one_pe) {
        print_escaped(out, " on %s", e->pe);
        fprintf(out, ", %.3f us from %.3f to %.3f us\n", us(e->end_ps - e->begin_ps), us(e->begin_ps), us(e->end_ps));
        return;
    }
    print_escaped(out, ", the critical path of %.3f us to its end on %s", us(e->end_ps), e->pe);
    const json_t *const segments = json_object_get(json_object_get(e->report, "critical_path"), "segments");
    const size_t count = json_array_size(segments);
    fputs(count ? ", through" : "", out);
    const size_t shown = 6;
    for (size_t i = count > shown ? count - shown : 0; i < count; i++) {
        const char *const where = json_string_value(json_object_get(json_array_get(segments, i), "where"));
        if (i > 0) fputs(i + shown == count ? " ... ->" : " ->", out);
        print_escaped(out, " %s", where ? where : "?");
    }
    fputc('\n', out);
}

static void print_shares(FILE *out, const run_explained *e) {
    fprintf(out, "\n%-34s %12s %8s %22s\n", "", "us", "%", "bound without it, us");
    for (size_t i = 0; i < e->share_count; i++) {
        const topic_share *const share = &e->shares[i];
        fprintf(out, "%-34s %12.3f %8.2f %22.3f\n", time_topic_title(share->topic), us(share->ps),
                percent(e, share->ps), us(e->end_ps - e->begin_ps - share->ps));
        for (size_t j = 0; j < share->place_count && j < TOPIC_PLACES_MAX; j++) {
            const topic_place *const place = &share->places[j];
            fprintf(out, "  %12.3f us  ", us(place->ps));
            print_escaped(out, "%s", place->name);
            if (place->has_unit)
                fprintf(out, " (channel %" PRIu64 ", bank %" PRIu64 ": %.3f us)", place->channel, place->bank,
                        us(place->unit_ps));
            fputc('\n', out);
        }
        if (share->place_count > TOPIC_PLACES_MAX)
            fprintf(out, "  ... and %zu more\n", share->place_count - TOPIC_PLACES_MAX);
    }
    fprintf(out, "%-34s %12.3f\n", "all", us(e->end_ps - e->begin_ps));
    fputs("\n"
          "The last column is a bound: the length of the path without this part if nothing else changes. The gain is "
          "smaller\n"
          "where another path is about as long, and larger only where other requests queue for this part. To measure "
          "the\n"
          "gain, run with the change.\n",
          out);
}

/* In lines of at most 110 characters, those behind the first indented. */
static void print_wrapped(FILE *out, const char *text) {
    enum { WIDTH = 110 };
    size_t column = 0;
    while (*text) {
        const size_t length = strcspn(text, " ");
        if (column > 0 && column + 1 + length > WIDTH) {
            fputs("\n  ", out);
            column = 2;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        print_escaped(out, "%.*s", (int)length, text);
        column += length;
        text += length + (text[length] == ' ');
    }
    fputc('\n', out);
}

static void print_changes(FILE *out, const run_explained *e, const run_change *changes, bool tried) {
    fputs("\nchanges to make first\n", out);
    for (size_t i = 0; i < e->share_count && i < CHANGES_MAX; i++) {
        const topic_share *const share = &e->shares[i];
        const run_change *const change = &changes[i];
        char text[900], key[300] = "";
        if (change->key[0])
            snprintf(key, sizeof key, ": %.63s %.63s -> %.63s, measured: %.3f us instead of %.3f", change->key,
                     change->value, change->to, us(change->took_ps), us(e->end_ps - e->begin_ps));
        snprintf(text, sizeof text, "%zu. %s, %.1f %%%s; %s.", i + 1, time_topic_title(share->topic),
                 percent(e, share->ps), key, change->text);
        print_wrapped(out, text);
    }
    if (!tried)
        fputs("No key is named, because the run could not be repeated with a change: name the file of your own kernel\n"
              "(--kernel FILE), and use the build and the files of the run.\n",
              out);
}

static json_t *places_json(const topic_share *share) {
    json_t *list = json_array();
    for (size_t i = 0; i < share->place_count && i < TOPIC_PLACES_MAX; i++) {
        const topic_place *const place = &share->places[i];
        json_t *row = json_object();
        json_object_set_new(row, "place", json_from_text(place->name));
        json_object_set_new(row, "ps", json_from_u64(place->ps));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *to_json(const run_explained *e, const run_change *changes_made) {
    json_t *report = json_object();
    json_object_set_new(report, "report", json_from_text(e->path));
    json_object_set_new(report, "kernel", json_from_text(e->kernel));
    json_object_set_new(report, "pe", json_from_text(e->pe));
    json_object_set_new(report, "critical_path", json_boolean(!e->of_one_pe));
    json_object_set_new(report, "begin_ps", json_from_u64(e->begin_ps));
    json_object_set_new(report, "end_ps", json_from_u64(e->end_ps));
    json_t *shares = json_array(), *changes = json_array();
    for (size_t i = 0; i < e->share_count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "topic", json_string(time_topic_name(e->shares[i].topic)));
        json_object_set_new(row, "ps", json_from_u64(e->shares[i].ps));
        json_object_set_new(row, "share_pct", json_real(percent(e, e->shares[i].ps)));
        json_object_set_new(row, "least_without_ps", json_from_u64(e->end_ps - e->begin_ps - e->shares[i].ps));
        json_object_set_new(row, "places", places_json(&e->shares[i]));
        json_array_append_new(shares, row);
    }
    for (size_t i = 0; i < e->share_count && i < CHANGES_MAX; i++) {
        const run_change *const change = &changes_made[i];
        const bool has_key = change->key[0] != 0;
        json_t *row = json_object();
        json_object_set_new(row, "topic", json_string(time_topic_name(e->shares[i].topic)));
        json_object_set_new(row, "key", has_key ? json_string(change->key) : json_null());
        json_object_set_new(row, "value", has_key ? json_from_text(change->value) : json_null());
        json_object_set_new(row, "to", has_key ? json_from_text(change->to) : json_null());
        json_object_set_new(row, "took_ps", has_key ? json_from_u64(change->took_ps) : json_null());
        json_object_set_new(row, "text", json_from_text(change->text));
        json_array_append_new(changes, row);
    }
    json_object_set_new(report, "shares", shares);
    json_object_set_new(report, "changes", changes);
    if (json_object_get(e->report, "energy")) json_object_set_new(report, "energy", explain_energy_json(e->report));
    return report;
}

tla_status explain_run(const char *path, const char *kernel, int64_t pe, FILE *table, FILE *json, tla_error *error) {
    json_t *report = NULL;
    run_explained explained;
    run_change changes[CHANGES_MAX];
    const char *const file = kernel && tl_is_kernel_file(kernel) ? kernel : NULL;
    if (file && access(file, R_OK))
        return tla_error_set(error, TLA_IO, "--kernel: %s: %s", file, tla_cannot_read(errno).text);
    tla_status status = explain_run_read(path, file ? NULL : kernel, pe, &report, &explained, error);
    run_repeater *const repeater = status ? NULL : run_repeater_make(&explained, file);
    for (size_t i = 0; !status && i < explained.share_count && i < CHANGES_MAX; i++)
        changes[i] = explain_run_change(&explained, repeater, &explained.shares[i]);
    run_repeater_free(repeater);
    if (!status && json) {
        json_t *object = to_json(&explained, changes);
        status = json_write(object, 0, json, error);
        json_decref(object);
    }
    if (!status) {
        print_head(table, &explained);
        print_shares(table, &explained);
        explain_energy_print(table, explained.report);
        print_changes(table, &explained, changes, repeater != NULL);
    }
    json_decref(report);
    return status;
}
