/* Every key of a timing profile: unit, range, and meaning. The values are specific to a part: the profiles in
 * configs/timing state them with their sources, and a required value that is missing is reported. */
#define ROW_STRUCT struct profile
#include "loader.h"
#include "row.h"
#include "timing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAP_MAX = 64, ROW_HITS_MAX = 12 };

struct profile {
    tla_hbm_config timing;
    char map[MAP_MAX]; /* as tla_hbm_map_parse reads it: what "m1" is depends on the other keys */
    char row_hits[ROW_HITS_MAX];
};

#define CYCLES_MAX (UINT64_C(1) << 24)

#define NONE "none: specific to the part"
#define REFERENCE "reference runs"
#define PART(member, meaning)                                                                                          \
    { CYCLES(member, timing.member, 0, CYCLES_MAX), NONE, "0 tCK", meaning }

NAMES_OF(tla_hbm_model)
NAMES_OF(tla_hbm_refresh)
NAMES_OF(tla_hbm_page_policy)
NAMES_OF(tla_hbm_before_refresh)

static tla_status check_map(const char *text, tla_error *wrong) {
    tla_hbm_config any = {0};
    return strlen(text) < MAP_MAX ? tla_hbm_map_parse(text, &any, wrong) : TLA_SYNTAX;
}

/* "older" is 1: a row serves the burst that it was opened for in any case. 0: the text is none of these. */
static uint32_t parse_row_hits(const char *text) {
    if (strcmp(text, "all") == 0) return TLA_HBM_ROW_HITS_ALL;
    if (strcmp(text, "older") == 0) return 1;
    const size_t digits = strspn(text, "0123456789");
    return text[digits] == '\0' && digits <= 4 ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static tla_status check_row_hits(const char *text, tla_error *wrong) {
    (void)wrong;
    return parse_row_hits(text) != 0 ? TLA_OK : TLA_SYNTAX;
}

#define ROW_HITS .check = check_row_hits, .expected = "all, older, or a number of bursts, 1 .. 9999"

#define ADDRESS_MAP                                                                                                    \
    .check = check_map, .expected = "an address map: m1, m2, m3, or fields from the least significant bit, such as "   \
                                    "bg2,co5,ba2,ro14"

static const tla_schema_key keys[] = {
    {NAMED(model, timing.model, tla_hbm_model), "the full model", "banks",
     "banks: all keys below; channel: only tck, burst, burst_cycles, rtw (change of direction) and window"},
    {SHORT_TIME(tck, timing.tck_ps, 1, 1000000), NONE, "1 ns", "clock period: the unit of all cycles"},
    {SIZE_POWER(burst, timing.burst_bytes, 1, 1024 * KIB), NONE, "32 B", "bytes of a burst"},
    {SIZE(burst_on_bus, timing.bus_bytes, 0, 1024 * KIB), "no metadata", "0 B",
     "bytes that a burst transfers on the data bus, with metadata; 0 B: as many as burst"},
    PART(burst_cycles, "cycles for which a burst occupies the data bus; 0 tCK, with model channel only: no time"),
    {COUNT_POWER(bank_groups, timing.bank_groups, 1, TLA_HBM_GROUPS_MAX), "JESD235", "4",
     "bank groups of a pseudo-channel"},
    {COUNT_POWER(banks_per_group, timing.banks_per_group, 1, TLA_HBM_BANKS_MAX), "JESD235", "4",
     "banks of a bank group"},
    {COUNT_POWER(stack_ids, timing.stack_ids, 1, TLA_HBM_GROUPS_MAX), "one stack ID", "1",
     "stack IDs, over which the bank groups are divided: the highest bits of a bank group's number"},
    {COUNT_POWER(rows, timing.rows, 1, UINT64_C(1) << 24), REFERENCE, "16384", "rows of a bank"},
    {SIZE_POWER(row_size, timing.row_bytes, 1, 1024 * KIB), "JESD235: a page", "1 KiB", "bytes of a row"},
    {TEXT(map, map, ADDRESS_MAP), REFERENCE, "m3",
     "address bits above the burst, from the least significant: bg2,co5,ba2,ro14 (pc, bg, ba, co, ro), or m1 (bg ba co "
     "ro), m2 (co bg ba ro), m3 (bg co ba ro)"},
    PART(cl, "read command to the first data"),
    PART(cwl, "write command to the first data"),
    PART(rcd_rd, "ACT to read command"),
    PART(rcd_wr, "ACT to write command"),
    PART(rp, "precharge to ACT"),
    PART(rp_ab, "precharge of all banks to ACT; 0 tCK: as rp"),
    PART(ppd, "precharge to precharge of any bank; 0 tCK: none but the bus"),
    PART(ras, "ACT to precharge"),
    PART(rc, "ACT to ACT of the same bank; at least ras + rp"),
    PART(rrd_s, "ACT to ACT of another bank group"),
    PART(rrd_l, "ACT to ACT of the same bank group"),
    PART(faw, "window in which no more than four ACTs start"),
    PART(ccd_s, "column command to column command of another bank group"),
    PART(ccd_l, "column command to column command of the same bank group"),
    PART(ccd_l_wr, "write command to write command of the same bank group; 0 tCK: as ccd_l"),
    PART(ccd_r, "column command to column command of another stack ID; 0 tCK: as ccd_s"),
    PART(wtr_s, "end of write data to read command of another bank group"),
    PART(wtr_l, "end of write data to read command of the same bank group"),
    PART(rtw, "read command to write command"),
    PART(rtw_l, "read command to write command of the same bank group; 0 tCK: as rtw"),
    PART(rtp, "read command to precharge"),
    PART(wr, "end of write data to precharge"),
    {COUNT_POWER(command_buses, timing.command_buses, 1, 2), "JESD235: two buses", "2",
     "1: one bus for all commands; 2: one bus for ACT, precharge and refresh, one for reads and writes"},
    {CYCLES(act_cycles, timing.act_cycles, 1, 16), "JESD235: two-cycle ACT", "2 tCK",
     "cycles of an ACT on its bus; like every command it takes effect in the last"},
    {CYCLES(pre_cycles, timing.pre_cycles, 1, 16), "JESD235: one cycle", "1 tCK",
     "cycles of a precharge or refresh command on its bus"},
    {CYCLES(column_cycles, timing.column_cycles, 1, 16), "JESD235: one cycle", "1 tCK",
     "cycles of a read or write command on its bus"},
    {CYCLES(aad, timing.aad, 0, CYCLES_MAX), "an ACT is one command", "0 tCK",
     "an ACT is two commands of act_cycles: the second begins at most so long after the first, from which spacings "
     "count; 0 tCK: it is one command"},
    {NAMED(refresh, timing.refresh, tla_hbm_refresh), REFERENCE, "all_bank", "refresh commands in use"},
    PART(refi, "time in which every bank is refreshed once"),
    PART(rfc, "all-bank refresh: until the banks can be used again"),
    PART(rfc_pb, "per-bank refresh: until the bank can be used again"),
    PART(rrefd, "per-bank refresh to ACT or refresh of another bank"),
    {NAMED(before_refresh, timing.before_refresh, tla_hbm_before_refresh), "as DRAMsim3", "close",
     "when an all-bank refresh is due, rows that have not served the burst they were opened for: close: are closed; "
     "use: "
     "serve it first, as in Ramulator"},
    {NAMED(page_policy, timing.page_policy, tla_hbm_page_policy), REFERENCE, "open",
     "open: a row stays open until another row is needed; closed: a row is precharged with its last queued burst"},
    {TEXT(row_hits, row_hits, ROW_HITS), REFERENCE, "all",
     "bursts that a row serves before an older burst of its bank closes it: all that are queued; older: one, as in "
     "Ramulator; a number (4 in DRAMsim3)"},
    {COUNT(read_queue, timing.read_queue, 1, TLA_HBM_QUEUE_MAX), REFERENCE, "32", "reads that may wait for a command"},
    {COUNT(write_queue, timing.write_queue, 1, TLA_HBM_QUEUE_MAX), REFERENCE, "32",
     "writes that may wait for a command"},
    {PERCENT(write_high, timing.write_high_percent), REFERENCE, "80 %",
     "writes start when more than this share of their queue waits"},
    {PERCENT(write_low, timing.write_low_percent), REFERENCE, "20 %",
     "writes stop when less than this share of their queue waits"},
    {COUNT(window, timing.window, 0, 65536), REFERENCE, "32",
     "reads accepted and not yet answered, at most; 0: limited by the queue only"},
    {COUNT_POWER(row_bus_sharers, timing.row_bus_sharers, 1, 2), "one pseudo-channel alone", "1",
     "2: two pseudo-channels (field pc of the map) share one row-command bus"},
};

/* The key whose name the text begins with: that is how tla_hbm_check names what contradicts. */
static size_t key_named(const tla_schema *schema, const char *text) {
    size_t length = 0;
    while (islower((unsigned char)text[length]) || isdigit((unsigned char)text[length]) || text[length] == '_')
        length++;
    char name[TLA_CONFIG_PATH_MAX];
    if (length == 0 || length >= sizeof name) return schema->count;
    memcpy(name, text, length);
    name[length] = '\0';
    return tla_schema_find(schema, name);
}

static void check_timing(tla_loader *l) {
    if (l->incomplete || l->findings > 0) return;
    struct profile *p = l->config;
    tla_hbm_map_parse(p->map, &p->timing, NULL); /* its syntax has been checked */
    p->timing.row_hits = parse_row_hits(p->row_hits);
    tla_error error;
    if (tla_hbm_check(&p->timing, &error) == TLA_OK) return;
    const size_t key = key_named(l->schema, error.text);
    const tla_origin *origin = key < l->schema->count ? &l->origins[key] : NULL;
    if (origin != NULL && origin->at.file != NULL)
        tla_loader_find(l, origin->at, "%s", error.text);
    else
        tla_loader_find(l, (tla_place){l->file, 0, 0}, origin != NULL ? "%s (the key is not written)" : "%s",
                        error.text);
}

const tla_schema tla_timing_schema = {keys, sizeof keys / sizeof keys[0], sizeof(struct profile), "rp=14 tCK",
                                      check_timing};

tla_status tla_timing_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_hbm_config *timing, tla_config_report report, void *context) {
    struct profile profile;
    const tla_status status = tla_loader_parse(&tla_timing_schema, text, length, name, overrides, override_count, NULL,
                                               &profile, report, context);
    if (status == TLA_OK) *timing = profile.timing;
    return status;
}

tla_status tla_timing_load(const char *path, const char *const *overrides, size_t override_count,
                           tla_hbm_config *timing, tla_config_report report, void *context) {
    struct profile profile;
    const tla_status status =
        tla_loader_load(&tla_timing_schema, path, overrides, override_count, NULL, &profile, report, context);
    if (status == TLA_OK) *timing = profile.timing;
    return status;
}
