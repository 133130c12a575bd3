// The report of a run about the fabric's links.
#include "run/link_report.hpp"

#include "cli/config_json.h"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace tlmalloc {

namespace {

// Links of one kind, or one of them.
struct total {
    std::uint64_t links = 0, bytes = 0, messages = 0, busy_ps = 0, waited_ps = 0;

    void add(const tla_fabric_load &load) {
        links++;
        bytes += load.nbytes;
        messages += load.messages;
        busy_ps += load.busy_ps;
        waited_ps += load.waited_ps;
    }
};

struct link_row {
    std::uint32_t number;
    total load;
};

std::vector<link_row> links_of(const npu &platform) {
    std::vector<link_row> rows;
    const tla_fabric *const fabric = platform.fabric().fabric();
    for (std::uint32_t i = 0; i < tla_topology_link_count(&platform.graph()); i++) {
        rows.push_back({i, {}});
        rows.back().load.add(tla_fabric_link_load(fabric, i));
    }
    return rows;
}

const tla_topology_node &end_of(const npu &platform, std::uint32_t link, bool from) {
    const tla_topology_link &l = tla_topology_links(&platform.graph())[link];
    return tla_topology_nodes(&platform.graph())[from ? l.from : l.to];
}

// "pe_to_router"
std::string kind_of(const npu &platform, std::uint32_t link) {
    return std::string(tla_node_kind_name(end_of(platform, link, true).kind)) + "_to_" +
           tla_node_kind_name(end_of(platform, link, false).kind);
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// Returns the busy share of the time of the links.
double utilisation(const total &t) {
    return percent(t.busy_ps, to_ps(sc_core::sc_time_stamp())) / static_cast<double>(t.links);
}

void set(json_t *row, const total &t) {
    json_object_set_new(row, "bytes", json_from_u64(t.bytes));
    json_object_set_new(row, "messages", json_from_u64(t.messages));
    json_object_set_new(row, "busy_ps", json_from_u64(t.busy_ps));
    json_object_set_new(row, "waited_ps", json_from_u64(t.waited_ps));
    json_object_set_new(row, "utilisation_pct", json_real(utilisation(t)));
}

// "SAYS A -> B 12 %, C -> D 3 %": the first links by a figure, those above a share of the whole.
void print_first(std::FILE *out, const npu &platform, std::vector<link_row> rows, std::uint64_t total::*figure,
                 std::uint64_t whole) {
    constexpr std::size_t named = 3;
    constexpr double least_percent = 10;
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const link_row &a, const link_row &b) { return a.load.*figure > b.load.*figure; });
    for (std::size_t i = 0; i < std::min(named, rows.size()); i++) {
        const double share = percent(rows[i].load.*figure, whole);
        if (i > 0 && share < least_percent) break;
        std::fprintf(out, "%s %s %.0f %%", i ? "," : "", name_of_link(platform, rows[i].number).c_str(), share);
    }
}

} // namespace

std::string name_of_link(const npu &platform, std::uint32_t link) {
    return std::string(end_of(platform, link, true).name) + " -> " + end_of(platform, link, false).name;
}

json_t *links_json(const npu &platform) {
    json_t *list = json_array();
    for (const link_row &r : links_of(platform)) {
        if (r.load.messages == 0) continue;
        json_t *row = json_object();
        json_object_set_new(row, "link", json_integer(r.number));
        json_object_set_new(row, "from", json_string(end_of(platform, r.number, true).name));
        json_object_set_new(row, "to", json_string(end_of(platform, r.number, false).name));
        json_object_set_new(row, "kind", json_string(kind_of(platform, r.number).c_str()));
        set(row, r.load);
        json_array_append_new(list, row);
    }
    return list;
}

json_t *link_kinds_json(const npu &platform) {
    std::vector<std::pair<std::string, total>> kinds; // in the order of their first links
    std::map<std::string, std::size_t> places;
    const tla_fabric *const fabric = platform.fabric().fabric();
    for (std::uint32_t i = 0; i < tla_topology_link_count(&platform.graph()); i++) {
        const auto [place, is_new] = places.emplace(kind_of(platform, i), kinds.size());
        if (is_new) kinds.emplace_back(place->first, total{});
        kinds[place->second].second.add(tla_fabric_link_load(fabric, i));
    }
    json_t *list = json_array();
    for (const auto &[name, sum] : kinds) {
        json_t *row = json_object();
        json_object_set_new(row, "kind", json_string(name.c_str()));
        json_object_set_new(row, "links", json_from_u64(sum.links));
        set(row, sum);
        json_array_append_new(list, row);
    }
    return list;
}

void print_links(std::FILE *out, const npu &platform) {
    const std::vector<link_row> rows = links_of(platform);
    const std::uint64_t run_ps = to_ps(sc_core::sc_time_stamp());
    std::uint64_t busiest_ps = 0, waited_ps = 0;
    for (const link_row &r : rows) {
        busiest_ps = std::max(busiest_ps, r.load.busy_ps);
        waited_ps += r.load.waited_ps;
    }
    constexpr double least_busy_percent = 10, least_waiting = 0.1; // lower values are not shown
    if (percent(busiest_ps, run_ps) >= least_busy_percent) {
        std::fputs("busiest links:", out);
        print_first(out, platform, rows, &total::busy_ps, run_ps);
        std::fputs(" of the run\n", out);
    }
    const double waiting = percent(waited_ps, run_ps) / 100;
    if (waiting >= least_waiting) {
        std::fprintf(out, "%.1f flits wait for links on average:", waiting);
        print_first(out, platform, rows, &total::waited_ps, waited_ps);
        std::fputs(" of this wait\n", out);
    }
}

} // namespace tlmalloc
