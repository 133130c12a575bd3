/* The output of `tlmalloc topology`: texts and drawings. */
#ifndef TLMALLOC_PLATFORM_TOPOLOGY_TOPOLOGY_OUTPUT_H
#define TLMALLOC_PLATFORM_TOPOLOGY_TOPOLOGY_OUTPUT_H

#include "tlmalloc/config.h"
#include "tlmalloc/fabric/fabric.h"

/* A way through a topology: numbers of links, one after the other. */
typedef struct topology_path {
    uint32_t from, to;
    uint32_t *links; /* from malloc */
    uint32_t count;
} topology_path;

/* TLA_NO_HOST_MEMORY, with a text. */
tla_status topology_path_find(const tla_topology *topology, uint32_t from, uint32_t to, topology_path *path,
                              tla_error *error);
void topology_path_clear(topology_path *path);

/* Prints every term of the time of nbytes over the path without other traffic. TLA_NO_HOST_MEMORY, with a text. */
tla_status topology_path_print(FILE *out, const tla_config *config, const tla_topology *topology,
                               const topology_path *path, uint64_t nbytes, tla_error *error);

/* Nodes and links by kind. */
void topology_print_totals(FILE *out, const tla_config *config, const tla_topology *topology);

/* The load of the links in a run. */
typedef struct topology_load {
    tla_fabric_load *links; /* by their numbers, from malloc */
    uint64_t run_ps;        /* > 0 */
} topology_load;

/* Out of the report of a run on this platform. TLA_SYNTAX for a file that is no such report, or one of a run on another
 * platform; TLA_IO, TLA_LIMIT, TLA_NO_HOST_MEMORY; with a text that names the file, and *load is empty then. */
tla_status topology_load_read(const char *path, const tla_config *config, const tla_topology *topology,
                              topology_load *load, tla_error *error);
void topology_load_clear(topology_load *load);

/* A picture by Graphviz: with the path (NULL: none) drawn thick, or with links in the colour of their load and as thick
 * as they were waited for (NULL: neither). TLA_IO with a text when Graphviz is not there or fails. */
tla_status topology_draw(FILE *svg, const tla_topology *topology, const topology_path *path, const topology_load *load,
                         tla_error *error);

#endif
