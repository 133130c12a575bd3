// Accounts of time (time_account.h) as they stand in the report.
#include "run/time_report.hpp"

#include "cli/config_json.h"
#include "run/link_report.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace tlmalloc {

namespace {

// Time by kind and place; of a memory the unit that has most of it.
class times {
  public:
    void add(const tla_time_charge &what, std::uint64_t ps) {
        total &t = totals_[{what.kind, what.place}];
        t.ps += ps;
        if (what.unit != TLA_TIME_NOWHERE) t.units[what.unit] += ps;
    }
    void add(tla_time_kind kind, std::uint64_t ps) {
        if (ps > 0) add({kind, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, ps);
    }
    void add(const times &others) {
        for (const auto &[at, of] : others.totals_) {
            total &t = totals_[at];
            t.ps += of.ps;
            for (const auto &[unit, ps] : of.units)
                t.units[unit] += ps;
        }
    }

    json_t *to_json(const npu &platform) const {
        std::vector<std::pair<key, const total *>> rows;
        for (const auto &[at, of] : totals_)
            rows.emplace_back(at, &of);
        std::stable_sort(rows.begin(), rows.end(),
                         [](const auto &a, const auto &b) { return a.second->ps > b.second->ps; });
        json_t *list = json_array();
        for (const auto &[where, of] : rows) {
            json_t *row = json_object();
            json_object_set_new(row, "kind", json_string(tla_time_kind_name(where.first)));
            if (where.second != TLA_TIME_NOWHERE)
                json_object_set_new(row, "place", json_string(place(platform, where.first, where.second).c_str()));
            json_object_set_new(row, "ps", json_from_u64(of->ps));
            add_unit(row, *of);
            json_array_append_new(list, row);
        }
        return list;
    }

  private:
    using key = std::pair<tla_time_kind, std::uint32_t>; // kind, place
    struct total {
        std::uint64_t ps = 0;
        std::map<std::uint32_t, std::uint64_t> units;
    };

    static std::string place(const npu &platform, tla_time_kind kind, std::uint32_t number) {
        return kind == TLA_TIME_LINK ? name_of_link(platform, number)
                                     : tla_topology_nodes(&platform.graph())[number].name;
    }

    static void add_unit(json_t *row, const total &of) {
        const auto most = std::max_element(of.units.begin(), of.units.end(),
                                           [](const auto &a, const auto &b) { return a.second < b.second; });
        if (most == of.units.end()) return;
        json_object_set_new(row, "channel", json_from_u64(most->first >> 16));
        json_object_set_new(row, "bank", json_from_u64(most->first & 0xffff));
        json_object_set_new(row, "unit_ps", json_from_u64(most->second));
    }

    std::map<key, total> totals_;
};

// An account, to be read backwards.
struct account {
    explicit account(const tla_time_account *of) : count(tla_time_account_stretches(of, &stretches, &sums)) {}

    const tla_time_stretch *stretches = nullptr;
    const tla_time_sum *sums = nullptr;
    std::size_t count;

    void add_to(times &sum, std::size_t stretch) const {
        for (std::size_t i = 0; i < stretches[stretch].count; i++) {
            const tla_time_sum &s = sums[stretches[stretch].first + i];
            sum.add(s.charge, s.ps);
        }
    }
    // The stretch that ends there, or 0: `count`.
    std::size_t ends_at(std::uint64_t at_ps) const {
        const auto *const end = stretches + count;
        const auto *const found = std::upper_bound(
            stretches, end, at_ps, [](std::uint64_t ps, const tla_time_stretch &of) { return ps < of.end_ps; });
        return found > stretches && found[-1].end_ps == at_ps ? static_cast<std::size_t>(found - stretches) - 1 : count;
    }
};

struct segment {
    std::string where;
    std::uint64_t begin_ps, end_ps;
    times went;
};

struct path {
    std::vector<segment> segments; // from the end backwards
    times went;
    bool ends_early = false; // for want of an account
};

const pe_unit *pe_of(const npu &platform, std::uint32_t program) {
    for (const pe_unit *pe : platform.pes())
        if (pe->element.last_run().end_ps > 0 && pe->element.launched().program == program) return pe;
    return nullptr;
}

constexpr std::size_t segments_max = 1000; // the first ones are reported together

void add(path &way, segment made) {
    if (made.begin_ps == made.end_ps) return;
    way.went.add(made.went);
    if (way.segments.size() < segments_max) {
        way.segments.push_back(std::move(made));
        return;
    }
    segment &rest = way.segments.back();
    rest.where = "several";
    rest.begin_ps = made.begin_ps;
    rest.went.add(made.went);
}

// Adds the host's work before the kernel began at start_ps.
void add_host(path &way, const workload &work, std::uint64_t start_ps) {
    const account host(work.account());
    segment made{"host", 0, start_ps, {}};
    for (std::size_t i = 0; i < host.count; i++)
        host.add_to(made.went, i);
    made.went.add(TLA_TIME_HOST_LAUNCH, start_ps - tla_time_account_now(work.account()));
    add(way, std::move(made));
}

path critical_path(const npu &platform, const workload &work, const pe_unit &last) {
    path way;
    const pe_unit *pe = &last;
    std::uint64_t at_ps = last.element.last_run().end_ps;
    for (;;) {
        const account here(pe->element.account());
        segment made{to_string(pe->where), at_ps, at_ps, {}};
        std::size_t i = here.ends_at(at_ps);
        bool left = false;
        for (; i < here.count && !left; i--) {
            const tla_time_stretch &stretch = here.stretches[i];
            here.add_to(made.went, i);
            made.begin_ps = stretch.begin_ps;
            if (stretch.after_a_message && stretch.sent_ps < stretch.begin_ps && pe_of(platform, stretch.program)) {
                const pe_unit &sender = *pe_of(platform, stretch.program);
                const account there(sender.element.account());
                if (there.ends_at(stretch.sent_ps) < there.count) {
                    made.begin_ps = stretch.sent_ps; // the message's way is the receiver's
                    made.went.add(TLA_TIME_MESSAGE, stretch.begin_ps - stretch.sent_ps);
                    at_ps = stretch.sent_ps;
                    pe = &sender;
                    left = true;
                    break;
                }
            }
            if (i == 0) break;
        }
        const std::uint64_t begin_ps = made.begin_ps;
        add(way, std::move(made));
        if (left) continue;
        way.ends_early = begin_ps != pe->element.last_run().start_ps;
        if (!way.ends_early) add_host(way, work, begin_ps);
        return way;
    }
}

} // namespace

json_t *kernel_time_json(const npu &platform, const pe_unit &pe) {
    const account here(pe.element.account());
    times went;
    for (std::size_t i = 0; i < here.count; i++)
        here.add_to(went, i);
    return went.to_json(platform);
}

void add_critical_path(json_t *object, const npu &platform, const workload &work) {
    const pe_unit *last = nullptr;
    for (const pe_unit *pe : platform.pes())
        if (pe->element.last_run().end_ps > (last ? last->element.last_run().end_ps : 0)) last = pe;
    if (!last || !work.account()) return;
    path way = critical_path(platform, work, *last);
    if (way.ends_early) return;
    std::reverse(way.segments.begin(), way.segments.end());
    json_object_set_new(object, "pe", json_string(to_string(last->where).c_str()));
    json_object_set_new(object, "end_ps", json_from_u64(last->element.last_run().end_ps));
    json_object_set_new(object, "went", way.went.to_json(platform));
    json_t *segments = json_array();
    for (const segment &s : way.segments) {
        json_t *row = json_object();
        json_object_set_new(row, "where", json_string(s.where.c_str()));
        json_object_set_new(row, "begin_ps", json_from_u64(s.begin_ps));
        json_object_set_new(row, "end_ps", json_from_u64(s.end_ps));
        json_object_set_new(row, "went", s.went.to_json(platform));
        json_array_append_new(segments, row);
    }
    json_object_set_new(object, "segments", segments);
}

} // namespace tlmalloc
