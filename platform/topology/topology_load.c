/* The loads of links, out of the report of a run, for the picture of a topology. */
#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/output.h"
#include "cli/read_text.h"
#include "topology/topology_output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_BYTES_MAX ((size_t)1 << 30)

/* A report that is read. */
typedef struct reader {
    const char *path;
    const tla_topology *topology;
    topology_load *load;
    tla_error *error;
} reader;

#define WRONG(r, format, ...) tla_error_set((r)->error, TLA_SYNTAX, "--load: %.200s: " format, (r)->path, __VA_ARGS__)

/* Prints a value as in the report, cut if it is long; "nothing" for a missing value. */
static void print_value(const json_t *value, char *text, size_t size) {
    char *dump = json_compact_text(value);
    snprintf(text, size, "%s", dump ? dump : "nothing");
    free(dump);
}

/* Whether a part of the configuration that makes the fabric is as it was in the run. The file that lists a topology may
 * be spelled in another way: names of links decide there. */
static tla_status check_section(const reader *r, const json_t *ran, const json_t *now, const char *section) {
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(now, section), key, value) {
        const json_t *const was = json_object_get(json_object_get(ran, section), key);
        if (json_equal(was, value) || strcmp(key, "topology_file") == 0) continue;
        char found[64], expected[64];
        print_value(was, found, sizeof found);
        print_value(value, expected, sizeof expected);
        return WRONG(r, "config.%s.%s: found %s, expected %s as in CONFIG: the run was on another platform", section,
                     key, found, expected);
    }
    return TLA_OK;
}

static tla_status check_platform(const reader *r, const json_t *report, const tla_config *config) {
    static const char *const sections[] = {"system", "cube", "io_chiplet", "links"};
    const json_t *const ran = json_object_get(report, "config");
    if (!json_is_object(ran)) return WRONG(r, "found no \"config\", expected %s", "a report of `tlmalloc run --json'");
    json_t *const now = config_to_json(config);
    if (!now) return tla_error_set(r->error, TLA_NO_HOST_MEMORY, "no host memory");
    tla_status status = TLA_OK;
    for (size_t i = 0; !status && i < sizeof sections / sizeof *sections; i++)
        status = check_section(r, ran, now, sections[i]);
    json_decref(now);
    return status;
}

/* A number of a row that is not negative. */
static tla_status number_of(const reader *r, size_t row, const json_t *object, const char *key, uint64_t *number) {
    const json_t *const value = json_object_get(object, key);
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *number = (uint64_t)json_integer_value(value);
        return TLA_OK;
    }
    char found[64];
    print_value(value, found, sizeof found);
    return WRONG(r, "links[%zu].%s: found %s, expected a number", row, key, found);
}

static tla_status check_end(const reader *r, size_t row, const json_t *object, const char *key, uint32_t node) {
    const char *const found = json_string_value(json_object_get(object, key));
    const char *const expected = tla_topology_nodes(r->topology)[node].name;
    if (found && strcmp(found, expected) == 0) return TLA_OK;
    return WRONG(r, "links[%zu].%s: found \"%.60s\", expected \"%s\": the run was on another fabric", row, key,
                 found ? found : "", expected);
}

static tla_status read_row(const reader *r, size_t row, const json_t *object) {
    uint64_t number = 0;
    const uint32_t count = tla_topology_link_count(r->topology);
    tla_status status = number_of(r, row, object, "link", &number);
    if (status) return status;
    if (number >= count)
        return WRONG(r, "links[%zu].link: found %" PRIu64 ", expected less than %" PRIu32, row, number, count);
    const tla_topology_link *const link = &tla_topology_links(r->topology)[number];
    tla_fabric_load *const load = &r->load->links[number];
    if (load->messages) return WRONG(r, "links[%zu].link: found %" PRIu64 " again, expected it once", row, number);
    status = check_end(r, row, object, "from", link->from);
    if (!status) status = check_end(r, row, object, "to", link->to);
    if (!status) status = number_of(r, row, object, "bytes", &load->nbytes);
    if (!status) status = number_of(r, row, object, "messages", &load->messages);
    if (!status) status = number_of(r, row, object, "busy_ps", &load->busy_ps);
    if (!status) status = number_of(r, row, object, "waited_ps", &load->waited_ps);
    if (!status && !load->messages) status = WRONG(r, "links[%zu].messages: found %d, expected at least 1", row, 0);
    return status;
}

static tla_status read_rows(const reader *r, const json_t *report) {
    const json_t *const rows = json_object_get(report, "links"), *const run = json_object_get(report, "sim_time_ps");
    if (!json_is_array(rows)) return WRONG(r, "found no \"links\", expected %s", "a report of `tlmalloc run --json'");
    if (!json_is_integer(run) || json_integer_value(run) <= 0) {
        char found[64];
        print_value(run, found, sizeof found);
        return WRONG(r, "sim_time_ps: found %s, expected a time above 0", found);
    }
    r->load->run_ps = (uint64_t)json_integer_value(run);
    r->load->links = calloc((size_t)tla_topology_link_count(r->topology) + 1, sizeof *r->load->links);
    if (!r->load->links) return tla_error_set(r->error, TLA_NO_HOST_MEMORY, "no host memory");
    tla_status status = TLA_OK;
    for (size_t i = 0; !status && i < json_array_size(rows); i++)
        status = read_row(r, i, json_array_get(rows, i));
    return status;
}

tla_status topology_load_read(const char *path, const tla_config *config, const tla_topology *topology,
                              topology_load *load, tla_error *error) {
    const reader r = {path, topology, load, error};
    char *text = NULL;
    size_t length = 0;
    *load = (topology_load){0};
    output_protect(path);
    tla_status status = read_text(path, REPORT_BYTES_MAX, &text, &length, error);
    if (status) return status;
    json_error_t problem;
    json_t *const report = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (!report)
        return tla_error_set(error, TLA_SYNTAX, "--load: %.200s:%d:%d: not JSON: %.100s", path, problem.line,
                             problem.column, problem.text);
    status = check_platform(&r, report, config);
    if (!status) status = read_rows(&r, report);
    json_decref(report);
    if (status) topology_load_clear(load);
    return status;
}

void topology_load_clear(topology_load *load) {
    free(load->links);
    *load = (topology_load){0};
}
