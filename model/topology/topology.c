/* The parts of a fabric and the links between them: growing arrays, with an index of names and one of places. */
#include "topology/topology_build.h"

#include "base/grow.h"

#include "base/suggest.h"
#include "tlmalloc/base/phys_addr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tla_topology {
    uint32_t sips, cubes, pes;
    tla_topology_node *nodes;
    tla_topology_link *links;
    uint32_t node_count, link_count;
    size_t node_room, link_room;
    uint32_t *by_name; /* open addressing: numbers of nodes; TLA_NO_NODE: free */
    uint32_t by_name_size;
    uint32_t *by_place; /* numbers of nodes, at place_of; TLA_NO_NODE: not there */
};

const char *tla_node_kind_name(tla_node_kind kind) {
    static const char *const names[] = {"router",  "pe",     "hbm_ctrl", "m_cpu",   "sram",   "conn", "ucie",
                                        "io_ucie", "io_noc", "io_cpu",   "pcie_ep", "switch", "host", "host_memory"};
    return (unsigned)kind < TLA_NODE_KIND_COUNT ? names[kind] : NULL;
}

/* ---- where a node is ---- */

static uint32_t all_cubes(const tla_topology *t) {
    return t->sips * t->cubes;
}

static uint32_t all_pes(const tla_topology *t) {
    return all_cubes(t) * t->pes;
}

static uint32_t places(const tla_topology *t) {
    return 2 * all_pes(t) + 2 * all_cubes(t) + 2 * t->sips + 2;
}

/* Returns the index of the node in by_place; TLA_NO_NODE for a kind that is not found in this way, and for an invalid
 * place. */
static uint32_t place_of(const tla_topology *t, tla_node_kind kind, uint32_t sip, uint32_t cube, uint32_t index) {
    const uint32_t after_cubes = 2 * all_pes(t) + 2 * all_cubes(t);
    if (kind == TLA_NODE_HOST) return places(t) - 1;
    if (kind == TLA_NODE_HOST_MEMORY) return places(t) - 2;
    if (sip >= t->sips) return TLA_NO_NODE;
    if (kind == TLA_NODE_IO_CPU || kind == TLA_NODE_PCIE_EP)
        return after_cubes + sip + (kind == TLA_NODE_PCIE_EP ? t->sips : 0);
    if (cube >= t->cubes) return TLA_NO_NODE;
    const uint32_t in_all = sip * t->cubes + cube;
    if (kind == TLA_NODE_M_CPU || kind == TLA_NODE_SRAM)
        return 2 * all_pes(t) + in_all + (kind == TLA_NODE_SRAM ? all_cubes(t) : 0);
    if ((kind != TLA_NODE_PE && kind != TLA_NODE_HBM_CTRL) || index >= t->pes) return TLA_NO_NODE;
    return in_all * t->pes + index + (kind == TLA_NODE_HBM_CTRL ? all_pes(t) : 0);
}

static bool is_of_host(tla_node_kind kind) {
    return kind == TLA_NODE_HOST || kind == TLA_NODE_HOST_MEMORY;
}

static bool is_found_by_place(tla_node_kind kind) {
    return kind == TLA_NODE_PE || kind == TLA_NODE_HBM_CTRL || kind == TLA_NODE_M_CPU || kind == TLA_NODE_SRAM ||
           kind == TLA_NODE_IO_CPU || kind == TLA_NODE_PCIE_EP || is_of_host(kind);
}

/* The name that a node must have which is found by where it is. */
static tla_phrase name_of_place(tla_node_kind kind, uint32_t sip, uint32_t cube, uint32_t index) {
    switch (kind) {
    case TLA_NODE_HOST:
        return tla_phrase_of("host");
    case TLA_NODE_HOST_MEMORY:
        return tla_phrase_of("host.memory");
    case TLA_NODE_IO_CPU:
    case TLA_NODE_PCIE_EP:
        return tla_phrase_of("sip%" PRIu32 ".%s", sip, tla_node_kind_name(kind));
    case TLA_NODE_PE:
        return tla_phrase_of("sip%" PRIu32 ".cube%" PRIu32 ".pe%" PRIu32, sip, cube, index);
    case TLA_NODE_HBM_CTRL:
        return tla_phrase_of("sip%" PRIu32 ".cube%" PRIu32 ".hbm_ctrl.pe%" PRIu32, sip, cube, index);
    default:
        return tla_phrase_of("sip%" PRIu32 ".cube%" PRIu32 ".%s", sip, cube, tla_node_kind_name(kind));
    }
}

/* The number behind `word`, when *text begins with both; *text is behind them then. */
static uint32_t take_number(const char **text, const char *word) {
    const size_t length = strlen(word);
    const char *at = *text + length;
    if (strncmp(*text, word, length) != 0 || *at < '0' || *at > '9') return TLA_NO_NODE;
    uint32_t number = 0;
    for (; *at >= '0' && *at <= '9' && number < 10000; at++)
        number = 10 * number + (uint32_t)(*at - '0');
    *text = at;
    return number;
}

/* Fills sip, cube and index from the name. */
static void locate(tla_topology_node *node) {
    const char *rest = node->name;
    node->sip = take_number(&rest, "sip");
    node->cube = node->sip == TLA_NO_NODE ? TLA_NO_NODE : take_number(&rest, ".cube");
    const bool pe = node->kind == TLA_NODE_PE, hbm = node->kind == TLA_NODE_HBM_CTRL;
    node->index = pe ? take_number(&rest, ".pe") : hbm ? take_number(&rest, ".hbm_ctrl.pe") : TLA_NO_NODE;
}

/* ---- names ---- */

static uint32_t hash(const char *name) {
    uint32_t value = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        value = (value ^ (unsigned char)*name) * 16777619u;
    return value;
}

/* Where by_name has the name, or would have it. */
static uint32_t slot_of(const tla_topology *t, const char *name) {
    uint32_t slot = hash(name) & (t->by_name_size - 1);
    while (t->by_name[slot] != TLA_NO_NODE && strcmp(t->nodes[t->by_name[slot]].name, name) != 0)
        slot = (slot + 1) & (t->by_name_size - 1);
    return slot;
}

/* Room for one name more, with at least half of all slots free. */
static bool grow_names(tla_topology *t) {
    if (2 * (t->node_count + 1) <= t->by_name_size) return true;
    const uint32_t size = t->by_name_size ? 2 * t->by_name_size : 64;
    uint32_t *slots = malloc(size * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0xff, size * sizeof *slots);
    free(t->by_name);
    t->by_name = slots;
    t->by_name_size = size;
    for (uint32_t node = 0; node < t->node_count; node++)
        slots[slot_of(t, t->nodes[node].name)] = node;
    return true;
}

static bool is_name(const char *name) {
    const char *const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const size_t length = strlen(name);
    return length > 0 && strspn(name, characters) == length;
}

/* ---- making one ---- */

tla_status tla_topology_create(uint32_t sips, uint32_t cubes, uint32_t pes, tla_topology **topology) {
    *topology = NULL;
    if (sips < 1 || sips > TLA_SIP_COUNT || cubes < 1 || cubes > TLA_CUBE_DIE_COUNT || pes < 1 || pes > TLA_PE_COUNT)
        return TLA_INVALID_ARGUMENT;
    tla_topology *t = calloc(1, sizeof *t);
    if (!t) return TLA_NO_HOST_MEMORY;
    t->sips = sips;
    t->cubes = cubes;
    t->pes = pes;
    t->by_place = malloc(places(t) * sizeof *t->by_place);
    if (!t->by_place || !grow_names(t)) {
        tla_topology_destroy(t);
        return TLA_NO_HOST_MEMORY;
    }
    memset(t->by_place, 0xff, places(t) * sizeof *t->by_place);
    *topology = t;
    return TLA_OK;
}

void tla_topology_destroy(tla_topology *topology) {
    if (!topology) return;
    free(topology->nodes);
    free(topology->links);
    free(topology->by_name);
    free(topology->by_place);
    free(topology);
}

static tla_status check_place(const tla_topology *t, const tla_topology_node *node, tla_error *error) {
    const uint32_t place = place_of(t, node->kind, node->sip, node->cube, node->index);
    if (place == TLA_NO_NODE ||
        strcmp(node->name, name_of_place(node->kind, node->sip, node->cube, node->index).text) != 0) {
        const tla_phrase last = name_of_place(node->kind, t->sips - 1, t->cubes - 1, t->pes - 1);
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "unknown node %s of kind %s: the platform has %s%s",
                             tla_quote(node->name).text, tla_node_kind_name(node->kind),
                             is_of_host(node->kind) ? "" : "nodes up to ", last.text);
    }
    return TLA_OK;
}

tla_status tla_topology_add_node(tla_topology *t, const tla_topology_node *given, tla_error *error) {
    tla_topology_node node = *given;
    if (!memchr(node.name, '\0', sizeof node.name) || !is_name(node.name) || (unsigned)node.kind >= TLA_NODE_KIND_COUNT)
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "invalid name or kind of a node: the name must have letters, digits and _ - . and at most %d characters",
            TLA_NODE_NAME_MAX - 1);
    locate(&node);
    if (is_found_by_place(node.kind)) {
        const tla_status status = check_place(t, &node, error);
        if (status) return status;
    }
    if (t->by_name[slot_of(t, node.name)] != TLA_NO_NODE)
        return tla_error_set(error, TLA_OVERLAP, "node %s appears twice", tla_quote(node.name).text);
    if (!grow_names(t) || !tla_grow(&t->nodes, &t->node_room, t->node_count + 1, sizeof *t->nodes))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    t->by_name[slot_of(t, node.name)] = t->node_count;
    if (is_found_by_place(node.kind))
        t->by_place[place_of(t, node.kind, node.sip, node.cube, node.index)] = t->node_count;
    t->nodes[t->node_count++] = node;
    return TLA_OK;
}

tla_status tla_topology_add_link(tla_topology *t, const tla_topology_link *link, tla_error *error) {
    if (link->from >= t->node_count || link->to >= t->node_count)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "link to an unknown node");
    if (link->from == link->to)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "link from %s to itself: must connect two nodes",
                             t->nodes[link->from].name);
    if (link->bandwidth == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "link between %s and %s: the bandwidth must be above 0",
                             t->nodes[link->from].name, t->nodes[link->to].name);
    if (!tla_grow(&t->links, &t->link_room, (size_t)t->link_count + 2, sizeof *link))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    tla_topology_link back = *link;
    back.from = link->to;
    back.to = link->from;
    t->links[t->link_count++] = *link;
    t->links[t->link_count++] = back;
    return TLA_OK;
}

/* ---- whether it can work ---- */

static tla_status check_places(const tla_topology *t, tla_error *error) {
    static const tla_node_kind kinds[] = {TLA_NODE_HOST, TLA_NODE_PCIE_EP, TLA_NODE_IO_CPU,  TLA_NODE_M_CPU,
                                          TLA_NODE_SRAM, TLA_NODE_PE,      TLA_NODE_HBM_CTRL};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (uint32_t sip = 0; sip < t->sips; sip++)
            for (uint32_t cube = 0; cube < t->cubes; cube++)
                for (uint32_t pe = 0; pe < t->pes; pe++)
                    if (tla_topology_node_of(t, kinds[k], sip, cube, pe) == TLA_NO_NODE)
                        return tla_error_set(error, TLA_INVALID_ARGUMENT, "missing node %s: the platform needs it",
                                             name_of_place(kinds[k], sip, cube, pe).text);
    return TLA_OK;
}

/* The root of a node's part; parts[node] leads towards it, and is shortened on the way. */
static uint32_t part_of(uint32_t *parts, uint32_t node) {
    while (parts[node] != node)
        node = parts[node] = parts[parts[node]];
    return node;
}

/* Links lead both ways, so that nodes that reach each other are one part. */
static tla_status check_reach(const tla_topology *t, tla_error *error) {
    uint32_t *parts = malloc((t->node_count + 1) * sizeof *parts), in_first_part = 0, lost = TLA_NO_NODE;
    if (!parts) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    for (uint32_t node = 0; node < t->node_count; node++)
        parts[node] = node;
    for (uint32_t i = 0; i < t->link_count; i += 2)
        parts[part_of(parts, t->links[i].from)] = part_of(parts, t->links[i].to);
    for (uint32_t node = t->node_count; node-- > 0;)
        if (part_of(parts, node) == part_of(parts, 0))
            in_first_part++;
        else
            lost = node;
    free(parts);
    if (lost == TLA_NO_NODE) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s and %s cannot reach each other: links from the first reach only %" PRIu32 " of %" PRIu32
                         " nodes",
                         t->nodes[0].name, t->nodes[lost].name, in_first_part, t->node_count);
}

tla_status tla_topology_check(const tla_topology *topology, tla_error *error) {
    const tla_status status = check_places(topology, error);
    return status ? status : check_reach(topology, error);
}

/* ---- contents ---- */

uint32_t tla_topology_node_count(const tla_topology *topology) {
    return topology->node_count;
}

uint32_t tla_topology_link_count(const tla_topology *topology) {
    return topology->link_count;
}

const tla_topology_node *tla_topology_nodes(const tla_topology *topology) {
    return topology->nodes;
}

tla_topology_node *tla_topology_own_nodes(tla_topology *topology) {
    return topology->nodes;
}

const tla_topology_link *tla_topology_links(const tla_topology *topology) {
    return topology->links;
}

uint32_t tla_topology_node_named(const tla_topology *topology, const char *name) {
    return topology->by_name[slot_of(topology, name)];
}

uint32_t tla_topology_region(const tla_topology_node *node) {
    return node->cube == TLA_NO_NODE ? 0 : 1 + node->sip * TLA_CUBE_DIE_COUNT + node->cube;
}

uint32_t tla_topology_find(const tla_topology *topology, const char *name, tla_error *error) {
    const uint32_t found = tla_topology_node_named(topology, name);
    if (found != TLA_NO_NODE) return found;
    tla_nearest nearest = tla_nearest_to(name);
    for (uint32_t node = 0; node < topology->node_count; node++)
        tla_nearest_try(&nearest, topology->nodes[node].name, strlen(topology->nodes[node].name));
    tla_error_set(error, TLA_INVALID_ARGUMENT, "unknown node %s%s%s%s", tla_quote(name).text,
                  nearest.found ? ", did you mean \"" : "", nearest.found ? nearest.name.text : "",
                  nearest.found ? "\"?" : "");
    return TLA_NO_NODE;
}

uint32_t tla_topology_node_of(const tla_topology *topology, tla_node_kind kind, uint32_t sip, uint32_t cube,
                              uint32_t index) {
    const uint32_t place = place_of(topology, kind, sip, cube, index);
    return place == TLA_NO_NODE ? TLA_NO_NODE : topology->by_place[place];
}
