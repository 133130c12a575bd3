// `tlmalloc explain` on recordings of the naive allocator.
#include "platform/command_line.hpp"
#include "tests/torch/recording.hpp"

#include <cstdlib>

using namespace naive_torch;

namespace {

struct page {
    int status;
    std::string report, out, err, map;
    u64 number(const std::string &key, std::size_t from = 0) const {
        std::size_t at = report.find("\"" + key + "\": ", from);
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << key << " in " << report << err);
        return std::strtoull(report.c_str() + at + key.size() + 4, nullptr, 10);
    }
    // The row of the table of settings.
    std::size_t row(const std::string &settings, const std::string &note = "") const {
        std::string text = "\"settings\": \"" + settings + "\",\n      \"note\": \"" + note + "\"";
        std::size_t at = report.find(text);
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << text << " in " << report);
        return at;
    }
    bool served(std::size_t from) const {
        return report.find("\"served\": true", from) == report.find("\"served\"", from);
    }
};

page explain(const std::string &recording, std::vector<std::string> more = {}) {
    scratch_directory scratch;
    std::vector<std::string> arguments{"explain", scratch.write("recording", recording),
                                       "--json",  scratch.path("report.json"),
                                       "--map",   scratch.path("map.svg")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    command_result run = run_tlmalloc(arguments);
    bool good = run.status == 0;
    return {run.status, good ? read_text(scratch.path("report.json")) : "", run.out, run.err,
            good ? read_text(scratch.path("map.svg")) : ""};
}

void check_sum(const page &p, std::size_t from) {
    u64 gap = p.number("reserved", from) - p.number("allocated", from), sum = 0;
    for (std::string name : {"pending", "hard", "soft", "stream", "other_pool"})
        sum += p.number(name, from);
    BOOST_CHECK_EQUAL(sum, gap);
}

// 18 GiB in one piece, freed and cut into 18, every other one freed: 9 GiB free and no 9 GiB in one piece.
allocator hard_case() {
    device d;
    d.capacity = 19456 * MiB;
    allocator a({}, d);
    a.free(*a.malloc(18 * GiB));
    std::vector<u64> blocks;
    for (int i = 0; i < 18; i++)
        blocks.push_back(*a.malloc(GiB));
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        a.free(blocks[i]);
    BOOST_REQUIRE(!a.malloc(9 * GiB));
    return a;
}

} // namespace

BOOST_AUTO_TEST_CASE(fragmentation_is_named_and_the_setting_that_helps) {
    allocator a = hard_case();
    page p = explain(to_json(snapshot_of({&a})));
    BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
    BOOST_CHECK_EQUAL(p.number("hard"), 9 * GiB);
    BOOST_CHECK_EQUAL(p.number("capacity"), 19456 * MiB);
    BOOST_CHECK_EQUAL(p.number("request"), 9 * GiB);
    check_sum(p, 0);
    check_sum(p, p.report.find("after_retry"));
    std::size_t recorded = p.row("defaults", "as recorded"), expandable = p.row("expandable_segments:True");
    BOOST_CHECK(!p.served(recorded));
    BOOST_CHECK(p.served(expandable));
    BOOST_CHECK_EQUAL(p.number("peak_reserved", expandable), 18580 * MiB);
    BOOST_CHECK_EQUAL(p.number("retries", expandable), 1u);
    BOOST_CHECK(contains(p.out, "Most of the gap is hard: expandable_segments:True"));
    BOOST_CHECK(contains(p.out, "These settings need the least memory: "));
    BOOST_CHECK(contains(p.out, "requested by    oom (train.py:"));
    BOOST_CHECK(contains(p.map, "<svg") && contains(p.map, ">request<"));
}

BOOST_AUTO_TEST_CASE(the_least_capacity_serves_and_2_mib_less_does_not) {
    allocator a = hard_case();
    page p = explain(to_json(snapshot_of({&a})));
    u64 least = p.number("least_capacity", p.row("expandable_segments:True"));
    auto served = [&](u64 capacity) {
        page at = explain(to_json(snapshot_of({&a})), {"--capacity", std::to_string(capacity)});
        return at.served(at.row("expandable_segments:True"));
    };
    BOOST_CHECK(served(least));
    BOOST_CHECK(!served(least - 2 * MiB));
}

BOOST_AUTO_TEST_CASE(a_capacity_below_what_the_recording_had_reserved_is_remarked) {
    allocator a = hard_case();
    const std::string recording = to_json(snapshot_of({&a}));
    const u64 reserved = explain(recording).number("reserved");
    const std::string less = "as given, less than the recording had reserved at that moment";
    BOOST_CHECK(contains(explain(recording, {"--capacity", std::to_string(reserved - 1)}).out, less));
    BOOST_CHECK(!contains(explain(recording, {"--capacity", std::to_string(reserved)}).out, less));
}

// Without an oom entry memory may have run out nevertheless: PyTorch releases what it caches and tries again.
BOOST_AUTO_TEST_CASE(requests_served_after_a_retry_report_that_memory_ran_out) {
    for (const u64 cycles : {0u, 1u, 3u}) {
        device d;
        d.capacity = 4 * GiB;
        allocator a({}, d);
        for (u64 i = 0; i <= cycles; i++) {
            const u64 first = *a.malloc(GiB), second = *a.malloc(GiB);
            a.free(first);
            a.free(second);
            if (i < cycles) a.free(*a.malloc(3 * GiB)); // after the two have gone back
        }
        BOOST_REQUIRE_EQUAL(a.ooms, 0u);
        const bool quiet = cycles == 0;
        BOOST_REQUIRE_EQUAL(a.retries > 0, !quiet);
        const std::string recording = to_json(snapshot_of({&a}));
        for (const std::vector<std::string> &when : {std::vector<std::string>{}, {"--at", "peak"}, {"--at", "1"}}) {
            std::vector<std::string> words{"--compare"};
            words.insert(words.end(), when.begin(), when.end());
            const page p = explain(recording, words);
            BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
            BOOST_CHECK_EQUAL(contains(p.out, "memory never ran out"), quiet);
            BOOST_CHECK_MESSAGE(
                quiet || contains(p.out, "memory ran out " + std::to_string(a.retries) +
                                             (a.retries == 1 ? " time" : " times") +
                                             ", and each request succeeded after cached memory was released"),
                p.out);
            // A row is called as recorded where it comes out as the recording did, and nowhere else.
            const bool same = contains(p.report, "\"note\": \"as recorded\"");
            BOOST_CHECK_NE(same, contains(p.report, "\"note\": \"own settings\""));
            if (!same) continue;
            const std::size_t row = p.row("defaults", "as recorded");
            BOOST_CHECK_EQUAL(p.number("retries", row), a.retries);
            BOOST_CHECK_EQUAL(p.number("peak_reserved", row), a.peak_reserved);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_request_that_no_allocator_can_serve_is_reported_with_the_missing_bytes) {
    device d;
    d.capacity = GiB;
    allocator a({}, d);
    a.malloc(700 * MiB);
    BOOST_REQUIRE(!a.malloc(400 * MiB));
    page p = explain(to_pickle(snapshot_of({&a})));
    BOOST_CHECK_EQUAL(p.number("short_by"), 76 * MiB);
    BOOST_CHECK(contains(p.report, "\"impossible\": true"));
    BOOST_CHECK(contains(p.report, "\"settings\": []"));
    BOOST_CHECK(contains(p.out, "No allocator can serve the request: it is 79691776 (76.00 MiB) bytes too large"));
}

// #123548: free memory that is large enough, and the rule that keeps it.
// A name is cut between two characters, and what would steer a terminal is escaped.
BOOST_AUTO_TEST_CASE(the_requester_is_reported_whatever_its_names) {
    allocator a = hard_case();
    value snapshot = snapshot_of({&a});
    auto &entry = std::get<value::list>(std::get<value::list>(snapshot["device_traces"].is)[0].is).back();
    std::string name = "a";
    while (name.size() < 200)
        name += "\xc3\xa9"; // 80 bytes would end within one
    entry["frames"] = value::list{value::dict{{"filename", "/x/b\x1b[31m.py"}, {"name", name}, {"line", 7}}};
    for (const std::string &recording : {to_pickle(snapshot), to_json(snapshot)}) {
        page p = explain(recording);
        BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
        BOOST_CHECK(contains(p.report, "\"owner\": \"a"));
        BOOST_CHECK_MESSAGE(contains(p.out, " (b\\x1b[31m.py:7)"), p.out);
        BOOST_CHECK(!contains(p.out, "\x1b"));
    }
}

BOOST_AUTO_TEST_CASE(rules_that_withhold_memory_are_named) {
    settings s;
    s.expandable = true;
    s.max_split = 128 * MiB;
    device d;
    d.bytes = d.capacity = 16000 * MiB;
    allocator a(s, d);
    a.malloc(64 * MiB);
    for (int i = 0; i <= 100; i++) {
        u64 x = *a.malloc(91 * MiB), y = *a.malloc(91 * MiB / 2);
        a.malloc(2 * MiB);
        a.free(x);
        a.free(y);
    }
    BOOST_CHECK_EQUAL(a.reserved, 14060 * MiB);
    a.malloc(91 * MiB);
    page p = explain(to_json(snapshot_of({&a})), {"--at", std::to_string(a.trace.size() - 1), "--compare"});
    BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
    BOOST_CHECK_EQUAL(p.number("refused"), 101u * 273 * MiB / 2);
    BOOST_CHECK(contains(p.out, "remove max_split_size_mb"));
    std::size_t proposal = p.row("expandable_segments:True,max_split_size_mb:128", "with #193400");
    BOOST_CHECK_EQUAL(p.number("peak_reserved", proposal), 420 * MiB);
    BOOST_CHECK_EQUAL(p.number("peak_reserved", p.row("expandable_segments:True")), 420 * MiB);
}

// Under #193400's rule nothing is withheld, and the plain row has what the row of the proposal has.
BOOST_AUTO_TEST_CASE(the_rules_of_a_version_hold_for_the_moment_and_for_the_table) {
    settings s;
    s.expandable = s.exempt_expandable = true;
    s.max_split = 128 * MiB;
    allocator a(s);
    a.malloc(64 * MiB);
    for (int i = 0; i <= 10; i++) {
        u64 x = *a.malloc(91 * MiB), y = *a.malloc(91 * MiB / 2);
        a.malloc(2 * MiB);
        a.free(x);
        a.free(y);
    }
    a.malloc(91 * MiB);
    const std::string recording = to_json(snapshot_of({&a}));
    page p = explain(recording, {"--compare", "--pytorch", "193400"});
    BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
    BOOST_CHECK_EQUAL(p.number("refused"), 0u);
    const std::string both = "expandable_segments:True,max_split_size_mb:128";
    BOOST_CHECK_EQUAL(p.number("peak_reserved", p.row(both)), p.number("peak_reserved", p.row(both, "with #193400")));
    BOOST_CHECK_EQUAL(explain(recording).status, 2); // differs before the peak
    BOOST_CHECK(contains(explain(recording, {"--pytorch", "x"}).err, "--pytorch: found 'x', expected a version"));
}

BOOST_AUTO_TEST_CASE(a_moment_is_an_entry_the_last_oom_or_the_peak) {
    allocator a = hard_case();
    std::string recording = to_json(snapshot_of({&a}));
    BOOST_CHECK_EQUAL(explain(recording, {"--at", "oom"}).number("entry"), a.trace.size() - 1);
    page first = explain(recording, {"--at", "0"}); // the segment of the first request
    BOOST_CHECK_EQUAL(first.number("entry"), 1u);
    BOOST_CHECK_EQUAL(first.number("reserved"), 0u);
    BOOST_CHECK_EQUAL(explain(recording, {"--at", "peak"}).number("allocated"), 18 * GiB);
    BOOST_CHECK(contains(explain(recording, {"--at", "9999"}).err, "unknown entry 9999"));
    BOOST_CHECK(contains(explain(recording, {"--at", "soon"}).err, "--at: found 'soon', expected"));
    allocator quiet;
    quiet.malloc(512);
    quiet.malloc(512);
    BOOST_CHECK(contains(explain(to_json(snapshot_of({&quiet})), {"--at", "oom"}).err, "never ran out of memory"));
}

BOOST_AUTO_TEST_CASE(every_moment_of_a_random_recording_adds_up) {
    for (u64 seed = 1; seed <= 6; seed++) {
        settings s;
        s.expandable = seed % 2;
        device d;
        d.capacity = 2 * GiB;
        allocator a(s, d);
        workload w;
        w.streams = 3;
        w.operations = 600;
        run(a, w, seed);
        for (std::size_t keep : {a.trace.size(), a.trace.size() / 2})
            for (std::string at : {"100", "peak", "300"}) {
                page p = explain(to_pickle(snapshot_of({&a}, keep)), {"--at", at, "--compare"});
                BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
                check_sum(p, 0);
                check_sum(p, p.report.find("after_retry"));
                BOOST_CHECK_EQUAL(contains(p.out, "the trace starts late"), p.number("late_blocks") > 0);
            }
    }
}

BOOST_AUTO_TEST_CASE(more_settings_can_be_asked_for) {
    allocator a = hard_case();
    page p = explain(to_json(snapshot_of({&a})), {"--settings", "max_split_size_mb:64"});
    BOOST_CHECK(p.served(p.row("max_split_size_mb:64"))); // every GiB in a segment of its own
    BOOST_CHECK(contains(explain("{}", {"--settings", "max_split_size_mb:1"}).err, "--settings: settings, column 19"));
}

// A request that fails releases cached memory, but does not search it again: a free that completed then may have left a
// block that is large enough, next to one that lives.
BOOST_AUTO_TEST_CASE(a_retry_at_once_is_served_where_a_pending_free_left_a_block) {
    for (const bool waits : {true, false}) {
        device d;
        d.capacity = 5 * GiB;
        allocator a({}, d);
        a.free(*a.malloc(4 * GiB));
        const u64 first = *a.malloc(2 * GiB);
        a.malloc(2 * GiB);
        if (waits) {
            a.use(first);
            a.free(first);
        }
        BOOST_REQUIRE(!a.malloc(2 * GiB));
        const page p = explain(to_json(snapshot_of({&a})));
        BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
        BOOST_CHECK_EQUAL(contains(p.report, "\"retry_served\": true"), waits);
        BOOST_CHECK(contains(
            p.out, waits ? "An immediate retry would have succeeded: after the release a free block is large enough."
                         : "An immediate retry would have failed, too: after the release no free block is large "
                           "enough."));
        if (waits) { // else no allocator can serve it
            BOOST_CHECK(p.served(p.row("defaults", "second search")));
            BOOST_CHECK(!p.served(p.row("defaults", "as recorded")));
        }
        // With the option all rows search twice, and without an oom, too.
        const page all = explain(to_json(snapshot_of({&a})), {"--second-search"});
        BOOST_REQUIRE_MESSAGE(all.status == 0, all.err);
        BOOST_CHECK_EQUAL(all.served(all.row("defaults")), waits);
        BOOST_CHECK(contains(explain(to_json(snapshot_of({&a})), {"--second-search", "--at", "0"}).out,
                             "under other settings"));
    }
}

// During the capture of a graph nothing is released, so that a second request finds what the first one found.
BOOST_AUTO_TEST_CASE(a_retry_during_a_capture_fails) {
    device d;
    d.capacity = 5 * GiB;
    allocator a({}, d);
    a.free(*a.malloc(4 * GiB));
    const u64 first = *a.malloc(2 * GiB);
    a.malloc(2 * GiB);
    a.use(first);
    a.free(first);
    a.capturing = true;
    BOOST_REQUIRE(!a.malloc(2 * GiB));
    const page p = explain(to_json(snapshot_of({&a})));
    BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
    BOOST_CHECK(contains(p.report, "\"retry_served\": false"));
    BOOST_CHECK(contains(p.out, "a graph was being captured"));
    BOOST_CHECK(
        contains(p.out, "Most of the gap is pending: wait for the other streams before the capture of a graph"));
    BOOST_CHECK_EQUAL(p.number("pending", p.report.find("after_retry")), 2 * GiB);
}

// The pools of graphs that have ended are released, too.
BOOST_AUTO_TEST_CASE(a_retry_releases_the_pools_of_graphs_that_have_ended) {
    for (const bool pool_ids : {false, true}) {
        device d;
        d.capacity = 5 * GiB;
        allocator a({}, d);
        const u64 first = *a.malloc(GiB, 0, {0, 5}), second = *a.malloc(GiB, 0, {0, 5});
        a.free(first);
        a.retired.push_back({0, 5});
        a.empty_cache(); // shows that the graph has ended
        a.free(second);
        a.malloc(GiB);
        BOOST_REQUIRE(!a.malloc(5 * GiB));
        BOOST_REQUIRE_EQUAL(a.reserved, GiB);
        const page p = explain(to_json(snapshot_of({&a}, ~std::size_t{0}, pool_ids)));
        BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
        BOOST_CHECK_EQUAL(p.number("reserved"), 2 * GiB);
        BOOST_CHECK_EQUAL(p.number("reserved", p.report.find("after_retry")), GiB);
    }
}

// Against the naive allocator, which makes the request again.
BOOST_AUTO_TEST_CASE(random_retries_are_served_as_the_naive_allocator_serves_them) {
    int served = 0, captured = 0, all = 0;
    for (u64 seed = 1; seed <= 40; seed++) {
        std::mt19937_64 random(seed);
        settings s;
        s.expandable = seed % 4 == 0;
        if (seed % 3 == 0) s.max_split = 64 * MiB;
        device d;
        d.bytes = d.capacity = 1024 * MiB;
        d.random.seed(seed);
        allocator a(s, d);
        std::vector<u64> live;
        const u64 ooms = 1 + random() % 3;
        bool again = false;
        while (a.ooms < ooms) {
            a.capturing = seed % 5 == 0 && random() % 4 == 0;
            while (!a.pending.empty() && !a.capturing && random() % 6 == 0)
                a.end_use(a.pending[random() % a.pending.size()]);
            if (live.empty() || random() % 5 < 3) {
                const u64 n = (1 + random() % (random() % 4 ? 50 : 200)) * MiB, stream = random() % 2, before = a.ooms;
                if (const auto address = a.malloc(n, stream)) live.push_back(*address);
                if (a.ooms == before) continue;
                allocator copy = a;
                again = copy.malloc(n, stream).has_value();
            } else {
                std::swap(live[random() % live.size()], live.back());
                if (random() % 2) a.use(live.back());
                a.free(live.back());
                live.pop_back();
            }
        }
        const page p = explain(to_json(snapshot_of({&a})));
        BOOST_REQUIRE_MESSAGE(p.status == 0, "seed " << seed << ": " << p.err);
        BOOST_CHECK_MESSAGE(contains(p.report, "\"retry_served\": true") == again, "seed " << seed << ": " << again);
        all++;
        served += again;
        captured += a.capturing;
    }
    BOOST_TEST_MESSAGE(served << " of " << all << " served, " << captured << " captured");
    BOOST_CHECK(served > 1 && served < all - 3 && captured > 0);
}

namespace {

// The recording of an oom under other settings than the text asks for.
value recording_with(const std::string &conf, const value::dict &changes = {}, bool expandable = false) {
    device d;
    d.capacity = 5 * GiB;
    settings s;
    s.expandable = expandable;
    allocator a(s, d);
    a.malloc(4 * GiB);
    BOOST_REQUIRE(!a.malloc(2 * GiB));
    value snapshot = snapshot_of({&a});
    value &written = snapshot["allocator_settings"];
    written["PYTORCH_CUDA_ALLOC_CONF"] = conf;
    for (const auto &[key, to] : changes)
        written[key] = to;
    return snapshot;
}

page explain_settings(const std::string &conf, const value::dict &changes = {}, bool expandable = false) {
    return explain(to_json(recording_with(conf, changes, expandable)));
}

std::string ignored_of(const page &p) {
    const std::size_t at = p.report.find("\"ignored\": [");
    if (at == std::string::npos) return "none: " + p.err;
    return p.report.substr(at, p.report.find(p.report[at + 12] == ']' ? "]" : "\n  ]", at) - at);
}

} // namespace

BOOST_AUTO_TEST_CASE(settings_without_effect_are_named) {
    struct row {
        std::string conf;
        value::dict changes;
        bool expandable;
        std::string text;
    };
    const std::string limit = "garbage_collection_threshold ";
    const std::vector<row> rows = {
        {"", {}, false, ""},
        {"expandable_segments:True", {}, true, ""},
        {"max_split_size_mb:100,max_split_size_mb:200",
         {{"max_split_size", 200 * MiB}},
         false,
         "max_split_size_mb is set 2 times: the last one replaces the others"},
        {"garbage_collection_threshold: 0.5 , garbage_collection_threshold:0.6,garbage_collection_threshold:0.7",
         {{"garbage_collection_threshold", 0.7}},
         false,
         limit + "is set 3 times"},
        {"max_split_size_mb:100",
         {},
         false,
         "asked for: max_split_size_mb:100; in effect: the defaults: the program or its build of PyTorch replaced the "
         "settings"},
        {"max_split_size_mb:100",
         {{"max_split_size", 200 * MiB}},
         false,
         "asked for: max_split_size_mb:100; in effect: max_split_size_mb:200:"},
        {"expandable_segments:True",
         {{"expandable_segments", true}},
         false,
         "expandable_segments:True was ignored: no segment of the recording is expandable"},
        {"expandable_segments:True,max_split_size_mb:100",
         {{"max_split_size", 100 * MiB}},
         true,
         "max_split_size_mb does not keep blocks of expandable segments whole"},
        {"max_non_split_rounding_mb:100", {}, false, "max_non_split_rounding_mb has no effect without"},
        {"garbage_collection_threshold:0.7",
         {{"garbage_collection_threshold", 0.7}},
         false,
         limit + "has no effect without a memory limit"},
    };
    for (const row &r : rows) {
        const page p = explain_settings(r.conf, r.changes, r.expandable);
        if (r.conf.rfind("expandable_segments:True", 0) == 0 && !r.expandable) {
            BOOST_CHECK_MESSAGE(p.status == 2 || contains(ignored_of(p), r.text), p.err); // plain segments differ
            continue;
        }
        BOOST_REQUIRE_MESSAGE(p.status == 0, r.conf << ": " << p.err);
        if (r.text.empty()) {
            BOOST_CHECK_EQUAL(ignored_of(p), "\"ignored\": [");
            BOOST_CHECK(!contains(p.out, "\nsettings        "));
            continue;
        }
        BOOST_CHECK_MESSAGE(contains(ignored_of(p), "\"" + r.text), r.conf << ": " << ignored_of(p));
        BOOST_CHECK_MESSAGE(contains(p.out, r.text), p.out);
    }
}

// Whatever is on already is not what helps.
BOOST_AUTO_TEST_CASE(advice_names_no_setting_that_is_on) {
    int checked = 0;
    for (u64 seed = 1; seed <= 12; seed++) {
        settings s;
        s.expandable = seed % 2;
        if (seed % 3 == 0) s.max_split = 128 * MiB;
        device d;
        d.bytes = d.capacity = 600 * MiB;
        allocator a(s, d);
        workload w;
        w.streams = 2;
        w.operations = 300;
        run(a, w, seed);
        while (a.malloc(40 * MiB))
            ;
        const page p = explain(to_json(snapshot_of({&a})));
        BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
        const std::string remedy = p.report.substr(p.report.find("\"remedy\": "));
        if (!contains(p.out, "least capacity")) continue; // no allocator can serve it
        checked++;
        const std::string said = remedy.substr(0, remedy.find('\n')) + p.out.substr(p.out.rfind("least capacity"));
        if (s.expandable)
            BOOST_CHECK_MESSAGE(!contains(remedy.substr(0, remedy.find('\n')), "expandable_segments:True"), said);
        const std::string own = std::string(s.expandable ? "expandable_segments:True" : "") +
                                (s.expandable && s.max_split != none ? "," : "") +
                                (s.max_split != none ? "max_split_size_mb:128" : "");
        BOOST_CHECK_MESSAGE(!contains(said, "need the least memory: " + (own.empty() ? "defaults" : own) + "\n"), said);
    }
    BOOST_CHECK_GT(checked, 0);
}

// Options of torch_npu are read where they change no place, and else rejected by their names.
BOOST_AUTO_TEST_CASE(options_of_torch_npu_in_a_recording_are_read_or_rejected_by_name) {
    for (const std::string key : {"PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"})
        for (const std::string option : {"base_addr_aligned_kb", "page_size", "segment_size_mb"}) {
            const page p = explain_settings("", {{key, "max_split_size_mb:64," + option + ":16"}});
            BOOST_CHECK_EQUAL(p.status, 2);
            BOOST_CHECK_MESSAGE(contains(p.err, key + ": settings, column 22: " + option +
                                                    " is an option of torch_npu that tlmalloc does not model"),
                                p.err);
        }
    for (const std::string option : {"base_addr_aligned_kb", "page_size", "segment_size_mb"}) {
        const page p = explain_settings("", {{option, 16}});
        BOOST_CHECK_EQUAL(p.status, 2);
        BOOST_CHECK_MESSAGE(contains(p.err, "allocator_settings: " + option + " is an option of torch_npu"), p.err);
        BOOST_CHECK_MESSAGE(contains(explain("{}", {"--settings", option + ":16"}).err, option + " is an option of"),
                            option);
        BOOST_CHECK_EQUAL(explain_settings("", {{option, value()}}).status, 0);
    }
    const page p = explain_settings("", {{"PYTORCH_NPU_ALLOC_CONF", "multi_stream_lazy_reclaim:True"}});
    BOOST_CHECK_MESSAGE(p.status == 0, p.err);
}

// PyTorch leaves the texts empty that are not set: they say nothing about the others.
BOOST_AUTO_TEST_CASE(an_empty_text_of_settings_replaces_no_other) {
    const std::string names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF"};
    for (const std::string &set : names)
        for (const std::string empty : {"", " ", "\t "}) {
            value::dict texts;
            for (const std::string &name : names)
                texts.emplace_back(name, name == set ? "max_split_size_mb:100" : empty);
            value snapshot = recording_with("", texts);
            for (const std::string &recording : {to_json(snapshot), to_pickle(snapshot)})
                BOOST_CHECK_MESSAGE(contains(ignored_of(explain(recording)), "asked for: max_split_size_mb:100;"), set);
            // A setting that the dictionary lacks is that of the text.
            snapshot["allocator_settings"].erase("max_split_size");
            BOOST_CHECK_MESSAGE(contains(explain(to_json(snapshot), {"--compare"}).out, "\nmax_split_size_mb:100 "),
                                set);
        }
}

BOOST_AUTO_TEST_CASE(a_text_of_settings_of_any_length_is_read_and_shown_whole) {
    std::string divisions = "roundup_power2_divisions:[";
    for (int i = 0; i < 16; i++)
        divisions += (i ? "," : "") + std::to_string(1 << i) + ":" + std::to_string(i % 2 ? 1 : 1 << 30);
    divisions += "]";
    const std::string sizes =
        "max_split_size_mb:17592186044,max_non_split_rounding_mb:17592186044,large_segment_size_mb:17592186044,"
        "garbage_collection_threshold:0.123456789012345";
    const std::string all = sizes + "," + divisions + ",per_process_memory_fraction:0.123456789012345";
    BOOST_REQUIRE_GT(all.size(), 380u);
    const page p = explain_settings(all);
    BOOST_REQUIRE_MESSAGE(p.status == 0, p.err);
    BOOST_CHECK_MESSAGE(contains(ignored_of(p), "asked for: " + all + "; in effect: "), ignored_of(p));
    // The dictionary lacks everything: the text is in effect, and the table shows it.
    value snapshot = recording_with("");
    snapshot["allocator_settings"] = value::dict{{"PYTORCH_CUDA_ALLOC_CONF", all}};
    const page whole = explain(to_json(snapshot), {"--compare", "--at", "0"});
    BOOST_CHECK_MESSAGE(contains(whole.out, "\n" + all + " "), whole.out);
    // What stands behind 399 characters counts: a setting, and an option that is not modelled.
    for (const std::size_t length : {390u, 399u, 400u, 1000u, 100000u}) {
        std::string conf = "pinned_num_register_threads:1";
        while (conf.size() < length)
            conf += ",pinned_num_register_threads:1";
        BOOST_CHECK_MESSAGE(contains(ignored_of(explain_settings(conf + ",max_split_size_mb:100")),
                                     "asked for: max_split_size_mb:100; in effect: the defaults"),
                            length);
        const std::string column = "column " + std::to_string(conf.size() + 2);
        BOOST_CHECK_MESSAGE(contains(explain_settings(conf + ",page_size:1").err, column + ": page_size is an option"),
                            length);
        BOOST_CHECK_MESSAGE(contains(ignored_of(explain_settings(conf + ",foo:1")), ": foo:1"), length);
    }
}

// A setting of another version hides neither the settings behind it nor the options that are not modelled.
BOOST_AUTO_TEST_CASE(settings_behind_an_unknown_one_count) {
    const std::string unknown[] = {"foo:1", "foo",         "foo:[1:2,4:8]", "max_split_size_mb:1",
                                   ":",     "foo:\x1b[1m", "segment:[a",    "backend:cudaMallocAsync"};
    for (const std::string &name : unknown) {
        const bool open = contains(name, "[") && !contains(name, "]"); // all that follows is a part of it
        const page p = explain_settings(name + ",max_split_size_mb:100");
        BOOST_REQUIRE_MESSAGE(p.status == 0, name << ": " << p.err);
        BOOST_CHECK_EQUAL(contains(ignored_of(p), "asked for: max_split_size_mb:100; in effect: the defaults"), !open);
        if (!open)
            BOOST_CHECK_MESSAGE(contains(ignored_of(p), "does not know the name or the value: " + name + "\""),
                                ignored_of(p));
        BOOST_CHECK(!contains(p.out, "\x1b"));
        if (open) continue;
        const page q = explain_settings(name + ", segment_size_mb:16");
        BOOST_CHECK_EQUAL(q.status, 2);
        BOOST_CHECK_MESSAGE(contains(q.err, "PYTORCH_CUDA_ALLOC_CONF: settings, column " +
                                                std::to_string(name.size() + 3) + ": segment_size_mb is an option of"),
                            q.err);
    }
    BOOST_CHECK_EQUAL(ignored_of(explain_settings(",,pinned_num_register_threads:1, ,")), "\"ignored\": [");
}

BOOST_AUTO_TEST_CASE(the_example_is_a_recording_of_the_tests_own_and_its_page_shows_what_is_printed) {
    allocator a = hard_case();
    const std::string path = TLMALLOC_SOURCE_DIR "/platform/examples/fragmented.json";
    BOOST_CHECK(read_text(path) == to_json(snapshot_of({&a})) + "\n");
    command_result run = run_tlmalloc({"explain", path});
    std::istringstream page(read_text(TLMALLOC_SOURCE_DIR "/platform/torch/README.md"));
    std::string line;
    int shown = 0;
    while (std::getline(page, line) && line != "<!-- explain platform/examples/fragmented.json -->")
        ;
    while (std::getline(page, line) && line.substr(0, 4) == "    ") {
        if (line == "    ...") continue;
        BOOST_CHECK_MESSAGE(contains(run.out, line.substr(4) + "\n"), "not printed: " << line);
        shown++;
    }
    BOOST_CHECK_GT(shown, 10);
}

BOOST_AUTO_TEST_CASE(a_used_arena_explains_a_failed_request) {
    scratch_directory scratch;
    std::string trace = "time_ns,op,id,bytes\n";
    for (int i = 0; i < 8; i++)
        trace += std::to_string(i) + ",alloc," + std::to_string(i) + ",1024\n";
    for (int i = 0; i < 8; i += 2)
        trace += "9,free," + std::to_string(i) + ",1024\n";
    std::string arena = scratch.path("arena"), events = scratch.write("trace.csv", trace);
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", events, "--capacity", "8 KiB", "--output", arena}).status, 0);
    auto answer = [&](const std::string &size) { return run_tlmalloc({"explain", arena, "--request", size}).out; };
    BOOST_CHECK(contains(answer("2 KiB"), "failed, fragmented"));
    BOOST_CHECK(contains(answer("2 KiB"), "remedy          allocate large blocks first"));
    BOOST_CHECK(contains(answer("5 KiB"), "failed, exhausted"));
    BOOST_CHECK(contains(answer("1 KiB"), "1024 bytes: served"));
    command_result run = run_tlmalloc({"explain", arena, "--request", "2 KiB", "--json", scratch.path("r.json")});
    BOOST_CHECK(contains(read_text(scratch.path("r.json")), "\"class\": \"fragmented\""));
    BOOST_CHECK_EQUAL(run_tlmalloc({"explain", events, "--request", "1 KiB"}).status, 2);
    run = run_tlmalloc({"explain", arena});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK(contains(run.err, "arena: an arena of `tlmalloc age` needs --request SIZE"));
    BOOST_CHECK_EQUAL(run_tlmalloc({"explain", arena, "--request", "1 KiB", "--compare"}).status, 2);
}

BOOST_AUTO_TEST_CASE(a_used_arena_of_bins_explains_what_its_bins_prove) {
    scratch_directory scratch;
    const std::string trace = scratch.write("trace.csv", "time_ns,op,id,bytes\n0,alloc,1,118\n"),
                      arena = scratch.path("a");
    const auto answer = [&](const std::string &policy) {
        BOOST_REQUIRE_EQUAL(
            run_tlmalloc({"age", trace, "--capacity", "1000 B", "--policy", policy, "--output", arena}).status, 0);
        const std::string out =
            run_tlmalloc({"explain", arena, "--request", "850 B", "--json", scratch.path("r.json")}).out;
        return out + read_text(scratch.path("r.json"));
    };
    const std::string of_bins = answer("offset_bins"), of_a_list = answer("first_fit"); // 882 is in the bin of 832
    BOOST_CHECK_MESSAGE(contains(of_bins, "proven by bins  882 bytes free, the largest block 832\n") &&
                            contains(of_bins, "850 bytes: failed, fragmented") &&
                            contains(of_bins, "\"proven_free\": 882") && contains(of_bins, "\"proven_largest\": 832"),
                        of_bins);
    BOOST_CHECK_MESSAGE(!contains(of_a_list, "proven by bins") && contains(of_a_list, "\"proven_largest\": 882"),
                        of_a_list);
}

BOOST_AUTO_TEST_CASE(a_file_of_another_kind_is_rejected_with_all_kinds_that_are_explained) {
    scratch_directory scratch;
    for (const char *text : {"time_ns,op,id,bytes\n0,alloc,1,64\n", "# keys\nmmu:\n", "$timescale 1 ps $end\n"}) {
        const command_result run = run_tlmalloc({"explain", scratch.write("file", text)});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK(contains(run.err, std::string("file:1:1: found '") + text[0] +
                                          "', expected a report of `tlmalloc run --json`, an arena of `tlmalloc age` "
                                          "or a memory snapshot of PyTorch"));
    }
    // White space may begin a recording.
    BOOST_CHECK(contains(run_tlmalloc({"explain", scratch.write("file", " \n{}")}).err, "without 'device_traces'"));
}
