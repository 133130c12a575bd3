// A pseudo-channel told the long way: the spacing rules pair by pair over the history of commands, and a controller
// that looks at every request in every cycle. Slow, and written without a look at the event-driven model's bookkeeping.
#pragma once

#include "tlmalloc/dram/channels.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace naive {

struct command {
    tla_hbm_command what;
    uint64_t cycle;
    uint32_t bank, row;
    bool by_itself = false; // a precharge of the device, which no command bus carries
};

inline bool operator==(const command &a, const command &b) {
    return a.what == b.what && a.cycle == b.cycle && a.bank == b.bank && a.row == b.row;
}

// The device: which commands are legal when. All spacings are looked up between pairs of commands.
class device {
  public:
    explicit device(const tla_hbm_config &config)
        : c(config), banks(config.bank_groups * config.banks_per_group), open(banks) {}

    // Cycles of a command on its bus. It takes effect in the last.
    uint64_t length(tla_hbm_command what) const {
        switch (what) {
        case TLA_HBM_ACT:
        case TLA_HBM_ACT_2:
            return c.act_cycles;
        case TLA_HBM_RD:
        case TLA_HBM_RDA:
        case TLA_HBM_WR:
        case TLA_HBM_WRA:
            return c.column_cycles;
        default:
            return c.pre_cycles;
        }
    }

    // Spacing that `later` must keep from `earlier`, from the last cycle of a command to that of the next; 0 = none.
    uint64_t gap(const command &earlier, const command &later) const {
        const bool same_bank = earlier.bank == later.bank;
        const bool same_group = earlier.bank / c.banks_per_group == later.bank / c.banks_per_group;
        const bool same_stack = stack(earlier.bank) == stack(later.bank);
        const uint64_t ccd = same_stack || c.ccd_r == 0 ? c.ccd_s : c.ccd_r;
        const bool read = later.what == TLA_HBM_RD || later.what == TLA_HBM_RDA;
        const bool write = later.what == TLA_HBM_WR || later.what == TLA_HBM_WRA;
        const bool closes_this = later.what == TLA_HBM_PRE_ALL || (later.what == TLA_HBM_PRE && same_bank);
        const bool refresh_this = later.what == TLA_HBM_REF_ALL || (later.what == TLA_HBM_REF_BANK && same_bank);
        const uint64_t write_end = c.cwl + c.burst_cycles;
        switch (earlier.what) {
        case TLA_HBM_ACT:
            if (later.what == TLA_HBM_ACT) return same_bank ? c.rc : same_group ? c.rrd_l : c.rrd_s;
            if (read && same_bank) return c.rcd_rd;
            if (write && same_bank) return c.rcd_wr;
            if (closes_this) return c.ras;
            if (refresh_this) return c.rc;
            if (later.what == TLA_HBM_REF_BANK) return same_group ? c.rrd_l : c.rrd_s;
            return 0;
        case TLA_HBM_PRE:
        case TLA_HBM_PRE_ALL: {
            const bool closed_this = earlier.what == TLA_HBM_PRE_ALL || same_bank;
            const uint64_t rp = earlier.what == TLA_HBM_PRE_ALL && c.rp_ab != 0 ? c.rp_ab : c.rp;
            if (later.what == TLA_HBM_ACT && closed_this) return rp;
            if (later.what == TLA_HBM_REF_ALL || (refresh_this && closed_this)) return rp;
            const bool closes = later.what == TLA_HBM_PRE || later.what == TLA_HBM_PRE_ALL;
            return closes && !earlier.by_itself && !later.by_itself ? c.ppd : 0;
        }
        case TLA_HBM_RD:
        case TLA_HBM_RDA:
            if (read) return same_group ? c.ccd_l : ccd;
            if (write) return same_group && c.rtw_l != 0 ? c.rtw_l : c.rtw;
            if (closes_this) return c.rtp;
            return 0;
        case TLA_HBM_WR:
        case TLA_HBM_WRA:
            if (write) return !same_group ? ccd : c.ccd_l_wr != 0 ? c.ccd_l_wr : c.ccd_l;
            if (read) return write_end + (same_group ? c.wtr_l : c.wtr_s);
            if (closes_this) return write_end + c.wr;
            return 0;
        case TLA_HBM_REF_ALL:
            return c.rfc;
        case TLA_HBM_REF_BANK:
            if (later.what == TLA_HBM_ACT || later.what == TLA_HBM_REF_BANK) return same_bank ? c.rfc_pb : c.rrefd;
            return 0;
        default:
            return 0;
        }
        return 0;
    }

    // First cycle from which the history allows the command. The tFAW rule counts ACTs.
    uint64_t earliest(const command &later) const {
        uint64_t at = 0;
        size_t activates = 0;
        for (size_t i = history.size(); i-- > 0;) {
            const command &h = history[i];
            if (h.cycle + longest() < newest) break;
            const uint64_t g = gap(h, later);
            if (g != 0) at = std::max(at, h.cycle + length(h.what) + g - length(later.what));
            if (later.what == TLA_HBM_ACT && h.what == TLA_HBM_ACT && ++activates == 4)
                at = std::max(at, h.cycle + c.faw);
        }
        return at;
    }

    // Why the command breaks a rule at its cycle; empty = it is legal.
    std::string wrong(const command &k) const {
        if (k.cycle < earliest(k))
            return "comes at " + std::to_string(k.cycle) + ", not before " + std::to_string(earliest(k));
        switch (k.what) {
        case TLA_HBM_ACT:
            return open[k.bank] ? "bank is open" : "";
        case TLA_HBM_PRE:
            return open[k.bank] ? "" : "bank is closed";
        case TLA_HBM_RD:
        case TLA_HBM_RDA:
        case TLA_HBM_WR:
        case TLA_HBM_WRA:
            return open[k.bank] == std::optional<uint32_t>(k.row) ? "" : "row is not open";
        case TLA_HBM_REF_ALL:
            for (auto &row : open)
                if (row) return "a bank is open";
            return "";
        case TLA_HBM_REF_BANK:
            return open[k.bank] ? "bank is open" : "";
        default:
            return "";
        }
    }

    void issue(const command &k) {
        record(k);
        if (k.what == TLA_HBM_ACT) open[k.bank] = k.row;
        if (k.what == TLA_HBM_PRE) open[k.bank].reset();
        if (k.what == TLA_HBM_PRE_ALL) std::fill(open.begin(), open.end(), std::nullopt);
        if (k.what == TLA_HBM_RDA || k.what == TLA_HBM_WRA) {
            // the device precharges by itself as soon as it may
            command precharge{TLA_HBM_PRE, 0, k.bank, 0, true};
            precharge.cycle = earliest(precharge);
            record(precharge);
            open[k.bank].reset();
        }
    }

    const std::optional<uint32_t> &row_of(uint32_t bank) const { return open[bank]; }
    bool any_open() const {
        return std::any_of(open.begin(), open.end(), [](auto &row) { return row.has_value(); });
    }

  private:
    uint32_t stack(uint32_t bank) const { return bank / (banks / c.stack_ids); }
    uint64_t longest() const {
        return 2 * std::max<uint64_t>({c.rfc, c.rfc_pb, c.rc, c.faw, 1u * c.cwl + c.burst_cycles + c.wr + c.rp,
                                       1u * c.cwl + c.burst_cycles + c.wtr_l, c.rtw});
    }
    void record(const command &k) {
        history.push_back(k);
        newest = std::max(newest, k.cycle);
    }

    tla_hbm_config c;
    uint32_t banks;
    std::vector<std::optional<uint32_t>> open;
    std::vector<command> history;
    uint64_t newest = 0;
};

struct request {
    tla_hbm_op op;
    uint32_t bank, row;
    uint64_t line, at; // cycle
};

// The controller, cycle by cycle. One pseudo-channel; no refresh or all-bank refresh.
class controller {
  public:
    controller(const tla_hbm_config &config, std::vector<request> requests)
        : c(config), dram(config), trace(std::move(requests)), opened(config.bank_groups * config.banks_per_group),
          served(opened.size()), accepted(trace.size()), end(trace.size()) {}

    void run() {
        uint64_t due = c.refresh == TLA_HBM_REFRESH_ALL_BANK ? c.refi : UINT64_MAX, row_bus_free = 0;
        bool refreshing = false;
        size_t next = 0;
        for (uint64_t t = 0; next < trace.size() || !queue.empty(); t++) {
            if (next < trace.size() && trace[next].at <= t && has_room(trace[next].op, t)) accept(next++, t);
            choose_direction();
            if (!refreshing && due <= t) refreshing = true;
            if (c.command_buses == 1) {
                if (row_bus_free > t) continue;
                const auto issued_command = on_one_bus(t, refreshing);
                if (issued_command) row_bus_free = t + dram.length(*issued_command);
                if (issued_command == TLA_HBM_REF_ALL) {
                    refreshing = false;
                    due += c.refi;
                }
                continue;
            }
            const auto first = refreshing || row_bus_free > t ? std::nullopt : row(t);
            const auto hit = column_choice(t, refreshing);
            // an older burst of the bank closes the row of the hit
            if (first && hit && first->bank == trace[*hit].bank && first->what == TLA_HBM_PRE &&
                oldest(first->bank) < *hit) {
                issue(*first);
                row_bus_free = t + c.pre_cycles;
            }
            if (const auto i = column_choice(t, refreshing)) column(*i, t);
            choose_direction();
            if (row_bus_free > t) continue;
            if (refreshing) {
                const auto k = refresh_command(t);
                if (!k) continue;
                issue(*k);
                row_bus_free = t + c.pre_cycles;
                if (k->what == TLA_HBM_REF_ALL) {
                    refreshing = false;
                    due += c.refi;
                }
            } else if (auto k = row(t)) {
                issue(*k);
                row_bus_free = t + dram.length(k->what);
            }
        }
    }

  private:
    std::optional<command> refresh_command(uint64_t t) const {
        if (c.before_refresh == TLA_HBM_BEFORE_REFRESH_USE &&
            std::any_of(opened.begin(), opened.end(), [](auto &i) { return i.has_value(); }))
            return std::nullopt;
        const command k{dram.any_open() ? TLA_HBM_PRE_ALL : TLA_HBM_REF_ALL, t, 0, 0};
        return t < dram.earliest(k) ? std::nullopt : std::optional(k);
    }

    // The bus is free: the command that takes it.
    std::optional<tla_hbm_command> on_one_bus(uint64_t t, bool refreshing) {
        const auto first = refreshing ? refresh_command(t) : row(t);
        const auto hit = column_choice(t, refreshing);
        const bool opener = hit && opened[trace[*hit].bank] && trace[*opened[trace[*hit].bank]].op == trace[*hit].op;
        const bool column_first = hit && (!first || opener || (!refreshing && *hit < oldest(first->bank)));
        if (second_act && t >= second_act->cycle) {
            const bool act = !column_first && first && first->what == TLA_HBM_ACT;
            const uint64_t length = column_first ? c.column_cycles : c.pre_cycles;
            if ((!hit && !first) || act || t + length > second_act_by) {
                issue({TLA_HBM_ACT_2, t, second_act->bank, second_act->row});
                second_act.reset();
                return TLA_HBM_ACT_2;
            }
        }
        if (column_first) {
            column(*hit, t);
            return TLA_HBM_RD; // or a write, as long
        }
        if (!first) return std::nullopt;
        issue(*first);
        if (first->what == TLA_HBM_ACT && c.aad != 0) {
            second_act = command{TLA_HBM_ACT_2, t + c.act_cycles, first->bank, first->row};
            second_act_by = t + c.aad;
        }
        return first->what;
    }

    bool has_room(tla_hbm_op op, uint64_t t) const {
        const auto queued =
            (size_t)std::count_if(queue.begin(), queue.end(), [&](size_t i) { return trace[i].op == op; });
        if (op == TLA_HBM_WRITE) return queued < c.write_queue;
        // a place in the window is free in the cycle after the data
        const auto flying = (size_t)std::count_if(flight.begin(), flight.end(), [&](uint64_t e) { return e + 1 > t; });
        return queued < c.read_queue && (c.window == 0 || queued + flying < c.window);
    }

    void accept(size_t i, uint64_t t) {
        accepted[i] = t;
        if (trace[i].op == TLA_HBM_READ)
            for (size_t q : queue)
                if (trace[q].op == TLA_HBM_WRITE && trace[q].line == trace[i].line) {
                    end[i] = t + 1;
                    return;
                }
        queue.push_back(i);
    }

    size_t queued(tla_hbm_op op) const {
        return (size_t)std::count_if(queue.begin(), queue.end(), [&](size_t i) { return trace[i].op == op; });
    }

    void choose_direction() {
        const size_t reads = queued(TLA_HBM_READ), writes = queued(TLA_HBM_WRITE);
        if (direction == TLA_HBM_READ && (writes * 100 > c.write_queue * c.write_high_percent || (!reads && writes)))
            direction = TLA_HBM_WRITE;
        else if (direction == TLA_HBM_WRITE && reads && (writes * 100 < c.write_queue * c.write_low_percent || !writes))
            direction = TLA_HBM_READ;
    }

    bool hits(size_t i) const { return dram.row_of(trace[i].bank) == std::optional<uint32_t>(trace[i].row); }

    // The oldest hit that may go: of the direction, or the one that its row was opened for.
    std::optional<size_t> column_choice(uint64_t t, bool refreshing) const {
        if (refreshing && c.before_refresh == TLA_HBM_BEFORE_REFRESH_CLOSE) return std::nullopt;
        for (size_t i : queue) { // oldest first
            const request &r = trace[i];
            const bool opener = opened[r.bank] == std::optional<size_t>(i);
            if (!hits(i) || !(opener || (r.op == direction && !refreshing))) continue;
            if (t >= dram.earliest({r.op == TLA_HBM_READ ? TLA_HBM_RD : TLA_HBM_WR, t, r.bank, r.row})) return i;
        }
        return std::nullopt;
    }

    void column(size_t i, uint64_t t) {
        const request &r = trace[i];
        queue.erase(std::find(queue.begin(), queue.end(), i));
        const bool more = std::any_of(queue.begin(), queue.end(),
                                      [&](size_t q) { return trace[q].bank == r.bank && trace[q].row == r.row; });
        command k{r.op == TLA_HBM_READ ? TLA_HBM_RD : TLA_HBM_WR, t, r.bank, r.row};
        if (c.page_policy == TLA_HBM_PAGE_CLOSED && !more) k.what = r.op == TLA_HBM_READ ? TLA_HBM_RDA : TLA_HBM_WRA;
        issue(k);
        served[r.bank]++;
        if (opened[r.bank] == std::optional<size_t>(i)) opened[r.bank].reset();
        end[i] = t + c.column_cycles - 1 + (r.op == TLA_HBM_READ ? c.cl : c.cwl) + c.burst_cycles;
        if (r.op == TLA_HBM_READ) flight.push_back(end[i]);
    }

    // The oldest request of the direction that waits for the bank.
    size_t oldest(uint32_t bank) const {
        return *std::find_if(queue.begin(), queue.end(),
                             [&](size_t q) { return trace[q].op == direction && trace[q].bank == bank; });
    }

    // For the oldest request possible: the row command that its bank needs. No request that the row was opened for may
    // wait, and none may hit, unless the row has served enough of them.
    std::optional<command> row(uint64_t t) const {
        for (size_t i : queue) {
            const request &r = trace[i];
            if (r.op != direction) continue;
            const bool bank_hits = std::any_of(queue.begin(), queue.end(), [&](size_t q) {
                return trace[q].op == direction && trace[q].bank == r.bank && hits(q);
            });
            if (i != oldest(r.bank) || hits(i) || opened[r.bank]) continue;
            if (bank_hits && served[r.bank] < c.row_hits) continue;
            const command k =
                dram.row_of(r.bank) ? command{TLA_HBM_PRE, t, r.bank, 0} : command{TLA_HBM_ACT, t, r.bank, r.row};
            if (t >= dram.earliest(k)) return k;
        }
        return std::nullopt;
    }

    void issue(const command &k) {
        dram.issue(k);
        issued.push_back(k);
        if (k.what == TLA_HBM_ACT) {
            opened[k.bank] = oldest(k.bank);
            served[k.bank] = 0;
        }
        if (k.what == TLA_HBM_PRE_ALL) std::fill(opened.begin(), opened.end(), std::nullopt);
    }

    tla_hbm_config c;
    device dram;
    std::vector<request> trace;
    std::vector<size_t> queue;                 // by age
    std::vector<std::optional<size_t>> opened; // the request that a row was opened for, until it goes
    std::vector<uint32_t> served;              // requests, since the ACT
    std::vector<uint64_t> flight;
    std::optional<command> second_act; // of an ACT, from its cycle on
    uint64_t second_act_by = 0;
    tla_hbm_op direction = TLA_HBM_READ;

  public:
    std::vector<uint64_t> accepted, end;
    std::vector<command> issued;
};

} // namespace naive
