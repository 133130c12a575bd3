/* The fabric of a report, made once more from its configuration; and all defaults. */
#include "report/report_topology.h"

#include "cli/config_json.h"
#include "tlmalloc/config.h"
#include "tlmalloc/topology/topology.h"

#include <stdlib.h>
#include <string.h>

static json_t *topology_to_json(const tla_topology *topology) {
    json_t *const nodes = json_array(), *const links = json_array();
    for (uint32_t i = 0; i < tla_topology_node_count(topology); i++) {
        const tla_topology_node *const node = &tla_topology_nodes(topology)[i];
        json_array_append_new(nodes, json_pack("[s, s, I, I]", node->name, tla_node_kind_name(node->kind),
                                               (json_int_t)node->x_um, (json_int_t)node->y_um));
    }
    for (uint32_t i = 0; i < tla_topology_link_count(topology); i++) {
        const tla_topology_link *const link = &tla_topology_links(topology)[i];
        json_array_append_new(links, json_pack("[I, I]", (json_int_t)link->from, (json_int_t)link->to));
    }
    return json_pack("{s: o, s: o}", "nodes", nodes, "links", links);
}

json_t *report_topology(const json_t *config) {
    tla_config parsed;
    tla_topology *topology = NULL;
    char *const text = json_dumps(config, JSON_COMPACT); /* JSON is YAML */
    if (!text) return NULL;
    const tla_status status = tla_config_parse(text, strlen(text), "config", NULL, 0, &parsed, NULL, NULL);
    free(text);
    if (status || tla_config_topology(&parsed, &topology, NULL, NULL)) return json_null();
    json_t *const made = topology_to_json(topology);
    tla_topology_destroy(topology);
    return made;
}

json_t *report_defaults(void) {
    tla_config config;
    return tla_config_load(NULL, NULL, 0, &config, NULL, NULL) ? NULL : config_to_json(&config);
}
