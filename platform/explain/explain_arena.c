/* An arena that was used, and a request that it serves or does not. */
#include "explain/explain.h"

#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/message.h"
#include "cli/read_text.h"
#include "model/cache/shortage.h"
#include "tlmalloc/arena/arena.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct arena_answer {
    tla_arena_config config;
    tla_arena_stats stats;
    bool served;
    const char *reason, *remedy; /* "" when it is served */
} arena_answer;

static tla_status ask(const char *text, size_t length, uint64_t nbytes, arena_answer *answer, tla_error *error) {
    tla_arena *arena = NULL;
    tla_block block;
    *answer = (arena_answer){.reason = "", .remedy = ""};
    tla_status status = tla_arena_snapshot_config(text, length, &answer->config, error);
    if (!status) {
        status = tla_arena_create(&answer->config, &arena);
        if (status) tla_error_set(error, status, "cannot create the arena: %s", tla_status_text(status));
    }
    if (!status) status = tla_arena_restore(arena, text, length, error);
    if (!status) {
        answer->stats = tla_arena_get_stats(arena);
        tla_status refused = tla_arena_alloc(arena, nbytes, &block, NULL);
        answer->served = !refused;
        if (refused == TLA_EXHAUSTED || refused == TLA_FRAGMENTED) {
            tla_shortage why =
                refused == TLA_EXHAUSTED ? tla_shortage_of(nbytes, answer->stats.free, 0, 0) : TLA_SHORTAGE_FRAGMENTED;
            answer->reason = tla_shortage_name(why);
            answer->remedy = tla_shortage_remedy(why);
        } else if (refused) {
            status = tla_error_set(error, refused, "requested %" PRIu64 " bytes: %s", nbytes, tla_status_text(refused));
        }
    }
    tla_arena_destroy(arena);
    return status;
}

static void print(FILE *out, const char *path, uint64_t nbytes, const arena_answer *a) {
    print_escaped(out, "arena           %s", path);
    fprintf(out, ": %s, %" PRIu64 " bytes\n", tla_policy_name(a->config.policy), a->config.capacity);
    fprintf(out, "request         %" PRIu64 " bytes: %s%s\n", nbytes, a->served ? "served" : "failed, ", a->reason);
    fprintf(out,
            "free            %" PRIu64 " bytes in %" PRIu64 " blocks, the largest %" PRIu64 " (fragmentation %" PRIu64
            " permille)\n",
            a->stats.free, a->stats.free_blocks, a->stats.largest_free, tla_arena_fragmentation_permille(&a->stats));
    if (a->stats.proven_largest < a->stats.largest_free)
        fprintf(out, "proven by bins  %" PRIu64 " bytes free, the largest block %" PRIu64 "\n", a->stats.proven_free,
                a->stats.proven_largest);
    if (!a->served) fprintf(out, "remedy          %s\n", a->remedy);
}

static json_t *to_json(const char *path, uint64_t nbytes, const arena_answer *a) {
    json_t *report = json_object();
    json_object_set_new(report, "arena", json_from_text(path));
    json_object_set_new(report, "policy", json_string(tla_policy_name(a->config.policy)));
    json_object_set_new(report, "request", json_from_u64(nbytes));
    json_object_set_new(report, "served", json_boolean(a->served));
    json_object_set_new(report, "class", json_string(a->reason));
    json_object_set_new(report, "remedy", json_string(a->remedy));
    json_object_set_new(report, "capacity", json_from_u64(a->config.capacity));
    json_object_set_new(report, "free", json_from_u64(a->stats.free));
    json_object_set_new(report, "free_blocks", json_from_u64(a->stats.free_blocks));
    json_object_set_new(report, "largest_free", json_from_u64(a->stats.largest_free));
    json_object_set_new(report, "proven_free", json_from_u64(a->stats.proven_free));
    json_object_set_new(report, "proven_largest", json_from_u64(a->stats.proven_largest));
    return report;
}

tla_status explain_arena(const char *path, uint64_t nbytes, FILE *table, FILE *json, tla_error *error) {
    char *text = NULL;
    size_t length;
    arena_answer answer;
    tla_error inner = {0};
    tla_status status = read_text(path, ARENA_SNAPSHOT_BYTES_MAX, &text, &length, error);
    if (status) return status;
    status = ask(text, length, nbytes, &answer, &inner);
    free(text);
    if (status) return tla_error_set(error, status, "%s: %s", path, inner.text);
    json_t *report = json ? to_json(path, nbytes, &answer) : NULL;
    if (json) status = json_write(report, 0, json, error);
    json_decref(report);
    if (!status) print(table, path, nbytes, &answer);
    return status;
}
