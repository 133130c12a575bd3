/* Values of a platform's keys that are words: choices by their names, and texts by their forms. For platform_keys.c,
 * which defines ROW_STRUCT. */
#ifndef TLMALLOC_MODEL_CONFIG_PLATFORM_WORDS_H
#define TLMALLOC_MODEL_CONFIG_PLATFORM_WORDS_H

#include "row.h"
#include "topology/floorplan.h"

#include <assert.h>
#include <string.h>

static const char *tla_address_layout_name(tla_address_layout layout) {
    return layout == TLA_LAYOUT_KERNBENCH ? "kernbench" : layout == TLA_LAYOUT_PLAIN ? "plain" : NULL;
}

NAMES_OF(tla_address_layout)
NAMES_OF(tla_engine_kind)
NAMES_OF(tla_lockstep_scope)
NAMES_OF(tla_units_mode)
NAMES_OF(tla_free_list_place)
NAMES_OF(tla_guard_mode)
NAMES_OF(tla_move_mode)
NAMES_OF(tla_compaction_mode)
NAMES_OF(tla_victim_rule)
NAMES_OF(tla_divided_memory)
NAMES_OF(tla_unmapped)
NAMES_OF(tla_eviction)
NAMES_OF(tla_overhead_place)
NAMES_OF(tla_walk_mode)
NAMES_OF(tla_replacement)
NAMES_OF(tla_fault_handler)
NAMES_OF(tla_map_ack)
NAMES_OF(tla_sip_topology)
NAMES_OF(tla_routing)
NAMES_OF(tla_transport)
NAMES_OF(tla_host_driver_kind)
NAMES_OF(tla_host_pool)
NAMES_OF(tl_algorithm)
NAMES_OF(tl_between_sips)
NAMES_OF(tl_receipt_order)
NAMES_OF(tla_slot_memory)
NAMES_OF(tla_back_pressure)
NAMES_OF(tla_slot_costs)

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* Whether the text is 1 .. size - 1 of these characters. */
static tla_status check_characters(const char *text, const char *characters, size_t size) {
    const size_t length = strlen(text);
    return length > 0 && length < size && strspn(text, characters) == length ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_word(const char *text, tla_error *wrong) {
    (void)wrong;
    return check_characters(text, LETTERS "_", TLA_CONFIG_NAME_MAX);
}

/* Whether a list of places is one, and its member can hold it. */
#define CHECK_LIST(name, is_list, member)                                                                              \
    static tla_status name(const char *text, tla_error *wrong) {                                                       \
        (void)wrong;                                                                                                   \
        return strlen(text) < sizeof(((tla_topology_shape *)0)->member) && is_list(text) ? TLA_OK : TLA_SYNTAX;        \
    }

CHECK_LIST(check_hole, tla_floorplan_is_hole, mesh_hole)
CHECK_LIST(check_pe_places, tla_floorplan_is_pe_list, pe_places)
CHECK_LIST(check_m_cpu_place, tla_floorplan_is_unit_place, m_cpu_place)
CHECK_LIST(check_sram_place, tla_floorplan_is_unit_place, sram_place)
CHECK_LIST(check_connections, tla_floorplan_is_connection_list, connection_places)
CHECK_LIST(check_faces, tla_floorplan_is_face_list, phy_faces)

static tla_status check_file(const char *text, tla_error *wrong) {
    (void)wrong;
    return check_characters(text, LETTERS "_-./", TLA_CONFIG_FILE_MAX);
}

static tla_status check_fault_plan(const char *text, tla_error *wrong) {
    tla_fault_injection any = {0};
    return tla_fault_injection_parse(text, &any, wrong);
}

#define WORD .expected = "a name of letters, digits and _, at most 63 long", .check = check_word
#define TIMING                                                                                                         \
    .check = check_file,                                                                                               \
    .expected = "channels, the name of a timing profile, or its file (letters, digits and _ - . /, with a / or "       \
                "ending in .yaml), at most 191 long"
#define ENERGY_PROFILE                                                                                                 \
    .check = check_file,                                                                                               \
    .expected = "none, the name of an energy profile, or its file (letters, digits and _ - . /, with a / or ending "   \
                "in .yaml), at most 191 long"
#define PRICES                                                                                                         \
    .check = check_file,                                                                                               \
    .expected = "the name of a cost profile, or its file (letters, digits and _ - . /, with a / or ending in .yaml), " \
                "at most 191 long"
#define FAULT_PLAN .expected = "none, or faults between ;, at most 191 characters", .check = check_fault_plan
#define NAME_OF_FILE .expected = "none, or a file (letters, digits and _ - . /), at most 191 long", .check = check_file
#define HOLE .expected = "centre, none, or the corners of a rectangle (r2c2..r3c3)", .check = check_hole
#define PE_PLACES .expected = "corners, or routers with spaces between them (r0c0 r0c1)", .check = check_pe_places
#define PLACE(check_place) .expected = "auto, or a router (r0c2)", .check = check_place
#define CONNECTIONS .expected = "spread, or places along a side (0 2 3 5)", .check = check_connections
#define FACES .expected = "west, or sides of cubes with spaces between them (cube0.W cube4.W)", .check = check_faces
static_assert(TLA_CONFIG_NAME_MAX == 64 && TLA_CONFIG_FILE_MAX == 192, "the texts above say so");
static_assert(sizeof(((tla_config *)0)->faults.text) <= sizeof(((tla_value *)0)->text), "a value holds every text");

#endif
