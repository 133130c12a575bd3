// The event log of `tlmalloc run --events`: what it says sums up to the report.
#include "platform/heap_with_holes.hpp"
#include "platform/log_sums.hpp"

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using namespace log_sums;

logged run_logged(std::vector<std::string> arguments) {
    scratch_directory scratch;
    arguments.insert(arguments.end(), {"--events", scratch.path("events.jsonl")});
    report r = run(npu_small, std::move(arguments));
    std::string text = read_text(scratch.path("events.jsonl"));
    return {std::move(r), event_log(text), text};
}

void check_run(const logged &l, const std::string &what) {
    BOOST_TEST_CONTEXT(what) {
        BOOST_REQUIRE_MESSAGE(l.r.run.status == 0, l.r.run.err);
        check_all(l);
        for (const json_t *command : l.log.of("memory"))
            if (text_of(command, "op") == "VA_ALLOC") BOOST_CHECK_EQUAL(number(command, "free_blocks"), 1);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(sums_over_the_log_are_the_figures_of_the_report) {
    for (const std::string &kernel : kernel_names())
        check_run(run_logged({"--kernel", kernel}), kernel);
}

BOOST_AUTO_TEST_CASE(sums_are_the_figures_whatever_the_platform_is_like) {
    const std::vector<std::vector<std::string>> platforms{
        {"mmu.walk=memory"},
        {"hbm.timing=hbm3"},
        {"mmu.unmapped=demand"},
        {"mmu.unmapped=demand", "mmu.fault_handler=controller", "mmu.fault_pool=4 KiB", "mmu.page_size=4 KiB"},
        {"mmu.eviction=clock", "mmu.unmapped=demand", "host_memory.capacity=16 MiB", "mmu.page_size=4 KiB",
         "hbm.capacity_per_cube=64 KiB"},
        {"controller.lockstep=cube"},
        {"controller.free_list=hbm"},
        {"host.pool=caching_pool"},
        {"messages.memory=sram"},
        {"faults.plan=refuse pe=1 rate=300000"},
    };
    for (const std::vector<std::string> &keys : platforms)
        for (const char *kernel : {"qkv_gemm", "ring"}) {
            std::vector<std::string> arguments = with_prices(keys);
            arguments.insert(arguments.end(), {"--kernel", kernel});
            check_run(run_logged(arguments), keys.front() + " " + kernel);
        }
}

BOOST_AUTO_TEST_CASE(blocks_that_move_are_followed_to_their_new_places) {
    const scratch_directory scratch;
    const std::string aged = write_heap_with_holes(scratch);
    for (const char *mode : {"stop", "concurrent"})
        for (const char *kernel : {"gemm", "transformer_block"}) {
            const logged l =
                run_logged({"--kernel", kernel, "--from", aged, "--set", "hbm.capacity_per_cube=16 MiB", "--set",
                            "controller.hbm_policy=worst_fit", "--set", std::string("controller.move=") + mode, "--set",
                            "controller.compaction=background", "--set", "controller.compaction_threshold=1", "--set",
                            "controller.compaction_budget=100 GB/s"});
            check_run(l, std::string(kernel) + " " + mode);
            BOOST_CHECK_GT(l.log.of("move").size(), 10u);
            BOOST_CHECK_GE(l.log.of("stop").size(), l.log.of("move").size());
        }
}

BOOST_AUTO_TEST_CASE(a_log_has_columns_of_moves_only_where_blocks_can_move) {
    for (const char *mode : {"off", "stop"}) {
        const logged l = run_logged({"--set", std::string("controller.move=") + mode});
        const json_t *const columns = json_object_get(l.log.header.get(), "columns");
        for (const char *kind : {"move", "stop"})
            BOOST_CHECK_EQUAL(json_object_get(columns, kind) != nullptr, std::string(mode) != "off");
    }
}

BOOST_AUTO_TEST_CASE(a_log_has_columns_of_pages_only_where_pages_are_on_demand) {
    for (const char *reaction : {"error", "demand"}) {
        const logged l = run_logged({"--set", std::string("mmu.unmapped=") + reaction});
        const json_t *const columns = json_object_get(l.log.header.get(), "columns");
        for (const char *kind : {"page fault", "page exit"})
            BOOST_CHECK_EQUAL(json_object_get(columns, kind) != nullptr, std::string(reaction) == "demand");
    }
}

BOOST_AUTO_TEST_CASE(bytes_of_transfers_are_what_slices_and_tensors_have_moved) {
    // Each PE loads 16 KiB from its own slice, by way of no message.
    const logged l = run_logged({"--kernel", "dma_read"});
    const std::vector<const json_t *> transfers = l.log.of("transfer");
    BOOST_REQUIRE_EQUAL(transfers.size(), 4);
    std::map<std::int64_t, const json_t *> allocs; // by block
    for (const json_t *row : l.log.of("memory"))
        if (text_of(row, "op") == "ALLOC") allocs[number(row, "block")] = row;
    for (const json_t *row : transfers) {
        const std::string pe = l.log.name("pes", number(row, "pe"));
        BOOST_CHECK_EQUAL(number(row, "bytes"), 16384);
        BOOST_CHECK_EQUAL(text_of(row, "engine"), "read");
        BOOST_CHECK_EQUAL(text_of(row, "status"), "TLA_OK");
        BOOST_CHECK(json_is_false(json_object_get(row, "for_message")));
        BOOST_CHECK_EQUAL(
            number(row, "end") - number(row, "start"),
            number(json_array_get(l.r.list("kernels"), static_cast<std::size_t>(number(row, "pe"))), "dma_ps"));
        const json_t *const memories = json_object_get(row, "memories");
        BOOST_REQUIRE_EQUAL(json_array_size(memories), 1);
        BOOST_CHECK_EQUAL(l.log.name("nodes", json_integer_value(json_array_get(memories, 0))),
                          "sip0.cube0.hbm_ctrl." + pe.substr(pe.rfind('.') + 1));
        const json_t *const from = allocs.at(number(row, "block")), *const to = allocs.at(number(row, "tile_block"));
        BOOST_CHECK_EQUAL(l.log.name("modules", number(from, "module")), pe + ".controller");
        BOOST_CHECK_EQUAL(l.log.name("modules", number(to, "module")), pe + ".controller");
        BOOST_CHECK_EQUAL(text_of(from, "channel"), "hbm");
        BOOST_CHECK_EQUAL(text_of(to, "channel"), "tcm");
        BOOST_CHECK_EQUAL(number(from, "object"), number(l.log.of("tensor").at(0), "object"));
        BOOST_CHECK_EQUAL(number(from, "sender"), 0);
        BOOST_CHECK_EQUAL(number(to, "sender"), number(row, "pe") + 1);
    }
}

BOOST_AUTO_TEST_CASE(a_request_that_failed_says_how_much_was_free) {
    scratch_directory scratch;
    const std::string path = scratch.path("events.jsonl");
    const command_result result = run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--events", path, "--set",
                                                "tcm.capacity=8 KiB", "--set", "tcm.scheduler_reserve=0 B"});
    BOOST_CHECK_EQUAL(result.status, 1);
    const event_log log(read_text(path));
    std::size_t failed = 0;
    for (const json_t *row : log.of("memory")) {
        if (text_of(row, "status") == "TLA_OK") continue;
        failed++;
        BOOST_CHECK_EQUAL(text_of(row, "status"), "TLA_EXHAUSTED");
        BOOST_CHECK_EQUAL(number(row, "bytes"), 16384);
        BOOST_CHECK_EQUAL(number(row, "free"), 8192);
        BOOST_CHECK_EQUAL(number(row, "largest"), 8192);
        BOOST_CHECK(json_is_null(json_object_get(row, "block")));
        BOOST_CHECK(json_is_null(json_object_get(row, "address")));
    }
    BOOST_CHECK_EQUAL(failed, 4);
    BOOST_CHECK_EQUAL(text_of(log.rows.back().second.get(), "status"), "TLA_EXHAUSTED");
}

BOOST_AUTO_TEST_CASE(the_length_of_a_fragmented_free_list_is_reported) {
    const scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n0,alloc,1,4096\n1,alloc,2,4096\n"
                                                     "2,alloc,3,4096\n3,alloc,4,4096\n4,free,1,4096\n5,free,3,4096\n");
    const std::string aged = scratch.path("aged");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", trace, "--capacity", "6 GiB", "--output", aged}).status, 0);
    const logged l = run_logged({"--kernel", "dma_read", "--from", aged});
    BOOST_REQUIRE_EQUAL(l.r.run.status, 0);
    for (const json_t *row : l.log.of("memory")) // two holes, into neither of which 16 KiB go, and the rest
        if (text_of(row, "channel") == "hbm") BOOST_CHECK_EQUAL(number(row, "free_blocks"), 3);
    check_free_lists(l);
}

BOOST_AUTO_TEST_CASE(a_run_that_fails_before_the_launch_reports_the_activity_of_the_host) {
    const logged l = run_logged({"--kernel", "gemm", "--set", "hbm.capacity_per_cube=64 KiB"});
    BOOST_CHECK_EQUAL(l.r.run.status, 1);
    const std::vector<const json_t *> told = l.log.of("interval");
    BOOST_REQUIRE_EQUAL(told.size(), 1);
    BOOST_CHECK_EQUAL(number(told[0], "who"), 0);
    BOOST_CHECK_EQUAL(text_of(told[0], "kind"), "host_command");
    BOOST_CHECK_EQUAL(number(told[0], "begin"), 0);
    BOOST_CHECK_EQUAL(number(told[0], "end"), l.r.number("sim_time_ps"));
}

BOOST_AUTO_TEST_CASE(a_map_is_seen_from_its_sender_to_every_mmu) {
    const logged l = run_logged({"--kernel", "qkv_gemm"});
    std::map<std::pair<std::int64_t, std::int64_t>, const json_t *> sent; // by correlation, request: at the VA manager
    for (const json_t *row : l.log.of("mapping"))
        if (l.log.name("modules", number(row, "module")) == "va_manager")
            sent[{number(row, "correlation"), number(row, "request")}] = row;
    std::size_t at_mmus = 0;
    for (const json_t *row : l.log.of("mapping")) {
        const auto found = sent.find({number(row, "correlation"), number(row, "request")});
        BOOST_REQUIRE(found != sent.end());
        BOOST_CHECK_LE(number(found->second, "arrival"), number(row, "arrival"));
        BOOST_CHECK_GE(number(found->second, "done"), number(row, "done")); // it waits for all
        at_mmus += contains(l.log.name("modules", number(row, "module")), ".mmu");
    }
    BOOST_CHECK_EQUAL(sent.size(), 6); // three tensors, mapped and unmapped
    BOOST_CHECK_EQUAL(at_mmus, 24);
}

BOOST_AUTO_TEST_CASE(a_truncated_log_counts_the_missing_events) {
    const logged whole = run_logged({}), cut = run_logged({"--events-limit", "100"});
    const json_t *const end = cut.log.rows.back().second.get(), *const all = whole.log.rows.back().second.get();
    std::int64_t told = 0, lost = 0;
    const char *kind = nullptr;
    json_t *count = nullptr;
    json_object_foreach(json_object_get(end, "told by kind"), kind, count) {
        const std::int64_t missing = number(json_object_get(end, "lost by kind"), kind);
        BOOST_CHECK_EQUAL(json_integer_value(count) + missing, number(json_object_get(all, "told by kind"), kind));
        BOOST_CHECK_EQUAL(static_cast<std::int64_t>(cut.log.of(kind).size()), json_integer_value(count));
        if (std::string(kind) == "launch") continue;
        told += json_integer_value(count);
        lost += missing;
    }
    BOOST_CHECK_EQUAL(told, 100);
    BOOST_CHECK_EQUAL(number(end, "lost"), lost);
    BOOST_CHECK_GT(lost, 0);
    BOOST_CHECK(contains(cut.r.run.err, "the event log is truncated: " + std::to_string(lost) +
                                            " events were dropped: raise --events-limit"));
    BOOST_CHECK(!contains(whole.r.run.err, "truncated"));
    check_links(cut);
    BOOST_CHECK_EQUAL(cut.log.of("launch").size(), whole.log.of("launch").size());
    // What is there is the beginning of the whole log.
    const std::size_t first = cut.text.find("\n[\"memory\"");
    BOOST_CHECK_EQUAL(whole.text.compare(0, first + 2000, cut.text, 0, first + 2000), 0);
}

BOOST_AUTO_TEST_CASE(the_same_run_writes_the_same_bytes_compressed_ones_too) {
    scratch_directory scratch;
    std::map<std::string, std::string> texts;
    for (const char *name : {"a.jsonl", "b.jsonl", "a.jsonl.gz", "b.jsonl.gz"}) {
        BOOST_CHECK_EQUAL(run_tlmalloc({"run", npu_small, "--kernel", "ring", "--events", scratch.path(name)}).status,
                          0);
        texts[name] = read_text(scratch.path(name));
    }
    BOOST_CHECK(texts["a.jsonl"] == texts["b.jsonl"]);
    BOOST_CHECK(texts["a.jsonl.gz"] == texts["b.jsonl.gz"]);
    BOOST_CHECK_LT(texts["a.jsonl.gz"].size(), texts["a.jsonl"].size() / 4);
    const std::string plain = scratch.path("plain");
    BOOST_REQUIRE_EQUAL(run_shell("gzip -dc '" + scratch.path("a.jsonl.gz") + "' > '" + plain + "'").status, 0);
    BOOST_CHECK(read_text(plain) == texts["a.jsonl"]);
}

BOOST_AUTO_TEST_CASE(a_log_changes_nothing_of_the_run) {
    const std::vector<std::string> arguments{"--kernel", "all_reduce"};
    const report without = run(npu_small, arguments);
    const logged with = run_logged(arguments);
    BOOST_CHECK(json_equal(without.json.get(), with.r.json.get()));
}

BOOST_AUTO_TEST_CASE(names_with_quotes_and_markup_stay_text) {
    scratch_directory scratch;
    const std::string folder = scratch.path("a \"quoted\" </script><b>&amp; \xff");
    std::filesystem::create_directories(folder);
    const std::string kernel = folder + "/vector_add.c", path = scratch.path("events.jsonl");
    std::filesystem::copy_file(TLMALLOC_SOURCE_DIR "/platform/kernels/vector_add.c", kernel);
    const command_result result = run_tlmalloc({"run", npu_small, "--kernel", kernel, "--events", path});
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
    const std::string text = read_text(path);
    BOOST_CHECK_EQUAL(text.find_first_of("<>&"), std::string::npos);
    const std::string told = text_of(event_log(text).header.get(), "kernel");
    BOOST_CHECK_MESSAGE(contains(told, "a \"quoted\" </script><b>&amp; \\xff/vector_add.c"), told);
}

BOOST_AUTO_TEST_CASE(invalid_limits_are_rejected) {
    for (const char *limit : {"0", "-1", "many", "1e3", "1000000001", "99999999999999999999999"}) {
        const command_result result =
            run_tlmalloc({"run", npu_small, "--events", "/dev/null", "--events-limit", limit});
        BOOST_CHECK_EQUAL(result.status, 2);
        BOOST_CHECK(
            contains(result.err, "--events-limit: found '" + std::string(limit) + "', expected 1 .. 1000000000"));
    }
    const command_result alone = run_tlmalloc({"run", npu_small, "--events-limit", "3"});
    BOOST_CHECK_EQUAL(alone.status, 2);
    BOOST_CHECK(contains(alone.err, "--events-limit needs --events"));
}
