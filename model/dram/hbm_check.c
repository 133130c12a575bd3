/* Whether the parameters of a pseudo-channel agree with each other. */
#include "base/numbers.h"
#include "hbm_internal.h"

#include <stdio.h>

const char *tla_hbm_model_name(tla_hbm_model model) {
    static const char *const names[] = {"banks", "channel"};
    return (unsigned)model < TLA_HBM_MODEL_COUNT ? names[model] : NULL;
}

const char *tla_hbm_refresh_name(tla_hbm_refresh refresh) {
    static const char *const names[] = {"none", "all_bank", "per_bank"};
    return (unsigned)refresh < TLA_HBM_REFRESH_COUNT ? names[refresh] : NULL;
}

const char *tla_hbm_page_policy_name(tla_hbm_page_policy policy) {
    static const char *const names[] = {"open", "closed"};
    return (unsigned)policy < TLA_HBM_PAGE_POLICY_COUNT ? names[policy] : NULL;
}

const char *tla_hbm_before_refresh_name(tla_hbm_before_refresh rule) {
    static const char *const names[] = {"close", "use"};
    return (unsigned)rule < TLA_HBM_BEFORE_REFRESH_COUNT ? names[rule] : NULL;
}

static tla_status check_map(const tla_hbm_config *c, tla_error *error) {
    static const char *const names[TLA_HBM_FIELD_COUNT] = {"pseudo-channel", "bank-group", "bank", "column", "row"};
    const uint32_t counts[TLA_HBM_FIELD_COUNT] = {c->row_bus_sharers, c->bank_groups, c->banks_per_group,
                                                  c->row_bytes / c->burst_bytes, c->rows};
    uint32_t bits[TLA_HBM_FIELD_COUNT] = {0};
    for (uint32_t i = 0; i < c->map.count; i++) {
        bits[c->map.pieces[i].field] += c->map.pieces[i].bits;
    }
    char text[128];
    tla_hbm_map_print(&c->map, text, sizeof text);
    for (uint32_t f = 0; f < TLA_HBM_FIELD_COUNT; f++) {
        const uint32_t needed = (uint32_t)__builtin_ctz(counts[f]);
        if (bits[f] != needed)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "map %s %s a bit: it has %u %s bits, but a count of %u needs %u", text,
                                 bits[f] < needed ? "loses" : "doubles", bits[f], names[f], counts[f], needed);
    }
    return TLA_OK;
}

#define REQUIRE(condition, ...)                                                                                        \
    do {                                                                                                               \
        if (!(condition)) return tla_error_set(error, TLA_INVALID_ARGUMENT, __VA_ARGS__);                              \
    } while (0)
#define REQUIRE_RANGE(member, low, high)                                                                               \
    REQUIRE(c->member >= (low) && c->member <= (high), #member " is %u: must be %u .. %u", c->member, (uint32_t)(low), \
            (uint32_t)(high))

/* Commands: their cycles on a bus, and an ACT of two commands. */
static tla_status check_buses(const tla_hbm_config *c, tla_error *error) {
    REQUIRE_RANGE(command_buses, 1, 2);
    REQUIRE(c->command_buses == 2 || c->row_bus_sharers == 1,
            "command_buses is 1, and row_bus_sharers %u: one bus for all commands serves one pseudo-channel",
            c->row_bus_sharers);
    REQUIRE(c->pre_cycles >= 1 && c->pre_cycles <= c->act_cycles, "pre_cycles is %u: must be 1 .. act_cycles %u",
            c->pre_cycles, c->act_cycles);
    REQUIRE(c->pre_cycles <= c->wr && c->pre_cycles <= c->rtp, "pre_cycles %u is more than wr %u or rtp %u",
            c->pre_cycles, c->wr, c->rtp);
    REQUIRE(c->column_cycles >= 1 && c->column_cycles <= c->ccd_s, "column_cycles is %u: must be 1 .. ccd_s %u",
            c->column_cycles, c->ccd_s);
    REQUIRE(c->column_cycles <= c->rcd_rd && c->column_cycles <= c->rcd_wr && c->column_cycles <= c->wtr_s,
            "column_cycles %u is more than rcd_rd %u, rcd_wr %u or wtr_s %u", c->column_cycles, c->rcd_rd, c->rcd_wr,
            c->wtr_s);
    if (c->aad == 0) return TLA_OK;
    REQUIRE(c->command_buses == 1, "aad is %u: an ACT of two commands needs command_buses 1", c->aad);
    REQUIRE(c->aad >= c->act_cycles && c->aad + c->act_cycles <= c->rcd_rd && c->aad + c->act_cycles <= c->rcd_wr,
            "aad is %u: must be at least act_cycles %u, and with them at most rcd_rd %u and rcd_wr %u", c->aad,
            c->act_cycles, c->rcd_rd, c->rcd_wr);
    return TLA_OK;
}

tla_status tla_hbm_check(const tla_hbm_config *c, tla_error *error) {
    const uint32_t cycles_max = 1u << 24;
    REQUIRE(c->model < TLA_HBM_MODEL_COUNT, "unknown model %u", c->model);
    REQUIRE_RANGE(tck_ps, 1, 1000000);
    REQUIRE(is_power_of_two(c->burst_bytes) && c->burst_bytes <= (1u << 20),
            "burst is %u: must be a power of two up to 1 MiB", c->burst_bytes);
    REQUIRE(c->bus_bytes == 0 || (c->bus_bytes >= c->burst_bytes && c->bus_bytes <= (1u << 20)),
            "burst_on_bus is %u: must be 0, or burst %u .. 1 MiB", c->bus_bytes, c->burst_bytes);
    REQUIRE(c->window <= (1u << 16), "window is %u: must be at most %u", c->window, 1u << 16);
    if (c->model == TLA_HBM_CHANNEL) return TLA_OK;
    REQUIRE_RANGE(burst_cycles, 1, cycles_max);

    REQUIRE(is_power_of_two(c->bank_groups) && c->bank_groups <= TLA_HBM_GROUPS_MAX,
            "bank_groups is %u: must be a power of two up to %d", c->bank_groups, TLA_HBM_GROUPS_MAX);
    REQUIRE(is_power_of_two(c->banks_per_group) && c->banks_per_group <= TLA_HBM_BANKS_MAX / c->bank_groups,
            "banks_per_group is %u: must be a power of two, with at most %d banks in total", c->banks_per_group,
            TLA_HBM_BANKS_MAX);
    REQUIRE(is_power_of_two(c->stack_ids) && c->stack_ids <= c->bank_groups,
            "stack_ids is %u: must be a power of two up to bank_groups %u", c->stack_ids, c->bank_groups);
    REQUIRE(is_power_of_two(c->rows) && c->rows <= (1u << 24), "rows is %u: must be a power of two up to 2^24",
            c->rows);
    REQUIRE(is_power_of_two(c->row_bytes) && c->row_bytes >= c->burst_bytes && c->row_bytes <= (1u << 20),
            "row_size is %u: must be a power of two from burst %u to 1 MiB", c->row_bytes, c->burst_bytes);
    REQUIRE(c->row_bus_sharers == 1 || c->row_bus_sharers == 2, "row_bus_sharers is %u: must be 1 or 2",
            c->row_bus_sharers);
    const tla_status status = check_map(c, error);
    if (status != TLA_OK) return status;

    const uint32_t *const at_least_one[] = {&c->cl,    &c->cwl,   &c->rcd_rd, &c->rcd_wr, &c->rp,    &c->ras,
                                            &c->rc,    &c->rrd_s, &c->rrd_l,  &c->faw,    &c->ccd_s, &c->ccd_l,
                                            &c->wtr_s, &c->wtr_l, &c->rtw,    &c->rtp,    &c->wr,    &c->act_cycles};
    static const char *const names[] = {"cl",    "cwl",   "rcd_rd", "rcd_wr", "rp",    "ras",
                                        "rc",    "rrd_s", "rrd_l",  "faw",    "ccd_s", "ccd_l",
                                        "wtr_s", "wtr_l", "rtw",    "rtp",    "wr",    "act_cycles"};
    for (size_t i = 0; i < sizeof at_least_one / sizeof at_least_one[0]; i++)
        REQUIRE(*at_least_one[i] >= 1 && *at_least_one[i] <= cycles_max, "%s is %u cycles: must be 1 .. %u", names[i],
                *at_least_one[i], cycles_max);
    REQUIRE(c->rc >= c->ras + c->rp, "rc %u is less than ras %u + rp %u", c->rc, c->ras, c->rp);
    REQUIRE(c->ras >= c->rcd_rd && c->ras >= c->rcd_wr, "ras %u is less than rcd_rd %u or rcd_wr %u", c->ras, c->rcd_rd,
            c->rcd_wr);
    REQUIRE(c->rrd_l >= c->rrd_s, "rrd_l %u is less than rrd_s %u", c->rrd_l, c->rrd_s);
    REQUIRE(c->faw >= c->rrd_s, "faw %u is less than rrd_s %u", c->faw, c->rrd_s);
    REQUIRE(c->ccd_l >= c->ccd_s, "ccd_l %u is less than ccd_s %u", c->ccd_l, c->ccd_s);
    REQUIRE(c->ccd_l_wr == 0 || c->ccd_l_wr >= c->ccd_l,
            "ccd_l_wr %u is less than ccd_l %u: leave it 0 if they are equal", c->ccd_l_wr, c->ccd_l);
    REQUIRE(c->ccd_r == 0 || c->ccd_r >= c->ccd_s, "ccd_r %u is less than ccd_s %u: leave it 0 if they are equal",
            c->ccd_r, c->ccd_s);
    REQUIRE(c->ccd_s >= c->burst_cycles, "ccd_s %u is less than the %u cycles of a burst: data would overlap", c->ccd_s,
            c->burst_cycles);
    REQUIRE(c->wtr_l >= c->wtr_s, "wtr_l %u is less than wtr_s %u", c->wtr_l, c->wtr_s);
    REQUIRE(c->rtw + c->cwl >= c->cl + c->burst_cycles,
            "rtw %u + cwl %u is less than cl %u + %u cycles of a burst: data would overlap", c->rtw, c->cwl, c->cl,
            c->burst_cycles);
    REQUIRE(c->rtw_l == 0 || c->rtw_l >= c->rtw, "rtw_l %u is less than rtw %u: leave it 0 if they are equal", c->rtw_l,
            c->rtw);
    REQUIRE(c->rp_ab == 0 || c->rp_ab >= c->rp, "rp_ab %u is less than rp %u: leave it 0 if they are equal", c->rp_ab,
            c->rp);
    REQUIRE(c->act_cycles <= c->rp && c->act_cycles <= c->rrd_s, "act_cycles %u is more than rp %u or rrd_s %u",
            c->act_cycles, c->rp, c->rrd_s);
    const tla_status buses = check_buses(c, error);
    if (buses != TLA_OK) return buses;
    REQUIRE(c->refresh < TLA_HBM_REFRESH_COUNT, "unknown refresh %u", c->refresh);
    if (c->refresh == TLA_HBM_REFRESH_ALL_BANK) {
        REQUIRE_RANGE(rfc, c->act_cycles, cycles_max);
        REQUIRE_RANGE(refi, 1, cycles_max);
        REQUIRE(c->refi > c->rfc + c->rc, "refi %u must be more than rfc %u + rc %u: otherwise the banks only refresh",
                c->refi, c->rfc, c->rc);
    } else if (c->refresh == TLA_HBM_REFRESH_PER_BANK) {
        REQUIRE_RANGE(rfc_pb, c->act_cycles, cycles_max);
        REQUIRE_RANGE(rrefd, c->act_cycles, cycles_max);
        REQUIRE_RANGE(refi, 1, cycles_max);
        REQUIRE(c->refi > c->rfc_pb + c->rc,
                "refi %u must be more than rfc_pb %u + rc %u: otherwise a bank only refreshes", c->refi, c->rfc_pb,
                c->rc);
        const uint32_t banks = c->bank_groups * c->banks_per_group;
        const uint32_t written = c->cwl + c->burst_cycles + c->wr, activated = c->ras + c->act_cycles;
        const uint32_t needed = (written > activated ? written : activated) + c->rp + c->rrefd + c->rrd_l;
        REQUIRE(c->refi / banks >= needed,
                "refi %u leaves %u cycles a bank, but closing and refreshing a bank can take %u", c->refi,
                c->refi / banks, needed);
    }
    REQUIRE(c->before_refresh < TLA_HBM_BEFORE_REFRESH_COUNT, "unknown before_refresh %u", c->before_refresh);
    REQUIRE(c->row_hits >= 1, "row_hits is 0: must be at least 1");
    REQUIRE(c->page_policy < TLA_HBM_PAGE_POLICY_COUNT, "unknown page_policy %u", c->page_policy);
    REQUIRE_RANGE(read_queue, 1, TLA_HBM_QUEUE_MAX);
    REQUIRE_RANGE(write_queue, 1, TLA_HBM_QUEUE_MAX);
    REQUIRE(c->write_high_percent <= 100 && c->write_low_percent <= c->write_high_percent,
            "write_low and write_high are %u %% and %u %%: must be low <= high <= 100 %%", c->write_low_percent,
            c->write_high_percent);
    return TLA_OK;
}
