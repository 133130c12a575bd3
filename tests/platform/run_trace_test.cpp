// The timeline of `tlmalloc run --trace`: it keeps the rules of its format, and its figures are those of the report.
#include "platform/trace_sums.hpp"

#include <functional>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using namespace trace_sums;

traced run_traced(std::vector<std::string> arguments) {
    const scratch_directory scratch;
    arguments.insert(arguments.end(), {"--trace", scratch.path("trace.json")});
    report r = run(npu_small, std::move(arguments));
    const std::string text = read_text(scratch.path("trace.json"));
    return {std::move(r), text, chrome_trace(parse(text))};
}

void check_run(const traced &t, const std::string &what, bool every_command_is_told = true) {
    BOOST_TEST_CONTEXT(what) {
        BOOST_REQUIRE_MESSAGE(t.r.run.status == 0, t.r.run.err);
        check_all(t, every_command_is_told);
    }
}

chrome_trace read_file(const std::string &path) {
    return chrome_trace(parse(read_text(path)));
}

} // namespace

BOOST_AUTO_TEST_CASE(every_kernel_makes_a_trace_by_the_rules_with_the_figures_of_its_report) {
    for (const std::string &kernel : kernel_names())
        check_run(run_traced({"--kernel", kernel}), kernel);
}

BOOST_AUTO_TEST_CASE(a_trace_keeps_the_rules_whatever_the_platform_is_like) {
    const std::vector<std::vector<std::string>> platforms{
        {"mmu.walk=memory"},
        {"mmu.unmapped=demand"},
        {"mmu.eviction=lru", "mmu.unmapped=demand", "host_memory.capacity=16 MiB", "mmu.page_size=4 KiB",
         "hbm.capacity_per_cube=64 KiB"},
        {"va.map_ack=posted", "mmu.cost.fixed=1 us"},
        {"controller.lockstep=cube"},
        {"controller.free_list=hbm"},
        {"host.pool=caching_pool"},
        {"messages.memory=sram"},
        {"faults.plan=refuse pe=1 rate=300000"},
        {"controller.cost.profile=ideal", "mmu.cost.fixed=0 ns", "pe.dispatch=0 ns"},
        {"controller.tcm_policy=lazy", "controller.tcm_front.chunk_time=100 ns"},         // grows while it is used
        {"controller.sram_policy=lazy/buddy", "controller.sram_front.chunk_time=100 ns"}, // and while it is not
    };
    for (const std::vector<std::string> &keys : platforms)
        for (const char *kernel : {"qkv_gemm", "ring"}) {
            std::vector<std::string> arguments = with_prices(keys);
            arguments.insert(arguments.end(), {"--kernel", kernel});
            const traced t = run_traced(arguments);
            check_run(t, keys.front() + " " + kernel, keys.front() != "host.pool=caching_pool");
            const bool posted = keys.front() == "va.map_ack=posted";
            for (const auto &[key, touches] : t.trace.flows)
                if (begins_with(key.first, "mapping")) BOOST_CHECK_EQUAL(key.first == "mapping", posted);
        }
}

BOOST_AUTO_TEST_CASE(a_program_without_work_is_a_point_to_which_its_launch_leads) {
    const traced t = run_traced({"--kernel", "transpose", "--parameter", "rows=3", "--parameter", "columns=30"});
    check_run(t, "three programs of four have nothing to do");
    std::size_t points = 0;
    for (const chrome_trace::slice &s : t.trace.slices)
        points += s.category == "kernel" && s.begin_ps == s.end_ps;
    BOOST_CHECK_EQUAL(points, 3u);
}

// What a test of rules must not let through.
BOOST_AUTO_TEST_CASE(the_rules_find_what_is_planted) {
    const traced t = run_traced({"--kernel", "ring"});
    check_rules(t.trace);
    const auto first_of = [](json_t *events, const std::string &phase) {
        for (std::size_t i = 0;; i++) {
            BOOST_REQUIRE_LT(i, json_array_size(events));
            if (text_of(json_array_get(events, i), "ph") == phase) return i;
        }
    };
    const auto set = [&](const char *phase, const char *key, json_t *value) {
        return [=](json_t *events) {
            json_object_set_new(json_array_get(events, first_of(events, phase)), key, json_deep_copy(value));
            json_decref(value);
        };
    };
    const auto remove = [&](const char *phase) {
        return [=](json_t *events) { json_array_remove(events, first_of(events, phase)); };
    };
    const std::pair<const char *, std::function<void(json_t *)>> plants[] = {
        {"does not end", remove("E")},
        {"E ", remove("B")},
        {"a flow out of order", remove("s")},
        {"a flow of", remove("f")},
        {"a process without a name", remove("M")},
        {"ph 'Z'", set("B", "ph", json_string("Z"))},
        {"E of ", set("B", "name", json_string("another"))},
        {"ts is no time", set("B", "ts", json_string("0"))},
        {"ts is no time", set("E", "ts", json_real(0.0000005))},
        {"goes back in time", set("C", "ts", json_real(1000))},
        {"a thread without a name", set("B", "tid", json_integer(100000))},
        {"a process without a name", set("C", "pid", json_integer(100000))},
        {"tid",
         [&](json_t *events) {
             json_t *const event = json_array_get(events, first_of(events, "B"));
             json_object_set(event, "tid", json_object_get(event, "pid"));
         }},
        {"bp", set("f", "bp", json_string("n"))},
        {"two flows have the same id", set("s", "cat", json_string("another"))},
        {"a value that is no number", set("C", "args", json_pack("{s:s}", "bytes", "many"))},
        {"a counter without a value", set("C", "args", json_object())},
        {"args of process_name", set("M", "args", json_object())},
        {"a flow that touches no slice",
         [&](json_t *events) { // before anything has begun on its thread
             json_t *const flow = json_deep_copy(json_array_get(events, first_of(events, "s")));
             const json_t *const begin = json_array_get(events, first_of(events, "B"));
             for (const char *key : {"ts", "pid", "tid"})
                 json_object_set(flow, key, json_object_get(begin, key));
             json_array_insert_new(events, first_of(events, "B"), flow);
         }},
        {"an X that is long",
         [&](json_t *events) {
             json_t *const begin = json_deep_copy(json_array_get(events, first_of(events, "B")));
             json_object_set_new(begin, "ph", json_string("X"));
             json_object_set_new(begin, "dur", json_real(0.5));
             json_array_insert_new(events, first_of(events, "B") + 1, begin);
         }},
        {"two threads are called",
         [](json_t *events) {
             std::vector<json_t *> names;
             for (std::size_t i = 0; i < json_array_size(events); i++)
                 if (text_of(json_array_get(events, i), "name") == "thread_name")
                     names.push_back(json_array_get(events, i));
             json_object_set(names.at(0), "args", json_object_get(names.at(1), "args"));
         }},
    };
    for (const auto &[says, plant] : plants) {
        const std::shared_ptr<json_t> file = parse(t.text);
        plant(json_object_get(file.get(), "traceEvents"));
        const chrome_trace spoilt(file);
        const bool found = std::any_of(spoilt.wrong.begin(), spoilt.wrong.end(),
                                       [&, what = says](const std::string &w) { return contains(w, what); });
        BOOST_CHECK_MESSAGE(found, says << " is not among " << spoilt.wrong.size() << " complaints, the first of them: "
                                        << (spoilt.wrong.empty() ? "-" : spoilt.wrong.front()));
    }
    for (const char *key : {"displayTimeUnit", "otherData", "traceEvents"}) {
        const std::shared_ptr<json_t> file = parse(t.text);
        json_object_del(file.get(), key);
        BOOST_CHECK(!chrome_trace(file).wrong.empty());
    }
}

BOOST_AUTO_TEST_CASE(transfers_that_overlap_have_threads_of_their_own_and_names_of_what_they_move) {
    const traced t = run_traced({"--kernel", "qkv_gemm"});
    std::set<std::string> tensors, threads;
    for (const chrome_trace::slice &s : t.trace.slices) {
        if (s.category == "transfer") {
            threads.insert(s.thread);
            tensors.insert(text_of(s.args, "tensor"));
            BOOST_CHECK_EQUAL(s.name,
                              (contains(s.thread, ".dma.read") ? "read " : "write ") + text_of(s.args, "tensor"));
            BOOST_CHECK_EQUAL(s.depth, 0); // what lies within something is called by it
            BOOST_CHECK_EQUAL(text_of(s.args, "va").substr(0, 2), "0x");
        }
        if (s.category == "memory" && s.name == "ALLOC" && text_of(s.args, "memory") == "hbm")
            BOOST_CHECK(!text_of(s.args, "tensor").empty());
    }
    BOOST_CHECK(threads.count("sip0.cube0.pe0.dma.read") && threads.count("sip0.cube0.pe3.dma.write"));
    std::set<std::string> named;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(t.r.list("tensors"), i, row) named.insert(text_of(row, "name"));
    BOOST_CHECK(tensors == named);
    // Messages and their credits go out at one time.
    const traced ring = run_traced({"--kernel", "ring"});
    for (const chrome_trace::slice &s : ring.trace.slices)
        if (s.category == "transfer") threads.insert(s.thread);
    BOOST_CHECK(threads.count("sip0.cube0.pe0.dma.write (2)"));
}

// The area under the counter is what commands waited that came while another one was carried out.
BOOST_AUTO_TEST_CASE(commands_that_wait_for_an_engine_are_counted) {
    const traced slow = run_traced({"--kernel", "transformer_block", "--set", "controller.cost.fixed=1 us"});
    std::map<std::string, std::vector<const chrome_trace::slice *>> commands;
    for (const chrome_trace::slice &s : slow.trace.slices)
        if (s.category == "memory" || s.category == "mapping") commands[s.thread].push_back(&s);
    std::int64_t all_ps = 0;
    for (const auto &[thread, of] : commands) {
        std::int64_t waited_ps = 0, counted_ps = 0, free_ps = 0, before_ps = 0, waiting = 0;
        for (const chrome_trace::slice *s : of) {
            const std::int64_t waited = number(s->args, "waited_ps");
            if (s->begin_ps - waited < free_ps) waited_ps += waited;
            free_ps = s->end_ps;
        }
        const auto found = slow.trace.counters.find(thread + " waiting, commands");
        if (found != slow.trace.counters.end())
            for (const auto &[ps, count] : found->second) {
                counted_ps += waiting * (ps - before_ps);
                waiting = static_cast<std::int64_t>(count);
                before_ps = ps;
            }
        BOOST_CHECK_EQUAL(waiting, 0);
        BOOST_CHECK_MESSAGE(waited_ps == counted_ps, thread << ": " << waited_ps << ", counted " << counted_ps);
        all_ps += waited_ps;
    }
    BOOST_CHECK_GT(all_ps, 0);
}

BOOST_AUTO_TEST_CASE(aged_heaps_are_counted_from_what_they_hold) {
    const scratch_directory scratch;
    const std::string aged = scratch.path("aged");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", TLMALLOC_SOURCE_DIR "/tests/data/lm_train.csv.gz", "--capacity", "6 GiB",
                                      "--events", "peak", "--output", aged})
                            .status,
                        0);
    const traced t = run_traced({"--kernel", "qkv_gemm", "--from", aged});
    check_rules(t.trace);
    check_memories(t, true);
    const auto &used = t.trace.counters.at("sip0.cube0.pe0.hbm used, bytes");
    BOOST_CHECK_EQUAL(used.front().first, 0);
    BOOST_CHECK_GT(used.front().second, 1e6);
    BOOST_CHECK_EQUAL(used.front().second, used.back().second);
}

BOOST_AUTO_TEST_CASE(a_failed_run_has_a_trace_with_its_status) {
    const traced full =
        run_traced({"--kernel", "dma_read", "--set", "tcm.capacity=8 KiB", "--set", "tcm.scheduler_reserve=0 B"});
    BOOST_CHECK_EQUAL(full.r.run.status, 1);
    check_rules(full.trace);
    check_memories(full, true);
    std::size_t failed = 0, kernels = 0;
    for (const chrome_trace::slice &s : full.trace.slices) {
        failed += s.name == "ALLOC: TLA_EXHAUSTED" && number(s.args, "free") == 8192;
        kernels += s.name == "dma_read: TLA_EXHAUSTED";
    }
    BOOST_CHECK_EQUAL(failed, 4);
    BOOST_CHECK_EQUAL(kernels, 4);
    BOOST_REQUIRE_EQUAL(full.trace.instants.size(), 1);
    BOOST_CHECK_EQUAL(full.trace.instants[0].first, "the run ended with TLA_EXHAUSTED");
    // Nobody answers a launch of a kernel that waits for ever.
    const scratch_directory scratch;
    const std::string path = scratch.path("trace.json");
    const command_result stuck =
        run_tlmalloc({"run", npu_small, "--kernel", write_silent_kernel(scratch), "--trace", path});
    BOOST_CHECK_EQUAL(stuck.status, 1);
    const chrome_trace trace = read_file(path);
    check_rules(trace);
    BOOST_CHECK_EQUAL(count_of(trace, "kernel"), 4);
    // Those that are ended.
    const traced ended = run_traced({"--kernel", write_silent_kernel(scratch), "--set", "pe.time_limit=1 us"});
    check_rules(ended.trace);
    check_kernels(ended);
}

BOOST_AUTO_TEST_CASE(accesses_that_met_no_plain_translation_are_marks) {
    const traced t = run_traced({"--kernel", "qkv_gemm", "--set", "mmu.unmapped=demand"});
    std::int64_t demand = 0;
    for (const auto &[name, args] : t.trace.instants)
        demand += name == "page on demand" && number(args, "bytes") > 0;
    BOOST_CHECK_GT(demand, 0);
    BOOST_CHECK_EQUAL(demand, t.r.sum("mmus", "demand_faults"));
}

BOOST_AUTO_TEST_CASE(a_truncated_trace_keeps_the_rules_and_counts_the_missing_events) {
    const traced whole = run_traced({"--kernel", "ring"});
    BOOST_CHECK_EQUAL(json_integer_value(whole.trace.other("lost")), 0);
    BOOST_CHECK(!contains(whole.r.run.err, "cut"));
    for (const std::int64_t limit : {1, 10, 100}) {
        const traced cut = run_traced({"--kernel", "ring", "--trace-limit", std::to_string(limit)});
        check_rules(cut.trace);
        std::int64_t told = 0, lost = 0;
        for (const char *kind : {"memory", "mapping", "access", "interval", "transfer", "message"}) {
            const std::string name = kind;
            const std::int64_t here = json_integer_value(cut.trace.other(("told, " + name).c_str()));
            const std::int64_t missing = json_integer_value(cut.trace.other(("lost, " + name).c_str()));
            BOOST_CHECK_EQUAL(here + missing, json_integer_value(whole.trace.other(("told, " + name).c_str())));
            told += here;
            lost += missing;
        }
        BOOST_CHECK_EQUAL(told, limit);
        BOOST_CHECK_EQUAL(json_integer_value(cut.trace.other("lost")), lost);
        const std::string says =
            "the trace is truncated: " + std::to_string(lost) + " events were dropped: raise --trace-limit";
        BOOST_CHECK(contains(cut.r.run.err, "warning: " + says));
        BOOST_REQUIRE_EQUAL(cut.trace.instants.size(), 1);
        BOOST_CHECK_EQUAL(cut.trace.instants[0].first, says);
        BOOST_CHECK_EQUAL(count_of(cut.trace, "kernel"), 4);
        check_links(cut);
    }
}

BOOST_AUTO_TEST_CASE(each_of_log_and_trace_has_its_own_limit_and_is_as_it_is_alone) {
    const scratch_directory scratch;
    const auto write = [&](const std::string &name, std::vector<std::string> options) {
        options.insert(options.begin(), {"run", npu_small, "--kernel", "ring"});
        const command_result result = run_tlmalloc(options);
        BOOST_REQUIRE_MESSAGE(result.status == 0, name << ": " << result.err);
        return result.err;
    };
    const std::string log = scratch.path("log"), trace = scratch.path("trace");
    write("log", {"--events", log, "--events-limit", "50"});
    write("trace", {"--trace", trace});
    const std::string both =
        write("both", {"--events", log + "2", "--events-limit", "50", "--trace", trace + "2", "--json", "/dev/null"});
    BOOST_CHECK(read_text(log) == read_text(log + "2"));
    BOOST_CHECK(read_text(trace) == read_text(trace + "2"));
    BOOST_CHECK(contains(both, "the event log is truncated") && !contains(both, "the trace is truncated"));
}

BOOST_AUTO_TEST_CASE(the_same_run_writes_the_same_trace_compressed_ones_too) {
    const scratch_directory scratch;
    std::map<std::string, std::string> texts;
    for (const char *name : {"a.json", "b.json", "a.json.gz", "b.json.gz"}) {
        BOOST_CHECK_EQUAL(run_tlmalloc({"run", npu_small, "--kernel", "ring", "--trace", scratch.path(name)}).status,
                          0);
        texts[name] = read_text(scratch.path(name));
    }
    BOOST_CHECK(texts["a.json"] == texts["b.json"]);
    BOOST_CHECK(texts["a.json.gz"] == texts["b.json.gz"]);
    BOOST_CHECK_LT(texts["a.json.gz"].size(), texts["a.json"].size() / 6);
    const std::string plain = scratch.path("plain");
    BOOST_REQUIRE_EQUAL(run_shell("gzip -dc '" + scratch.path("a.json.gz") + "' > '" + plain + "'").status, 0);
    BOOST_CHECK(read_text(plain) == texts["a.json"]);
}

BOOST_AUTO_TEST_CASE(a_trace_changes_nothing_of_the_run) {
    const std::vector<std::string> arguments{"--kernel", "all_reduce"};
    const report without = run(npu_small, arguments);
    const traced with = run_traced(arguments);
    BOOST_CHECK(json_equal(without.json.get(), with.r.json.get()));
}

// Names come from the command line, and from kernels.
BOOST_AUTO_TEST_CASE(names_with_quotes_and_markup_stay_text_in_a_trace) {
    const scratch_directory scratch;
    const std::string folder = scratch.path("a \"quoted\" </script><b>&amp; \xff \x1b[31m");
    std::filesystem::create_directories(folder);
    const std::string kernel = folder + "/vector_add.c", path = scratch.path("trace.json"), config = folder + "/c.yaml";
    std::filesystem::copy_file(TLMALLOC_SOURCE_DIR "/platform/kernels/vector_add.c", kernel);
    write_text(config, read_text(npu_small));
    const command_result result = run_tlmalloc({"run", config, "--kernel", kernel, "--trace", path});
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
    const std::string text = read_text(path);
    BOOST_CHECK(text.find_first_of("<>&\x1b\xff") == std::string::npos);
    const chrome_trace trace = read_file(path);
    check_rules(trace);
    const std::string name = "a \"quoted\" </script><b>&amp; \\xff ";
    BOOST_CHECK(contains(text_of(json_object_get(trace.file.get(), "otherData"), "config"), name));
    for (const chrome_trace::slice &s : trace.slices)
        if (s.category == "kernel") BOOST_CHECK_MESSAGE(contains(s.name, name), s.name);
}

BOOST_AUTO_TEST_CASE(invalid_limits_of_traces_are_rejected) {
    for (const char *limit : {"0", "-1", "many", "1e3", "1000000001", "99999999999999999999999"}) {
        const command_result result = run_tlmalloc({"run", npu_small, "--trace", "/dev/null", "--trace-limit", limit});
        BOOST_CHECK_EQUAL(result.status, 2);
        BOOST_CHECK(
            contains(result.err, "--trace-limit: found '" + std::string(limit) + "', expected 1 .. 1000000000"));
    }
    const command_result alone = run_tlmalloc({"run", npu_small, "--trace-limit", "3"});
    BOOST_CHECK_EQUAL(alone.status, 2);
    BOOST_CHECK(contains(alone.err, "--trace-limit needs --trace"));
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", npu_small, "--trace"}).status, 2);
    const scratch_directory scratch;
    const std::string file = scratch.path("out");
    for (const char *other : {"--json", "--vcd", "--events"}) {
        const command_result same = run_tlmalloc({"run", npu_small, "--trace", file, other, file});
        BOOST_CHECK_EQUAL(same.status, 2);
        BOOST_CHECK_MESSAGE(contains(same.err, "--trace: '" + file + "' is also the output '" + file + "' of " + other +
                                                   ": name another file"),
                            same.err);
    }
    BOOST_CHECK_EQUAL(scratch.file_count(), 0u);
}
