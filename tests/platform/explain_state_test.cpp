// `tlmalloc explain` on snapshots of PyTorch without history: random states beside a naive sum, in every form that such
// a file has; what empty_cache returns beside the naive allocator; and files that contradict themselves.
#include "platform/command_line.hpp"
#include "tests/torch/old_pickle.hpp"
#include "today.hpp"
#include "torch/usage.h"

#include <array>
#include <cmath>
#include <functional>

using namespace naive_torch;

namespace {

constexpr u64 first_address = 0x7f0000000000;

struct block_state {
    u64 address, size, requested;
    int state; // 0 inactive, 1 allocated, 2 pending
};

struct segment_state {
    int device;
    u64 address, size, stream;
    bool small, expandable;
    owner_id owner;
    std::vector<block_state> blocks;
};

std::vector<segment_state> random_state(std::mt19937_64 &random, int devices) {
    const auto below = [&](u64 n) { return random() % n; };
    const u64 streams[] = {0, 0, 7, 94373837472};
    const owner_id owners[] = {{0, 0}, {0, 0}, {0, 0}, {0, 5}, {3, 1}};
    std::vector<segment_state> state;
    for (int device = 0; device < devices; device++) {
        u64 at = first_address;
        for (u64 count = below(12); count > 0; count--) {
            segment_state s{device, at, 0, streams[below(4)], below(2) == 0, below(3) == 0, owners[below(5)], {}};
            const u64 granule = s.small ? 2 * MiB : 20 * MiB;
            s.size = s.expandable ? granule * (1 + below(6)) : s.small ? granule : 2 * MiB * (5 + below(90));
            const bool whole = below(4) == 0;
            for (u64 left = s.size, most = 1 + below(8); left > 0;) {
                const bool last = whole || s.blocks.size() + 1 == most;
                const u64 size = last ? left : std::min(left, 512 * (1 + below(s.size / 512 / 3)));
                int kind = whole ? 0 : static_cast<int>(below(3));
                if (!s.blocks.empty() && !s.blocks.back().state && !kind) kind = 1; // free neighbours merge
                s.blocks.push_back({s.address + s.size - left, size, 1 + below(size), kind});
                left -= size;
            }
            at += s.size + below(3) * 4 * MiB;
            state.push_back(s);
        }
    }
    std::shuffle(state.begin(), state.end(), random);
    return state;
}

value::list to_value(const std::vector<segment_state> &state) {
    const std::array<const char *, 3> names{"inactive", "active_allocated", "active_pending_free"};
    value::list segments;
    for (const segment_state &s : state) {
        value::list blocks;
        u64 allocated = 0, active = 0;
        for (const block_state &b : s.blocks) {
            blocks.push_back(value::dict{{"address", b.address},
                                         {"size", b.size},
                                         {"requested_size", b.requested},
                                         {"state", names[static_cast<std::size_t>(b.state)]},
                                         {"frames", frames("f", 7)}});
            allocated += b.state == 1 ? b.size : 0;
            active += b.state ? b.size : 0;
        }
        segments.push_back(value::dict{{"device", s.device},
                                       {"address", s.address},
                                       {"total_size", s.size},
                                       {"allocated_size", allocated},
                                       {"active_size", active},
                                       {"stream", s.stream},
                                       {"segment_type", s.small ? "small" : "large"},
                                       {"segment_pool_id", value::list{s.owner.first, s.owner.second}},
                                       {"is_expandable", s.expandable},
                                       {"frames", value::list{}},
                                       {"blocks", blocks}});
    }
    return segments;
}

// The forms of a state: a list or a dictionary; JSON, or a pickle.
std::string write(const value::list &segments, u64 form) {
    value whole = segments;
    if (form % 3 == 1) whole = value::dict{{"segments", segments}, {"device_traces", value::list{value::list{}}}};
    if (form % 3 == 2) // enabled="state" keeps one entry
        whole = value::dict{
            {"device_traces",
             value::list{value::list{value::dict{
                 {"action", "alloc"}, {"addr", first_address}, {"size", 512}, {"stream", 0}, {"time_us", 5}}}}},
            {"segments", segments},
            {"external_annotations", value::list{1.5}}};
    switch (form / 3 % 5) {
    case 0:
        return to_json(whole);
    case 1:
        return to_pickle(whole);
    case 2:
        return old_pickle::of(whole, 0);
    case 3:
        return old_pickle::of(whole, 0, true);
    default:
        return old_pickle::of(whole, 1);
    }
}

// The free bytes of a segment that can be returned, granule by granule.
u64 whole_of(const segment_state &s, bool waited) {
    const u64 granule = !s.expandable ? s.size : s.small ? 2 * MiB : 20 * MiB;
    u64 sum = 0;
    for (u64 begin = s.address; begin < s.address + s.size; begin += granule) {
        bool free = true;
        for (const block_state &b : s.blocks)
            if (b.address < begin + granule && b.address + b.size > begin)
                free = free && (b.state == 0 || (waited && b.state == 2));
        sum += free ? granule : 0;
    }
    return sum;
}

torch_usage sum_of(const std::vector<segment_state> &state, const std::function<bool(const segment_state &)> &wanted) {
    torch_usage sum{};
    for (const segment_state &s : state) {
        if (!wanted(s)) continue;
        u64 free = 0;
        for (const block_state &b : s.blocks) {
            sum.allocated += b.state == 1 ? b.size : 0;
            sum.requested += b.state == 1 ? b.requested : 0;
            sum.pending += b.state == 2 ? b.size : 0;
            free += b.state == 0 ? b.size : 0;
            if (b.state == 0) sum.largest_free = std::max(sum.largest_free, b.size);
        }
        sum.segments++;
        sum.reserved += s.size;
        sum.whole += whole_of(s, false);
        sum.waiting += whole_of(s, true) - whole_of(s, false);
        sum.pieces += free - whole_of(s, false);
    }
    return sum;
}

bool equal(const torch_usage &a, const torch_usage &b) {
    return a.segments == b.segments && a.reserved == b.reserved && a.allocated == b.allocated &&
           a.requested == b.requested && a.pending == b.pending && a.whole == b.whole && a.pieces == b.pieces &&
           a.waiting == b.waiting && a.largest_free == b.largest_free;
}

void check(const torch_snapshot &snapshot, std::size_t device, const std::vector<segment_state> &state) {
    torch_usage_report r{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(torch_usage_find(&snapshot, device, &r, &error) == TLA_OK, error.text);
    const auto here = [&](const segment_state &s) { return static_cast<std::size_t>(s.device) == device; };
    const torch_usage all = sum_of(state, here), common = sum_of(state, [&](const segment_state &s) {
                                                     return here(s) && s.owner == owner_id{0, 0};
                                                 });
    BOOST_CHECK(equal(r.all, all));
    BOOST_CHECK_EQUAL(r.all.reserved, r.all.allocated + r.all.pending + r.all.whole + r.all.pieces);
    BOOST_CHECK_EQUAL(r.empty_cache, common.whole + common.waiting);
    BOOST_CHECK_EQUAL(r.private_whole, all.whole - common.whole);
    u64 segments = 0;
    for (std::size_t i = 0; i < r.row_count; i++) {
        const torch_usage_row &row = r.rows[i];
        BOOST_CHECK(equal(row.usage, sum_of(state, [&](const segment_state &s) {
                              return here(s) && s.owner == owner_id{row.owner.a, row.owner.b} && s.small == row.small &&
                                     s.stream == row.stream;
                          })));
        segments += row.usage.segments;
    }
    BOOST_CHECK_EQUAL(segments, all.segments);
    for (std::size_t i = 1; i < r.blocker_count; i++)
        BOOST_CHECK_GE(r.blockers[i - 1].pieces, r.blockers[i].pieces);
    torch_usage_clear(&r);
}

struct printed {
    int status;
    std::string out, err, report, map;
    u64 number(const std::string &key) const {
        const std::size_t at = report.find("\n  \"" + key + "\": "); // of the file, not of a device
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << key << " in " << report << err);
        return std::strtoull(report.c_str() + at + key.size() + 7, nullptr, 10);
    }
};

printed explain(const std::string &text, std::vector<std::string> more = {}) {
    scratch_directory scratch;
    std::vector<std::string> words{"explain", scratch.write("state", text), "--json", scratch.path("report.json"),
                                   "--map",   scratch.path("map.svg")};
    words.insert(words.end(), more.begin(), more.end());
    const command_result run = run_tlmalloc(words);
    const bool good = run.status == 0;
    return {run.status, run.out, run.err, good ? read_text(scratch.path("report.json")) : "",
            good && contains(run.out, "reserved") ? read_text(scratch.path("map.svg")) : ""};
}

// One segment of 4 MiB with two blocks.
value segment_of(u64 address, int device = 0) {
    return value::dict{
        {"device", device},
        {"address", address},
        {"total_size", 4 * MiB},
        {"allocated_size", MiB},
        {"active_size", MiB},
        {"stream", 0},
        {"segment_type", "large"},
        {"blocks", value::list{value::dict{{"size", MiB}, {"state", "active_allocated"}, {"requested_size", 1000}},
                               value::dict{{"size", 3 * MiB}, {"state", "inactive"}}}}};
}

value segments_of(const value::list &segments) {
    return value::dict{{"segments", segments}, {"device_traces", value::list{}}};
}

} // namespace

BOOST_AUTO_TEST_CASE(random_states_add_up_as_their_segments_in_every_form) {
    for (u64 seed = 1; seed <= 300; seed++) {
        BOOST_TEST_INFO("seed " << seed);
        std::mt19937_64 random(seed);
        const int devices = 1 + static_cast<int>(random() % 3);
        const std::vector<segment_state> state = random_state(random, devices);
        const std::string text = write(to_value(state), seed);
        torch_snapshot snapshot{};
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(torch_snapshot_read(text.data(), text.size(), "t", &snapshot, &error) == TLA_OK,
                              error.text);
        BOOST_CHECK(snapshot.has_segments);
        BOOST_CHECK_EQUAL(snapshot.is_list, seed % 3 == 0);
        for (std::size_t device = 0; device < snapshot.device_count; device++)
            check(snapshot, device, state);
        torch_snapshot_clear(&snapshot);
        if (seed % 10) continue;
        const printed p = explain(text);
        BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
        const torch_usage all = sum_of(state, [](const segment_state &) { return true; });
        BOOST_CHECK_EQUAL(p.number("segments"), all.segments);
        BOOST_CHECK_EQUAL(p.number("reserved"), all.reserved);
        BOOST_CHECK_EQUAL(p.number("allocated"), all.allocated);
        BOOST_CHECK_EQUAL(p.number("pending"), all.pending);
        BOOST_CHECK_EQUAL(p.number("whole"), all.whole);
        BOOST_CHECK_EQUAL(p.number("pieces"), all.pieces);
        BOOST_CHECK_EQUAL(p.number("free"), all.whole + all.pieces);
    }
}

// The rules of the naive allocator: pending blocks are waited for, then whole segments and granules go back.
BOOST_AUTO_TEST_CASE(empty_cache_returns_what_the_page_says) {
    for (const u64 seed : numbers_of_today(1, 40, 2)) {
        BOOST_TEST_INFO("seed " << seed);
        settings s;
        s.expandable = seed % 2;
        if (seed % 3 == 0) s.max_split = 100 * MiB;
        allocator a(s);
        workload w;
        w.operations = 400;
        w.streams = 1 + seed % 3;
        w.largest = 90 * MiB;
        w.owners = {{0, 0}, {0, 0}, {0, 5}};
        run(a, w, seed);
        const std::string text = to_json(snapshot_of({&a}, seed % 4 == 0));
        torch_snapshot snapshot{};
        tla_error error{};
        torch_usage_report r{};
        BOOST_REQUIRE_EQUAL(torch_snapshot_read(text.data(), text.size(), "t", &snapshot, &error), TLA_OK);
        BOOST_REQUIRE_MESSAGE(torch_usage_find(&snapshot, 0, &r, &error) == TLA_OK, error.text);
        BOOST_CHECK_EQUAL(r.all.reserved, a.reserved);
        BOOST_CHECK_EQUAL(r.all.allocated, a.allocated);
        BOOST_CHECK_EQUAL(r.all.requested, a.requested);
        BOOST_CHECK_EQUAL(r.all.allocated + r.all.pending, a.active);
        const u64 before = a.reserved;
        a.empty_cache();
        BOOST_CHECK_EQUAL(r.empty_cache, before - a.reserved);
        torch_usage_clear(&r);
        torch_snapshot_clear(&snapshot);
    }
}

BOOST_AUTO_TEST_CASE(a_state_is_printed_with_what_empty_cache_returns) {
    value::list segments{segment_of(first_address), segment_of(first_address + 4 * MiB)};
    segments[1]["segment_pool_id"] = value::list{0, 5};
    segments[1]["blocks"] = value::list{value::dict{{"size", 4 * MiB}, {"state", "inactive"}}};
    segments[1]["allocated_size"] = 0;
    segments[1]["active_size"] = 0;
    segments.push_back(segment_of(first_address + 8 * MiB));
    std::get<value::list>(segments[2]["blocks"].is)[0]["state"] = "active_pending_free";
    segments[2]["allocated_size"] = 0;
    for (const value &whole : {value(segments), segments_of(segments)}) {
        const printed p = explain(to_json(whole));
        BOOST_CHECK_EQUAL(p.status, 0);
        for (const char *text :
             {"device 0: segments without history\n", "reserved        12582912 (12.00 MiB) bytes in 3 segments\n",
              "- allocated     1048576 (1.00 MiB) bytes, requested 1000\n", "- pending       1048576 (1.00 MiB) bytes",
              "- free, whole   4194304 (4.00 MiB) bytes", "- free, pieces  6291456 (6.00 MiB) bytes",
              "\nlarge of (0, 5) ", "torch.cuda.empty_cache() returns 4194304 (4.00 MiB) bytes to the device.\n",
              "4194304 (4.00 MiB) bytes are kept by pending blocks alone: ",
              "4194304 (4.00 MiB) bytes are free, whole, in private pools: ",
              "6291456 (6.00 MiB) bytes are free pieces",
              "3145728 bytes in pieces at 0x7f0000000000, next to 1 block of 1048576 bytes; the largest, 1048576 at "
              "0x7f0000000000",
              "has no events, because the history was not recorded"})
            BOOST_CHECK_MESSAGE(contains(p.out, text), p.out << " without " << text);
        BOOST_CHECK_EQUAL(contains(p.out, "The list (torch.cuda.memory_snapshot())"),
                          std::holds_alternative<value::list>(whole.is));
        BOOST_CHECK_EQUAL(p.number("empty_cache"), 4 * MiB);
        BOOST_CHECK_EQUAL(p.number("private_whole"), 4 * MiB);
        BOOST_CHECK(contains(p.report, "\"history\": false"));
        BOOST_CHECK(contains(explain(p.report).err, "report")); // it is no snapshot itself
        BOOST_CHECK(contains(p.map, "free, in large pools of stream 0"));
    }
}

BOOST_AUTO_TEST_CASE(a_device_without_history_is_explained_beside_one_with_it) {
    allocator a, b;
    run(a, workload{50}, 3);
    b.malloc(5 * MiB);
    value snapshot = snapshot_of({&a, &b});
    std::get<value::list>(snapshot["device_traces"].is)[1] = value::list{};
    const std::string text = to_json(snapshot);
    BOOST_CHECK(contains(explain(text).out, "recording "));
    const printed p = explain(text, {"--device", "1"});
    BOOST_CHECK(contains(p.out, "device 1: segments without history"));
    BOOST_CHECK_EQUAL(p.number("reserved"), b.reserved);
    BOOST_CHECK_EQUAL(explain(text, {"--device", "2"}).status, 2);
    const std::string two = to_json(segments_of({segment_of(first_address), segment_of(first_address, 3)}));
    BOOST_CHECK_EQUAL(explain(two).number("reserved"), 8 * MiB);
    BOOST_CHECK_EQUAL(explain(two, {"--device", "3"}).number("reserved"), 4 * MiB);
    BOOST_CHECK(contains(explain(two, {"--device", "1"}).err, "device 1 has no segments, expected one of: 0, 3"));
    for (const std::string nothing : {"[]", "{\"segments\": []}"}) {
        BOOST_CHECK(contains(explain(nothing).out, "no segments, no memory is reserved"));
        BOOST_CHECK(
            contains(explain(nothing, {"--device", "0"}).err, "device 0 has no segments, expected one of: none"));
    }
}

BOOST_AUTO_TEST_CASE(a_replay_of_a_state_names_what_to_do_instead) {
    scratch_directory scratch;
    for (u64 form = 0; form < 15; form++) {
        const std::string path = scratch.write("state", write({segment_of(first_address)}, form));
        const std::vector<std::vector<std::string>> commands{{"replay", path, "--capacity", "1 GiB"},
                                                             {"replay", path, "--as-recorded"},
                                                             {"plan", path, "--capacity", "1 GiB"}};
        for (const std::vector<std::string> &words : commands) {
            const command_result run = run_tlmalloc(words);
            BOOST_CHECK_EQUAL(run.status, 2);
            BOOST_CHECK_MESSAGE(contains(run.err, "but no events, because the history was not recorded: use `tlmalloc "
                                                  "explain'") &&
                                    contains(run.err, "torch.cuda.memory._record_memory_history()"),
                                run.err);
        }
    }
}

BOOST_AUTO_TEST_CASE(options_that_need_events_are_rejected_by_name) {
    const std::string text = to_json(segments_of({segment_of(first_address)}));
    const std::vector<std::vector<std::string>> options{{"--at", "oom"},     {"--at", "peak"},
                                                        {"--at", "3"},       {"--capacity", "1 GiB"},
                                                        {"--compare"},       {"--settings", "max_split_size_mb:64"},
                                                        {"--pytorch", "2.4"}};
    for (const std::vector<std::string> &option : options) {
        const printed p = explain(text, option);
        BOOST_CHECK_EQUAL(p.status, 2);
        BOOST_CHECK_MESSAGE(contains(p.err, option[0] + " needs events, but the history was not recorded"), p.err);
    }
}

BOOST_AUTO_TEST_CASE(a_state_that_contradicts_itself_is_rejected_with_its_place) {
    struct bad {
        std::function<void(value &segment)> damage;
        std::string message;
    };
    const auto first_block = [](value &s) -> value & { return std::get<value::list>(s["blocks"].is)[0]; };
    const std::vector<bad> all{
        {[](value &s) { s["allocated_size"] = 5; }, "has allocated_size 5, but its blocks have 1048576 bytes"},
        {[](value &s) { s["active_size"] = 0; }, "has active_size 0, but its blocks have 1048576 bytes"},
        {[](value &s) { s["total_size"] = 8 * MiB; }, "has total_size 8388608, but its blocks have 4194304 bytes"},
        {[](value &s) { s["blocks"] = value::list{}; }, "has total_size 4194304, but its blocks have 0 bytes"},
        {[&](value &s) { first_block(s)["address"] = first_address + 512; }, "does not start at the end"},
        {[&](value &s) { first_block(s)["state"] = "gone"; }, "state: found a text, expected active_allocated"},
        {[&](value &s) { first_block(s)["size"] = std::nan(""); }, "size: found NaN, expected a whole number"},
        {[](value &s) { s["total_size"] = -HUGE_VAL; }, "total_size: found -Infinity, expected a whole number"},
        {[](value &s) { s["address"] = HUGE_VAL; }, "address: found Infinity, expected a whole number"},
        {[](value &s) { s["stream"] = std::nan(""); }, "stream: found NaN, expected a whole number"},
        {[](value &s) { s["total_size"] = 0; }, "total_size: found 0, expected 1 .. 2^63 bytes"},
        {[](value &s) { s["device"] = 5000; }, "found device 5000, expected 0 .. 4095"},
        {[](value &s) { s["device"] = -1; }, "device: found -1, expected the number of a device"},
        {[](value &s) { s["address"] = -2 * static_cast<std::int64_t>(MiB); },
         "total_size: found 4194304, expected a segment that ends at 2^64 at most"},
        {[](value &s) { s["segment_type"] = "huge"; }, "segment_type: found a text, expected small or large"},
        {[](value &s) { s["segment_pool_id"] = value::list{1}; },
         "segment_pool_id: found a list, expected two numbers"},
        {[](value &s) { s["is_expandable"] = 1; }, "is_expandable: found 1, expected a boolean"},
        {[](value &s) { s["blocks"] = 3; }, "blocks: found 3, expected a list"},
        {[](value &s) { s.erase("blocks"); }, "without 'blocks'"},
        {[](value &s) { s.erase("total_size"); }, "without 'total_size'"},
        {[](value &s) { s.erase("address"); }, "without 'address'"}};
    for (const bad &b : all)
        for (const bool list : {false, true}) {
            value segment = segment_of(first_address);
            b.damage(segment);
            const value whole =
                list ? value(value::list{segment_of(first_address + GiB), segment}) : segments_of({segment});
            for (const std::string &text : {to_json(whole), to_pickle(whole), old_pickle::of(whole, 0)}) {
                const printed p = explain(text);
                BOOST_CHECK_EQUAL(p.status, 2);
                BOOST_CHECK_MESSAGE(contains(p.err, b.message), p.err << ", expected " << b.message);
                BOOST_CHECK_MESSAGE(contains(p.err, text[0] == '{' || text[0] == '[' ? "state:1:" : "state: byte "),
                                    p.err);
            }
        }
    const printed twice = explain(to_json(segments_of({segment_of(first_address), segment_of(first_address + MiB)})));
    BOOST_CHECK_EQUAL(twice.status, 2);
    BOOST_CHECK_MESSAGE(
        contains(twice.err, "state:1:") && contains(twice.err, "list the memory at 0x7f0000100000 twice"), twice.err);
}

// Sums of sizes do not wrap around.
BOOST_AUTO_TEST_CASE(sizes_that_overflow_are_rejected) {
    const std::string half = "9223372036854775808", block = "{\"size\": " + half + ", \"state\": \"inactive\"}",
                      head = "{\"address\": 0, \"total_size\": ";
    const std::string one = head + half + ", \"blocks\": [" + block + "]}";
    BOOST_CHECK_EQUAL(explain("[" + one + "]").status, 0);
    BOOST_CHECK(contains(explain("[" + one + ", " + one + "]").err,
                         "total_size: found 9223372036854775808, expected at most 2^63 bytes in all segments"));
    const std::string wraps = "[" + head + "512, \"blocks\": [" + block + ", " + block +
                              ", {\"size\": 512, \"state\": " + "\"active_allocated\"}]}]";
    BOOST_CHECK(contains(explain(wraps).err, "has total_size 512, but its blocks have 18446744073709551615 bytes"));
}

// A list is of segments, or of a profiler's events, by its first element.
BOOST_AUTO_TEST_CASE(a_list_of_segments_and_events_is_rejected_where_they_mix) {
    const std::string segment = to_json(segment_of(first_address)),
                      event =
                          "{\"name\": \"[memory]\", \"ph\": \"i\", \"ts\": 1, \"args\": {\"Bytes\": 512, \"Addr\": 7}}";
    BOOST_CHECK(contains(explain("[" + segment + ", " + event + "]").err, "found a dictionary without 'address'"));
    BOOST_CHECK(contains(explain("[" + event + ", " + segment + "]").err,
                         "found a segment (torch.cuda.memory_snapshot()), "
                         "expected an event of the profiler"));
    BOOST_CHECK(contains(explain("[" + event + "]").err, "found a trace of the profiler"));
    BOOST_CHECK(contains(explain("[5]").err, "found a number without 'address', expected a memory snapshot"));
    BOOST_CHECK(contains(explain("[{\"segments\": []}]").err, "found a dictionary without 'address'"));
}

// Unused numbers may be anything that Python writes; a used one must be a number.
BOOST_AUTO_TEST_CASE(numbers_that_are_not_finite_are_read_where_none_is_used) {
    value::dict odd{{"nan", std::nan("")}, {"inf", value::list{HUGE_VAL, -HUGE_VAL}}};
    value segment = segment_of(first_address);
    segment["user_metadata"] = odd;
    value whole = segments_of({segment});
    whole["allocator_settings"] = value::dict{{"max_split_size", -1}, {"other", std::nan("")}};
    whole["metadata"] = odd;
    for (const std::string &text :
         {to_json(whole), to_pickle(whole), old_pickle::of(whole, 0), old_pickle::of(whole, 1)}) {
        const printed p = explain(text);
        BOOST_CHECK_MESSAGE(p.status == 0, p.err);
        BOOST_CHECK_EQUAL(p.number("reserved"), 4 * MiB);
    }
    whole["allocator_settings"] = value::dict{{"garbage_collection_threshold", std::nan("")}};
    BOOST_CHECK(
        contains(explain(to_json(whole)).err, "garbage_collection_threshold: found NaN, expected a number from 0"));
    for (const char *ts : {"NaN", "Infinity", "-Infinity"})
        BOOST_CHECK(contains(explain("[{\"name\": \"[memory]\", \"ts\": " + std::string(ts) + ", \"args\": {}}]").err,
                             "ts: found " + std::string(ts) + ", expected a number"));
}
