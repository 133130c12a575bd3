/* A topology that lists every node and every link: read, and written. */
#define ROW_STRUCT struct listed
#include "loader.h"
#include "row.h"

#include "tlmalloc/config.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { PAIR_MAX = 2 * TLA_NODE_NAME_MAX };

/* The contents of a row: a node or a link. */
struct listed {
    char name[TLA_NODE_NAME_MAX];
    tla_node_kind kind;
    uint64_t x_um, y_um, overhead_ps;
    bool store_and_forward;
    uint32_t rank;
    char between[PAIR_MAX];
    uint64_t length_um, bandwidth, routing, routing_at_end;
};

/* The result of the rows; the context of the loader. */
typedef struct reading {
    tla_topology *topology;
    uint64_t wire_ps_per_mm;
    bool host_memory;           /* the host has one */
    tla_place row;              /* where the row begins */
    size_t findings_before_row; /* number of findings before the row */
    tla_config_report report;
    void *context;
} reading;

static void report_own(void *context, const tla_config_finding *finding) {
    const reading *r = context;
    if (r->report) r->report(r->context, finding);
}

static reading *reading_of(tla_loader *loader) {
    return loader->context;
}

/* ---- the keys ---- */

static tla_status check_name(const char *text, tla_error *wrong) {
    (void)wrong;
    return strlen(text) < TLA_NODE_NAME_MAX && *text ? TLA_OK : TLA_SYNTAX; /* its characters: tla_topology_add_node */
}

static tla_status check_pair(const char *text, tla_error *wrong) {
    (void)wrong;
    const char *space = strchr(text, ' ');
    return space && space > text && space[1] && !strchr(space + 1, ' ') && strlen(text) < PAIR_MAX ? TLA_OK
                                                                                                   : TLA_SYNTAX;
}

#define NAME .expected = "a name, at most 47 long", .check = check_name
#define PAIR .expected = "the names of two nodes with a space between them", .check = check_pair
static_assert(TLA_NODE_NAME_MAX == 48, "the text above says so");

NAMES_OF(tla_node_kind)

#define NONE "none"
#define LENGTH_MAX (1000 * 1000 * MM)
#define ROUTING_MAX (UINT64_C(1) << 50)

static const tla_schema_key node_keys[] = {
    {TEXT(name, name, NAME), NONE, NULL, "name of the node"},
    {NAMED(kind, kind, tla_node_kind), NONE, NULL, "kind of the node"},
    {LENGTH(x, x_um, 0, LENGTH_MAX), NONE, "0 mm", "from the left"},
    {LENGTH(y, y_um, 0, LENGTH_MAX), NONE, "0 mm", "from the top"},
    {TIME(overhead, overhead_ps, MS), NONE, "0 ns", "per transaction"},
    {BOOLEAN(store_and_forward, store_and_forward), NONE, "false", "collects a transaction before it forwards it"},
    {COUNT(rank, rank, 0, UINT32_MAX), NONE, "0", "decides between paths of equal routing"},
};

static const tla_schema_key link_keys[] = {
    {TEXT(between, between, PAIR), NONE, NULL, "the two nodes"},
    {LENGTH(length, length_um, 0, LENGTH_MAX), NONE, "0 mm", "of the wire"},
    {BANDWIDTH(bandwidth, bandwidth), NONE, NULL, "in each direction"},
    {LENGTH(routing, routing, 0, ROUTING_MAX), NONE, NULL, "weight that paths minimise"},
    {LENGTH(routing_at_end, routing_at_end, 0, ROUTING_MAX), NONE, NULL, "weight in the cube where a path ends"},
};

static bool is_written(const tla_loader *loader, const char *key) {
    return loader->origins[tla_schema_find(loader->schema, key)].at.file != NULL;
}

/* Returns whether the row has its required keys, and no finding yet. */
static bool is_whole(tla_loader *loader, const char *first, const char *second) {
    const reading *r = reading_of(loader);
    const char *const needed[] = {first, second};
    for (int i = 0; i < 2; i++)
        if (!is_written(loader, needed[i])) tla_loader_find(loader, r->row, "missing key %s", needed[i]);
    return loader->findings == r->findings_before_row;
}

static void begin_row(tla_loader *loader, size_t key, const tla_written *name, const tla_written *row) {
    (void)name;
    reading *r = reading_of(loader);
    r->row = row->at;
    r->findings_before_row = loader->findings;
    tla_schema_set_defaults(loader->schema->keys[key].rows, loader->config);
}

static void add_node(tla_loader *loader) {
    const reading *r = reading_of(loader);
    const struct listed *row = loader->config;
    if (!is_whole(loader, "name", "kind")) return;
    tla_topology_node node = {.kind = row->kind,
                              .x_um = row->x_um,
                              .y_um = row->y_um,
                              .overhead_ps = row->overhead_ps,
                              .store_and_forward = row->store_and_forward,
                              .rank = row->rank};
    memcpy(node.name, row->name, sizeof node.name);
    tla_error error;
    const tla_status status = tla_topology_add_node(r->topology, &node, &error);
    loader->no_memory |= status == TLA_NO_HOST_MEMORY;
    if (status && status != TLA_NO_HOST_MEMORY) tla_loader_find_at(loader, &loader->origins[0], error.text);
}

/* Returns the number of a node; TLA_NO_NODE, with a finding, for an unknown name. */
static uint32_t find_node(tla_loader *loader, const char *name) {
    tla_error error;
    const uint32_t node = tla_topology_find(reading_of(loader)->topology, name, &error);
    if (node == TLA_NO_NODE) tla_loader_find_at(loader, &loader->origins[0], error.text);
    return node;
}

static void add_link(tla_loader *loader) {
    const reading *r = reading_of(loader);
    const struct listed *row = loader->config;
    if (!is_whole(loader, "between", "bandwidth")) return;
    char names[PAIR_MAX];
    memcpy(names, row->between, sizeof names);
    char *const space = strchr(names, ' ');
    *space = '\0';
    const uint64_t routing = is_written(loader, "routing") ? row->routing : row->length_um;
    const tla_topology_link link = {.from = find_node(loader, names),
                                    .to = find_node(loader, space + 1),
                                    .length_um = row->length_um,
                                    .routing = routing,
                                    .routing_at_end =
                                        is_written(loader, "routing_at_end") ? row->routing_at_end : routing,
                                    .latency_ps = tla_topology_wire_ps(row->length_um, r->wire_ps_per_mm),
                                    .bandwidth = row->bandwidth};
    if (link.from == TLA_NO_NODE || link.to == TLA_NO_NODE) return;
    tla_error error;
    const tla_status status = tla_topology_add_link(r->topology, &link, &error);
    loader->no_memory |= status == TLA_NO_HOST_MEMORY;
    if (status && status != TLA_NO_HOST_MEMORY) tla_loader_find_at(loader, &loader->origins[0], error.text);
}

static const tla_schema node_rows = {node_keys, sizeof node_keys / sizeof node_keys[0], sizeof(struct listed), NULL,
                                     add_node};
static const tla_schema link_rows = {link_keys, sizeof link_keys / sizeof link_keys[0], sizeof(struct listed), NULL,
                                     add_link};

static const tla_schema_key file_keys[] = {
    {.key = "nodes", .form = {.type = TLA_VALUE_ROWS}, .take = begin_row, .rows = &node_rows},
    {.key = "links", .form = {.type = TLA_VALUE_ROWS}, .take = begin_row, .rows = &link_rows},
};

static void check_file(tla_loader *loader) {
    if (loader->incomplete || loader->findings || loader->no_memory) return;
    const reading *r = reading_of(loader);
    tla_error error;
    tla_status status = tla_topology_check(r->topology, &error);
    if (!status && r->host_memory && tla_topology_node_of(r->topology, TLA_NODE_HOST_MEMORY, 0, 0, 0) == TLA_NO_NODE)
        status = tla_error_set(&error, TLA_INVALID_ARGUMENT,
                               "missing node host.memory: host_memory.capacity above 0 B needs it");
    loader->no_memory |= status == TLA_NO_HOST_MEMORY;
    if (status && status != TLA_NO_HOST_MEMORY)
        tla_loader_find(loader, (tla_place){loader->file, 0, 0}, "%s", error.text);
}

static const tla_schema file_schema = {file_keys, sizeof file_keys / sizeof file_keys[0], sizeof(struct listed), NULL,
                                       check_file};

/* ---- the interface ---- */

tla_status tla_topology_load(const char *path, const tla_topology_shape *shape, tla_topology **topology,
                             tla_config_report report, void *context) {
    *topology = NULL;
    reading r = {.wire_ps_per_mm = shape->wire_ps_per_mm,
                 .host_memory = shape->host_memory,
                 .report = report,
                 .context = context};
    struct listed unused;
    tla_status status = tla_topology_create(shape->sips, shape->cube_mesh_width * shape->cube_mesh_height,
                                            shape->pes_per_cube, &r.topology);
    if (!status) status = tla_loader_load(&file_schema, path, NULL, 0, NULL, &unused, report_own, &r);
    if (status)
        tla_topology_destroy(r.topology);
    else
        *topology = r.topology;
    return status;
}

tla_status tla_config_topology(const tla_config *config, tla_topology **topology, tla_config_report report,
                               void *context) {
    if (strcmp(config->system.topology_file, "none") != 0)
        return tla_topology_load(config->system.topology_path, &config->topology, topology, report, context);
    tla_error error;
    const tla_status status = tla_topology_of_shape(&config->topology, topology, &error);
    if (status == TLA_INVALID_ARGUMENT && report) report(context, &(tla_config_finding){"defaults", 0, 0, error.text});
    return status == TLA_INVALID_ARGUMENT ? TLA_SYNTAX : status;
}

static const char *text_of(tla_value_type type, uint64_t number, tla_phrase *phrase) {
    *phrase = tla_number_print(type, number);
    return phrase->text;
}

tla_status tla_topology_print(const tla_topology *topology, FILE *out) {
    const tla_topology_node *nodes = tla_topology_nodes(topology);
    const tla_topology_link *links = tla_topology_links(topology);
    tla_phrase a, b, c;
    fputs("nodes:\n", out);
    for (uint32_t i = 0; i < tla_topology_node_count(topology); i++) {
        const tla_topology_node *node = &nodes[i];
        fprintf(out, "  - {name: %s, kind: %s, x: %s, y: %s", node->name, tla_node_kind_name(node->kind),
                text_of(TLA_VALUE_LENGTH, node->x_um, &a), text_of(TLA_VALUE_LENGTH, node->y_um, &b));
        if (node->overhead_ps) fprintf(out, ", overhead: %s", text_of(TLA_VALUE_TIME, node->overhead_ps, &c));
        if (node->store_and_forward) fputs(", store_and_forward: true", out);
        if (node->rank) fprintf(out, ", rank: %" PRIu32, node->rank);
        fputs("}\n", out);
    }
    fputs("links:\n", out);
    for (uint32_t i = 0; i < tla_topology_link_count(topology); i += 2) {
        const tla_topology_link *link = &links[i];
        fprintf(out, "  - {between: %s %s, length: %s, bandwidth: %s", nodes[link->from].name, nodes[link->to].name,
                text_of(TLA_VALUE_LENGTH, link->length_um, &a), text_of(TLA_VALUE_BANDWIDTH, link->bandwidth, &b));
        if (link->routing != link->length_um)
            fprintf(out, ", routing: %s", text_of(TLA_VALUE_LENGTH, link->routing, &c));
        if (link->routing_at_end != link->routing)
            fprintf(out, ", routing_at_end: %s", text_of(TLA_VALUE_LENGTH, link->routing_at_end, &c));
        fputs("}\n", out);
    }
    return ferror(out) ? TLA_IO : TLA_OK;
}
