// Nanoseconds per operation of every placement policy beside the naive sorted list and glibc's malloc, in one run, and
// the range that each policy needs. What the figures mean: README.md.
#include "contenders.hpp"

#include <algorithm>
#include <argp.h>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jansson.h>
#include <map>
#include <sstream>

namespace {

using namespace bench;

struct options {
    std::vector<std::string> traces, policies; // empty: all
    std::vector<std::uint64_t> live;           // empty: each trace's own
    std::size_t operations = 1 << 20;
    std::size_t rounds = 7;
    std::uint64_t seed = 48;
    const char *json = nullptr;
    bool speed = true, placement = true;
};

std::vector<std::string> split(const char *text) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

std::uint64_t number(const char *text, std::uint64_t low, std::uint64_t high, argp_state *state) {
    char *end = nullptr;
    double value = std::strtod(text, &end); // so that 1e6 can be said
    if (end == text || *end || !(value >= double(low)) || !(value <= double(high)) || value != std::floor(value))
        argp_error(state, "%s is not a whole number from %" PRIu64 " to %" PRIu64, text, low, high);
    return static_cast<std::uint64_t>(value);
}

const char *const other_policies[] = {"segment_cache", "expandable", "naive", "malloc"};

bool known_policy(const std::string &name) {
    for (int p = 0; p < TLA_POLICY_COUNT; p++)
        if (name == tla_policy_name(static_cast<tla_policy>(p))) return true;
    return std::find(std::begin(other_policies), std::end(other_policies), name) != std::end(other_policies);
}

error_t parse(int key, char *argument, argp_state *state) {
    auto &o = *static_cast<options *>(state->input);
    switch (key) {
    case 't':
        o.traces = split(argument);
        for (const auto &name : o.traces)
            if (std::none_of(speed_traces().begin(), speed_traces().end(), [&](auto &k) { return name == k.name; }))
                argp_error(state, "no trace is called %s", name.c_str());
        return 0;
    case 'p':
        o.policies = split(argument);
        for (const auto &name : o.policies)
            if (!known_policy(name)) argp_error(state, "no policy is called %s", name.c_str());
        return 0;
    case 'l':
        for (const auto &text : split(argument))
            o.live.push_back(number(text.c_str(), 1, 10'000'000, state));
        return 0;
    case 'n':
        o.operations = number(argument, 100, 100'000'000, state);
        return 0;
    case 'r':
        o.rounds = number(argument, 1, 1000, state);
        return 0;
    case 's':
        o.seed = number(argument, 0, UINT32_MAX, state);
        return 0;
    case 'j':
        o.json = argument;
        return 0;
    case 'S':
        o.placement = false;
        return 0;
    case 'P':
        o.speed = false;
        return 0;
    case ARGP_KEY_ARG:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

bool wanted(const std::vector<std::string> &list, const std::string &name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

double median(std::vector<double> values) {
    auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// One contender on one trace: the operations of every round, in order.
struct lane {
    std::string name;
    std::unique_ptr<contender> who;
    std::size_t per_round;        // the naive list does fewer, see naive_operations
    std::vector<double> ns = {};  // of an operation, by round, harness included
    std::uint64_t operations = 0; // of all rounds
    std::uint64_t failed = 0;
};

// The naive list takes up to 0.2 ns per live block and operation; about a quarter of a second a round is enough.
std::size_t naive_operations(std::uint64_t live, std::size_t per_round) {
    return std::min<std::size_t>(per_round, std::max<std::size_t>(500, 1'250'000'000 / live));
}

bool same_blocks(const contender &a, const contender &b) {
    return std::equal(a.slots().begin(), a.slots().end(), b.slots().begin(),
                      [](const tla_block &x, const tla_block &y) {
                          return x.nbytes == y.nbytes && (x.nbytes == 0 || x.offset == y.offset);
                      });
}

// Replays a trace with every contender, the rounds of all of them interleaved so that a disturbance from outside meets
// all alike; adds rows to the table and to the JSON array.
bool measure(const trace &t, const options &o, json_t *rows) {
    std::size_t per_round = t.measured.size() / o.rounds;
    std::vector<lane> lanes;
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        auto policy = static_cast<tla_policy>(p);
        if (wanted(o.policies, tla_policy_name(policy)))
            lanes.push_back({tla_policy_name(policy), make_arena(t, policy), per_round});
    }
    if (wanted(o.policies, "segment_cache"))
        lanes.push_back({"segment_cache", make_segment_cache(t, false), per_round});
    if (wanted(o.policies, "expandable")) lanes.push_back({"expandable", make_segment_cache(t, true), per_round});
    if (wanted(o.policies, "naive")) lanes.push_back({"naive", make_naive(t), naive_operations(t.live, per_round)});
    if (wanted(o.policies, "malloc")) lanes.push_back({"malloc", make_malloc(t), per_round});
    lanes.push_back({"harness", make_harness(t), per_round});
    for (std::size_t round = 0; round < o.rounds; round++)
        for (lane &l : lanes) {
            run_result r = l.who->run(t.measured.data() + round * l.per_round, l.per_round);
            l.ns.push_back(r.seconds * 1e9 / static_cast<double>(r.operations));
            l.operations += r.operations;
            l.failed += r.failed;
        }
    const lane &harness = lanes.back();
    std::map<std::string, const lane *> by_name;
    std::map<std::string, double> net;
    for (const lane &l : lanes) {
        by_name[l.name] = &l;
        std::vector<double> rounds;
        for (std::size_t i = 0; i < o.rounds; i++)
            rounds.push_back(l.ns[i] - harness.ns[i]);
        net[l.name] = median(rounds);
    }
    auto ratio = [&](const char *above, const std::string &below, bool inverse) {
        if (!by_name.count(above) || below == above) return std::string("-");
        char text[32];
        std::snprintf(text, sizeof text, "%.2f", inverse ? net[below] / net[above] : net[above] / net[below]);
        return std::string(text);
    };
    for (const lane &l : lanes) {
        if (l.name == "harness") continue;
        std::printf("%-8s %8" PRIu64 "  %-13s %10.1f %10s %10s %9" PRIu64 " %10" PRIu64 "\n", t.name.c_str(), t.live,
                    l.name.c_str(), net[l.name], ratio("naive", l.name, false).c_str(),
                    ratio("malloc", l.name, true).c_str(), l.failed, l.operations);
        json_array_append_new(rows, json_pack("{s:s, s:I, s:s, s:f, s:I, s:I, s:f}", "trace", t.name.c_str(), "live",
                                              static_cast<json_int_t>(t.live), "policy", l.name.c_str(), "ns_per_op",
                                              net[l.name], "failed", static_cast<json_int_t>(l.failed), "operations",
                                              static_cast<json_int_t>(l.operations), "harness_ns", median(harness.ns)));
    }
    std::fflush(stdout);
    if (by_name.count("first_fit") && by_name.count("naive") &&
        by_name["first_fit"]->per_round == by_name["naive"]->per_round &&
        !same_blocks(*by_name["first_fit"]->who, *by_name["naive"]->who)) {
        std::fprintf(stderr, "bench_allocators: first_fit and naive placed blocks differently on %s %" PRIu64 "\n",
                     t.name.c_str(), t.live);
        return false;
    }
    return true;
}

// The smallest range, in hundredths of the peak of the live bytes, in which no allocation of the trace fails; 0 when
// ten times the peak is not enough.
double range_over_peak(const trace &t, tla_policy policy) {
    for (std::uint64_t percent = 100; percent <= 1000; percent++)
        if (fits(t, policy, (t.peak * percent + 99) / 100)) return static_cast<double>(percent) / 100;
    return 0;
}

void measure_placement(const options &o, json_t *rows) {
    std::printf("\nrange needed over peak of live bytes\n%-14s", "policy");
    std::vector<trace> traces;
    for (const auto &kind : placement_traces()) {
        traces.push_back(kind.make(kind.live.front(), std::min<std::size_t>(o.operations, 100'000), o.seed));
        std::printf(" %18s", (traces.back().name + " " + std::to_string(traces.back().live)).c_str());
    }
    std::printf("\n");
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        auto policy = static_cast<tla_policy>(p);
        if (!wanted(o.policies, tla_policy_name(policy))) continue;
        std::printf("%-14s", tla_policy_name(policy));
        for (const trace &t : traces) {
            double ratio = range_over_peak(t, policy);
            std::printf(" %18.2f", ratio);
            json_array_append_new(rows, json_pack("{s:s, s:I, s:s, s:f}", "trace", t.name.c_str(), "live",
                                                  static_cast<json_int_t>(t.live), "policy", tla_policy_name(policy),
                                                  "range_over_peak", ratio));
        }
        std::printf("\n");
    }
}

} // namespace

int main(int argc, char **argv) {
    static const argp_option argp_options[] = {
        {"trace", 't', "NAME,...", 0, "only these: stack, fifo, random, serving, comb", 0},
        {"live", 'l', "N,...", 0, "this many live blocks instead of each trace's own sizes", 0},
        {"policy", 'p', "NAME,...", 0, "only these: policies of an arena, naive, malloc", 0},
        {"ops", 'n', "N", 0, "operations of a trace (default 2^20), split over the rounds", 0},
        {"rounds", 'r', "N", 0, "rounds of which the median counts (default 7)", 0},
        {"seed", 's', "N", 0, "seed of the traces (default 48)", 0},
        {"speed-only", 'S', nullptr, 0, "leave out the placement table", 0},
        {"placement-only", 'P', nullptr, 0, "leave out the speed table", 0},
        {"json", 'j', "FILE", 0, "write both tables to FILE too", 0},
        {nullptr, 0, nullptr, 0, nullptr, 0}};
    static const argp parser = {
        argp_options, parse,   nullptr, "ns per operation of the placement policies, net of the replay loop",
        nullptr,      nullptr, nullptr};
    options o;
    if (argp_parse(&parser, argc, argv, 0, nullptr, &o)) return 2;
    json_t *speed = json_array(), *placement = json_array();
    bool agreed = true;
    if (o.speed) {
        std::printf("%-8s %8s  %-13s %10s %10s %10s %9s %10s\n", "trace", "live", "policy", "ns/op", "naive/it",
                    "it/malloc", "failed", "ops");
        for (const auto &kind : speed_traces()) {
            if (!wanted(o.traces, kind.name)) continue;
            for (std::uint64_t live : o.live.empty() ? kind.live : o.live)
                agreed &= measure(kind.make(live, o.operations, o.seed), o, speed);
        }
    }
    if (o.placement) measure_placement(o, placement);
    json_t *all =
        json_pack("{s:I, s:o, s:o}", "seed", static_cast<json_int_t>(o.seed), "rows", speed, "placement", placement);
    if (o.json && json_dump_file(all, o.json, JSON_INDENT(1))) {
        std::fprintf(stderr, "bench_allocators: cannot write %s\n", o.json);
        return 1;
    }
    json_decref(all);
    return agreed ? 0 : 1;
}
