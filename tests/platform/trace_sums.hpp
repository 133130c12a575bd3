// The timeline of a run: it keeps the rules of its format, and its figures are those of the report.
#ifndef TLMALLOC_TESTS_PLATFORM_TRACE_SUMS_HPP
#define TLMALLOC_TESTS_PLATFORM_TRACE_SUMS_HPP

#include "platform/chrome_trace.hpp"
#include "platform/run_report.hpp"

namespace trace_sums {

struct traced {
    report r;
    std::string text;
    chrome_trace trace;
};

inline std::shared_ptr<json_t> parse(const std::string &text) {
    json_error_t error;
    const std::shared_ptr<json_t> value(json_loads(text.c_str(), 0, &error), json_decref);
    BOOST_REQUIRE_MESSAGE(value, error.text);
    return value;
}

inline void check_rules(const chrome_trace &trace) {
    for (std::size_t i = 0; i < trace.wrong.size() && i < 10; i++)
        BOOST_ERROR(trace.wrong[i]);
}

inline bool begins_with(const std::string &text, const std::string &begin) {
    return text.compare(0, begin.size(), begin) == 0;
}

// "npu.sip0.cube0.pe0.controller" of the report is "sip0.cube0.pe0.controller" of the trace.
inline std::string below(const std::string &name) {
    return name.substr(std::string("npu.").size());
}

inline void check_kernels(const traced &t) {
    using place = std::pair<std::string, std::string>; // kind, place
    std::map<std::string, std::map<place, std::int64_t>> spent;
    std::map<std::string, std::vector<const chrome_trace::slice *>> kernels;
    for (const chrome_trace::slice &s : t.trace.slices) {
        if (s.category == "time") {
            spent[s.thread][{s.name, text_of(s.args, "place")}] += s.end_ps - s.begin_ps;
            BOOST_CHECK_EQUAL(s.depth, s.thread == "host" ? 0 : 1);
        }
        if (s.category == "kernel") kernels[s.thread].push_back(&s);
    }
    std::size_t i = 0, j = 0;
    json_t *kernel = nullptr, *part = nullptr;
    json_array_foreach(t.r.list("kernels"), i, kernel) {
        const std::string thread = text_of(kernel, "pe") + ".kernel";
        BOOST_REQUIRE_EQUAL(kernels[thread].size(), 1);
        BOOST_CHECK_EQUAL(kernels[thread][0]->begin_ps, number(kernel, "start_ps"));
        BOOST_CHECK_EQUAL(kernels[thread][0]->end_ps, number(kernel, "end_ps"));
        BOOST_CHECK(begins_with(kernels[thread][0]->name, text_of(kernel, "name")));
        std::map<place, std::int64_t> went;
        json_array_foreach(json_object_get(kernel, "went"), j, part)
            went[{text_of(part, "kind"), text_of(part, "place")}] += number(part, "ps");
        BOOST_CHECK(spent[thread] == went);
    }
}

// What a counter is at the end, and at most; one that is not there is always 0.
inline std::pair<double, double> last_and_most(const chrome_trace &trace, const std::string &name) {
    const auto found = trace.counters.find(name);
    if (found == trace.counters.end()) return {0, 0};
    double most = 0;
    for (const auto &[ps, value] : found->second)
        most = std::max(most, value);
    return {found->second.back().second, most};
}

inline void check_memories(const traced &t, bool every_command_is_told) {
    std::map<std::pair<std::string, std::string>, std::map<std::string, std::int64_t>> counts; // by thread, memory
    for (const chrome_trace::slice &s : t.trace.slices)
        if (s.category == "memory" && !contains(s.name, "TLA_BUSY"))
            counts[{s.thread.substr(0, s.thread.find(" (")), text_of(s.args, "memory")}]
                  [s.name.substr(0, s.name.find(':'))]++;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(t.r.list("controllers"), i, row) {
        const std::string module = below(text_of(row, "name")), channel = text_of(row, "channel");
        auto &of = counts[{module, channel}];
        BOOST_CHECK_EQUAL(of["ALLOC"] + of["PLACE"], number(row, "allocs"));
        BOOST_CHECK_EQUAL(of["FREE"], number(row, "frees"));
        std::string memory = module.substr(0, module.rfind('.'));
        if (memory.substr(memory.rfind('.') + 1) != channel) memory += "." + channel;
        const auto [used, most_used] = last_and_most(t.trace, memory + " used, bytes");
        BOOST_CHECK_EQUAL(used, static_cast<double>(number(row, "used_bytes")));
        if (every_command_is_told) BOOST_CHECK_EQUAL(most_used, static_cast<double>(number(row, "peak_used_bytes")));
        const auto free = static_cast<double>(number(row, "free_bytes"));
        const auto largest = static_cast<double>(number(row, "largest_free_bytes"));
        const double scattered = free > 0 ? 100 * (1 - largest / free) : 0;
        BOOST_CHECK_SMALL(last_and_most(t.trace, memory + " fragmentation, %").first - scattered, 0.001);
    }
}

inline void check_links(const traced &t) {
    std::map<std::string, std::int64_t> sums; // bytes
    for (const chrome_trace::slice &s : t.trace.slices) {
        if (s.category != "link") continue;
        sums[s.thread] += number(s.args, "bytes");
    }
    std::size_t i = 0, shown = 0;
    json_t *row = nullptr;
    json_array_foreach(t.r.list("links"), i, row) {
        const auto found = sums.find(text_of(row, "from") + " -> " + text_of(row, "to"));
        if (found == sums.end()) continue;
        shown++;
        BOOST_CHECK_EQUAL(found->second, number(row, "bytes"));
    }
    BOOST_CHECK_EQUAL(shown, sums.size());
    BOOST_CHECK_LE(shown, 64);
    BOOST_CHECK_EQUAL(static_cast<std::int64_t>(json_array_size(t.r.list("links")) - shown),
                      json_integer_value(t.trace.other("links not shown")));
}

// The command of a slice "MAP: TLA_BUSY": at the VA manager it may fail although it was done at some MMU.
inline std::string command_of(const std::string &slice) {
    return slice.substr(0, slice.find(':'));
}

// Arrows by category; each lies in its run, and begins and ends on threads that it is about.
inline std::map<std::string, std::int64_t> check_flows(const traced &t) {
    std::map<std::string, std::int64_t> counts;
    std::int64_t taken_back = 0; // arrows that lead to a TAKE_BACK
    for (const auto &[key, touches] : t.trace.flows) {
        counts[key.first]++;
        const chrome_trace::touch &from = touches.front(), &to = touches.back();
        taken_back += command_of(from.slice) == "TAKE_BACK";
        if (key.first == "allocation to use") {
            BOOST_CHECK_MESSAGE(contains(from.thread, "controller") && (from.slice == "ALLOC" || from.slice == "PLACE"),
                                from.thread << " " << from.slice);
            BOOST_CHECK_MESSAGE(contains(to.thread, ".dma."), to.thread);
        } else if (key.first == "mapping to acknowledgement") {
            BOOST_REQUIRE_EQUAL(touches.size(), 3);
            BOOST_CHECK_MESSAGE(contains(touches[1].thread, ".mmu"), touches[1].thread);
            BOOST_CHECK_EQUAL(from.thread, to.thread);
            BOOST_CHECK_EQUAL(command_of(from.slice), command_of(touches[1].slice));
        } else if (key.first == "mapping") {
            BOOST_CHECK_MESSAGE(contains(to.thread, ".mmu"), to.thread);
            BOOST_CHECK_EQUAL(command_of(from.slice), command_of(to.slice));
        } else {
            BOOST_CHECK_MESSAGE(contains(to.thread, ".kernel"), to.thread);
        }
        BOOST_CHECK_LE(to.ps, t.r.number("sim_time_ps"));
    }
    const json_t *const sum = t.r.list("message_sums");
    BOOST_CHECK_EQUAL(counts["message"], sum ? number(sum, "received") : 0);
    std::int64_t mappings = 0, take_backs = 0, ranges = 0;
    for (const chrome_trace::slice &s : t.trace.slices)
        if (s.category == "mapping" && contains(s.thread, ".mmu")) {
            (command_of(s.name) == "TAKE_BACK" ? take_backs : mappings)++;
            if (s.name == "MAP" || s.name == "UNMAP") ranges += number(s.args, "ranges");
        }
    BOOST_CHECK_EQUAL(ranges, t.r.sum("mmus", "maps") + t.r.sum("mmus", "unmaps"));
    BOOST_CHECK_EQUAL(counts["mapping"] + counts["mapping to acknowledgement"] - taken_back,
                      mappings); // all are led to
    // No arrow leads to one that the M_CPU itself decides on, because another MMU of its cube fails.
    BOOST_CHECK_LE(taken_back, take_backs);
    return counts;
}

inline std::int64_t count_of(const chrome_trace &trace, const std::string &category) {
    std::int64_t count = 0;
    for (const chrome_trace::slice &s : trace.slices)
        count += s.category == category;
    return count;
}

inline void check_all(const traced &t, bool every_command_is_told = true) {
    check_rules(t.trace);
    check_kernels(t);
    check_memories(t, every_command_is_told);
    check_links(t);
    auto flows = check_flows(t);
    BOOST_CHECK_EQUAL(flows["launch"], static_cast<std::int64_t>(json_array_size(t.r.list("kernels"))));
    BOOST_CHECK_GT(flows["allocation to use"], 0);
    BOOST_CHECK_EQUAL(count_of(t.trace, "time"), json_integer_value(t.trace.other("told, interval")));
    BOOST_CHECK_EQUAL(count_of(t.trace, "transfer"), json_integer_value(t.trace.other("told, transfer")));
    BOOST_CHECK_EQUAL(count_of(t.trace, "mapping"), json_integer_value(t.trace.other("told, mapping")));
    BOOST_CHECK_EQUAL(json_integer_value(t.trace.other("end_ps")), t.r.number("sim_time_ps"));
}

} // namespace trace_sums

#endif
