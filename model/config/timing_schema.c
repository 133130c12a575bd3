/* Every key of a timing profile: unit, range, and what it means. The values are a part's own: the profiles in
 * configs/timing state them with their sources, and a value that is needed and not written is a finding. */
#include "loader.h"

#include <ctype.h>
#include <string.h>

/* As tla_hbm_config, in the width that the schema reads. */
struct profile {
    uint64_t model, tck, burst, burst_cycles;
    uint64_t bank_groups, banks_per_group, rows, row_size;
    char map[TLA_CONFIG_NAME_MAX];
    uint64_t cl, cwl, rcd_rd, rcd_wr, rp, ras, rc, rrd_s, rrd_l, faw, ccd_s, ccd_l, wtr_s, wtr_l, rtw, rtp, wr;
    uint64_t act_cycles;
    uint64_t refresh, refi, rfc, rfc_pb, rrefd;
    uint64_t page_policy, read_queue, write_queue, write_high, write_low, window, row_bus_sharers;
};

#define KIB UINT64_C(1024)
#define CYCLES_MAX (UINT64_C(1) << 24)

#define NONE "none: the part's own"
#define REFERENCE "reference runs"
#define KEY(member) #member, offsetof(struct profile, member)
#define CYCLES(member, meaning)                                                                                        \
    { KEY(member), TLA_VALUE_CYCLES, 0, CYCLES_MAX, false, NONE, "0 tCK", meaning }
#define COUNT_POWER(low, high) TLA_VALUE_COUNT, low, high, true
#define SIZE_POWER(low, high) TLA_VALUE_SIZE, low, high, true

static const tla_schema_key timing_keys[] = {
    {KEY(model), TLA_VALUE_HBM_MODEL, 0, 0, false, "the full model", "banks",
     "banks: everything below; channel: only tck, burst, burst_cycles, rtw (change of direction) and window"},
    {KEY(tck), TLA_VALUE_TIME, 1, 1000000, false, NONE, "1 ns", "clock period: the unit of all cycles"},
    {KEY(burst), SIZE_POWER(1, 1024 * KIB), NONE, "32 B", "bytes of a burst"},
    CYCLES(burst_cycles, "cycles that a burst takes the data bus"),
    {KEY(bank_groups), COUNT_POWER(1, TLA_HBM_GROUPS_MAX), "JESD235", "4", "bank groups of a pseudo-channel"},
    {KEY(banks_per_group), COUNT_POWER(1, TLA_HBM_BANKS_MAX), "JESD235", "4", "banks of a bank group"},
    {KEY(rows), COUNT_POWER(1, UINT64_C(1) << 24), REFERENCE, "16384", "rows of a bank"},
    {KEY(row_size), SIZE_POWER(1, 1024 * KIB), "JESD235: a page", "1 KiB", "bytes of a row"},
    {KEY(map), TLA_VALUE_ADDRESS_MAP, 0, 0, false, REFERENCE, "m3",
     "address bits above the burst, from the least significant: bg2,co5,ba2,ro14 (pc, bg, ba, co, ro), or m1 (bg ba co "
     "ro), m2 (co bg ba ro), m3 (bg co ba ro)"},
    CYCLES(cl, "read command to the first data"),
    CYCLES(cwl, "write command to the first data"),
    CYCLES(rcd_rd, "ACT to read command"),
    CYCLES(rcd_wr, "ACT to write command"),
    CYCLES(rp, "precharge to ACT"),
    CYCLES(ras, "ACT to precharge"),
    CYCLES(rc, "ACT to ACT of the same bank; at least ras + rp"),
    CYCLES(rrd_s, "ACT to ACT of another bank group"),
    CYCLES(rrd_l, "ACT to ACT of the same bank group"),
    CYCLES(faw, "window in which no more than four ACTs start"),
    CYCLES(ccd_s, "column command to column command of another bank group"),
    CYCLES(ccd_l, "column command to column command of the same bank group"),
    CYCLES(wtr_s, "end of write data to read command of another bank group"),
    CYCLES(wtr_l, "end of write data to read command of the same bank group"),
    CYCLES(rtw, "read command to write command"),
    CYCLES(rtp, "read command to precharge"),
    CYCLES(wr, "end of write data to precharge"),
    {KEY(act_cycles), TLA_VALUE_CYCLES, 1, 16, false, "JESD235: two-cycle ACT", "2 tCK",
     "row-command cycles of an ACT; it takes effect in the last"},
    {KEY(refresh), TLA_VALUE_REFRESH, 0, 0, false, REFERENCE, "all_bank", "which refresh commands are used"},
    CYCLES(refi, "time in which every bank is refreshed once"),
    CYCLES(rfc, "all-bank refresh: until the banks can be used again"),
    CYCLES(rfc_pb, "per-bank refresh: until the bank can be used again"),
    CYCLES(rrefd, "per-bank refresh to ACT or refresh of another bank"),
    {KEY(page_policy), TLA_VALUE_PAGE_POLICY, 0, 0, false, REFERENCE, "open",
     "open: a row stays open until another is wanted; closed: precharged with its last queued burst"},
    {KEY(read_queue), TLA_VALUE_COUNT, 1, TLA_HBM_QUEUE_MAX, false, REFERENCE, "32", "reads that wait for a command"},
    {KEY(write_queue), TLA_VALUE_COUNT, 1, TLA_HBM_QUEUE_MAX, false, REFERENCE, "32", "writes that wait"},
    {KEY(write_high), TLA_VALUE_PERCENT, 0, 100, false, REFERENCE, "80 %",
     "writes go when more than this share of their queue waits"},
    {KEY(write_low), TLA_VALUE_PERCENT, 0, 100, false, REFERENCE, "20 %", "... until less than this share waits"},
    {KEY(window), TLA_VALUE_COUNT, 0, 65536, false, REFERENCE, "32",
     "reads accepted and not yet answered; 0: no limit but the queue"},
    {KEY(row_bus_sharers), COUNT_POWER(1, 2), "one pseudo-channel alone", "1",
     "2: two pseudo-channels (field pc of the map) share one row-command bus"},
};

static void convert(const struct profile *p, tla_hbm_config *timing) {
    *timing = (tla_hbm_config){
        .model = (uint32_t)p->model,
        .tck_ps = (uint32_t)p->tck,
        .burst_bytes = (uint32_t)p->burst,
        .burst_cycles = (uint32_t)p->burst_cycles,
        .bank_groups = (uint32_t)p->bank_groups,
        .banks_per_group = (uint32_t)p->banks_per_group,
        .rows = (uint32_t)p->rows,
        .row_bytes = (uint32_t)p->row_size,
        .cl = (uint32_t)p->cl,
        .cwl = (uint32_t)p->cwl,
        .rcd_rd = (uint32_t)p->rcd_rd,
        .rcd_wr = (uint32_t)p->rcd_wr,
        .rp = (uint32_t)p->rp,
        .ras = (uint32_t)p->ras,
        .rc = (uint32_t)p->rc,
        .rrd_s = (uint32_t)p->rrd_s,
        .rrd_l = (uint32_t)p->rrd_l,
        .faw = (uint32_t)p->faw,
        .ccd_s = (uint32_t)p->ccd_s,
        .ccd_l = (uint32_t)p->ccd_l,
        .wtr_s = (uint32_t)p->wtr_s,
        .wtr_l = (uint32_t)p->wtr_l,
        .rtw = (uint32_t)p->rtw,
        .rtp = (uint32_t)p->rtp,
        .wr = (uint32_t)p->wr,
        .act_cycles = (uint32_t)p->act_cycles,
        .refresh = (uint32_t)p->refresh,
        .refi = (uint32_t)p->refi,
        .rfc = (uint32_t)p->rfc,
        .rfc_pb = (uint32_t)p->rfc_pb,
        .rrefd = (uint32_t)p->rrefd,
        .page_policy = (uint32_t)p->page_policy,
        .read_queue = (uint32_t)p->read_queue,
        .write_queue = (uint32_t)p->write_queue,
        .write_high_percent = (uint32_t)p->write_high,
        .write_low_percent = (uint32_t)p->write_low,
        .window = (uint32_t)p->window,
        .row_bus_sharers = (uint32_t)p->row_bus_sharers,
    };
    tla_hbm_map_parse(p->map, timing, NULL); /* its syntax has been checked */
}

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
    tla_hbm_config timing;
    convert(l->config, &timing);
    tla_error error;
    if (tla_hbm_check(&timing, &error) == TLA_OK) return;
    const size_t key = key_named(l->schema, error.text);
    const tla_origin *origin = key < l->schema->count ? &l->origins[key] : NULL;
    if (origin != NULL && origin->at.file != NULL)
        tla_loader_find(l, origin->at, "%s", error.text);
    else
        tla_loader_find(l, (tla_place){l->file, 0, 0}, origin != NULL ? "%s (the key is not written)" : "%s",
                        error.text);
}

const tla_schema tla_timing_schema = {timing_keys, sizeof timing_keys / sizeof timing_keys[0], sizeof(struct profile),
                                      "rp=14 tCK", check_timing};

tla_status tla_timing_parse(const char *text, size_t length, const char *name, const char *const *overrides,
                            size_t override_count, tla_hbm_config *timing, tla_config_report report, void *context) {
    struct profile profile;
    const tla_status status = tla_loader_parse(&tla_timing_schema, text, length, name, overrides, override_count, NULL,
                                               &profile, report, context);
    if (status == TLA_OK) convert(&profile, timing);
    return status;
}

tla_status tla_timing_load(const char *path, const char *const *overrides, size_t override_count,
                           tla_hbm_config *timing, tla_config_report report, void *context) {
    struct profile profile;
    const tla_status status =
        tla_loader_load(&tla_timing_schema, path, overrides, override_count, NULL, &profile, report, context);
    if (status == TLA_OK) convert(&profile, timing);
    return status;
}
