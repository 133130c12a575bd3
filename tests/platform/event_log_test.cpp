// The event log of `tlmalloc run --events`: what it says sums up to the report.
#include "platform/event_log.hpp"

#include <algorithm>
#include <set>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

struct logged {
    report r;
    event_log log;
    std::string text;
};

logged run_logged(std::vector<std::string> arguments) {
    scratch_directory scratch;
    arguments.insert(arguments.end(), {"--events", scratch.path("events.jsonl")});
    report r = run(npu_small, std::move(arguments));
    std::string text = read_text(scratch.path("events.jsonl"));
    return {std::move(r), event_log(text), text};
}

using sums = std::map<std::string, std::int64_t>;

void check_commands(const logged &l) {
    std::map<std::string, sums> told;
    std::map<std::int64_t, std::int64_t> engine_free_ps; // by module
    for (const json_t *row : l.log.of("memory")) {
        const std::string module = "npu." + l.log.name("modules", number(row, "module"));
        const std::string op = text_of(row, "op");
        if (text_of(row, "status") == "TLA_BUSY") { // by the fault plan, before the engine
            BOOST_CHECK(json_is_null(json_object_get(row, "free")) && json_is_null(json_object_get(row, "largest")));
            told[module]["refused"]++;
            continue;
        }
        sums &of = told[module + " " + text_of(row, "channel")];
        of["allocs"] += op == "ALLOC" || op == "PLACE";
        of["frees"] += op == "FREE";
        of["failed"] += text_of(row, "status") != "TLA_OK";
        of["busy_ps"] += number(row, "service");
        BOOST_CHECK_LE(number(row, "arrival"), number(row, "start"));
        BOOST_CHECK_LE(number(row, "start"), number(row, "done"));
    }
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(l.r.list("controllers"), i, row) {
        sums &of = told[text_of(row, "name") + " " + text_of(row, "channel")];
        for (const char *key : {"allocs", "frees", "failed", "busy_ps"})
            BOOST_CHECK_MESSAGE(of[key] == number(row, key),
                                text_of(row, "name") << " " << key << ": " << of[key] << ", " << number(row, key));
    }
    std::int64_t refused = 0;
    for (const auto &[module, of] : told)
        if (of.count("refused")) refused += of.at("refused");
    BOOST_CHECK_EQUAL(refused, l.r.sum("controllers", "refused_commands"));
    BOOST_CHECK_EQUAL(refused > 0, contains(l.r.run.err, "was refused"));
    sums of_all;
    for (const json_t *mapping : l.log.of("mapping")) {
        const std::string module = l.log.name("modules", number(mapping, "module"));
        if (module.size() < 4 || module.substr(module.size() - 4) != ".mmu") continue;
        const std::int64_t ranges = number(mapping, "ranges");
        const auto all = l.log.of("ranges");
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const json_t *of) { return number(of, "number") == ranges; });
        BOOST_REQUIRE(found != all.end());
        const auto entries =
            static_cast<std::int64_t>(json_array_size(json_object_get(*found, "list of [va, pa, bytes]")));
        if (text_of(mapping, "op") == "MAP") of_all["maps"] += entries;
        if (text_of(mapping, "op") == "UNMAP") of_all["unmaps"] += entries;
    }
    for (const char *key : {"maps", "unmaps"})
        BOOST_CHECK_EQUAL(of_all[key], l.r.sum("mmus", key));
    sums accesses;
    for (const json_t *access : l.log.of("access"))
        accesses[text_of(access, "what")]++;
    BOOST_CHECK_EQUAL(accesses["stale"], l.r.sum("mmus", "stale_accesses"));
    BOOST_CHECK_EQUAL(accesses["fault"], l.r.sum("mmus", "faults"));
    BOOST_CHECK_EQUAL(accesses["fallback"], l.r.sum("mmus", "pa_fallbacks"));
    BOOST_CHECK_EQUAL(accesses["demand"], l.r.sum("mmus", "demand_faults"));
}

// Every block that was allocated is freed once, later, and its memory is not given to another one meanwhile.
void check_blocks(const logged &l) {
    struct block {
        std::int64_t module, address, bytes;
    };
    std::map<std::int64_t, block> live;
    std::set<std::pair<std::int64_t, std::int64_t>> occupied; // first byte, end
    for (const json_t *row : l.log.of("memory")) {
        if (!json_is_integer(json_object_get(row, "block"))) continue;
        const std::int64_t number_of_block = number(row, "block"), address = number(row, "address");
        if (text_of(row, "op") == "ALLOC" || text_of(row, "op") == "PLACE") {
            const block made{number(row, "module"), address, number(row, "bytes")};
            BOOST_CHECK(live.emplace(number_of_block, made).second);
            const auto behind = occupied.lower_bound({address, 0});
            if (behind != occupied.end()) BOOST_CHECK_LE(address + made.bytes, behind->first);
            if (behind != occupied.begin()) BOOST_CHECK_LE(std::prev(behind)->second, address);
            occupied.insert({address, address + made.bytes});
        } else if (text_of(row, "op") == "FREE" && text_of(row, "status") == "TLA_OK") {
            BOOST_REQUIRE(live.count(number_of_block));
            const block &of = live[number_of_block];
            BOOST_CHECK_EQUAL(of.module, number(row, "module"));
            BOOST_CHECK_EQUAL(of.address, address);
            occupied.erase({address, address + of.bytes});
            live.erase(number_of_block);
        }
    }
    BOOST_CHECK(live.empty());
}

// The free list as the last row of a channel has left it is that of the report.
void check_free_lists(const logged &l) {
    std::map<std::string, const json_t *> last;
    for (const json_t *row : l.log.of("memory"))
        if (!text_of(row, "channel").empty())
            last["npu." + l.log.name("modules", number(row, "module")) + " " + text_of(row, "channel")] = row;
    std::size_t i = 0, compared = 0;
    json_t *row = nullptr;
    json_array_foreach(l.r.list("controllers"), i, row) {
        const auto found = last.find(text_of(row, "name") + " " + text_of(row, "channel"));
        if (found == last.end()) continue;
        const std::pair<const char *, const char *> figures[] = {
            {"free", "free_bytes"}, {"largest", "largest_free_bytes"}, {"free_blocks", "free_blocks"}};
        for (const auto &[ours, theirs] : figures)
            BOOST_CHECK_EQUAL(number(found->second, ours), number(row, theirs));
        compared++;
    }
    BOOST_CHECK_GT(compared, 0);
    for (const json_t *command : l.log.of("memory"))
        if (text_of(command, "op") == "VA_ALLOC") BOOST_CHECK_EQUAL(number(command, "free_blocks"), 1);
}

// The blocks that a transfer begins in are those that are allocated there while it goes on.
void check_transfers(const logged &l) {
    std::map<std::int64_t, std::pair<const json_t *, const json_t *>> lives; // ALLOC, FREE
    for (const json_t *row : l.log.of("memory")) {
        if (!json_is_integer(json_object_get(row, "block")) || text_of(row, "status") != "TLA_OK") continue;
        auto &[alloc, free] = lives[number(row, "block")];
        (text_of(row, "op") == "FREE" ? free : alloc) = row;
    }
    for (const json_t *row : l.log.of("transfer"))
        for (const auto &[key, address] : {std::pair{"block", "address"}, std::pair{"tile_block", "tile"}}) {
            if (!json_is_integer(json_object_get(row, key))) {
                // Slots of messages are their receiver's: their writes go to its window.
                BOOST_CHECK(json_is_true(json_object_get(row, "for_message")) ||
                            json_is_null(json_object_get(row, address)));
                continue;
            }
            const auto &[alloc, free] = lives.at(number(row, key));
            BOOST_CHECK_LE(number(alloc, "arrival"), number(row, "end")); // on demand it comes meanwhile
            BOOST_CHECK_GE(number(free, "done"), number(row, "end"));
            const std::int64_t offset = number(row, address) - number(alloc, "address");
            if (std::string(key) == "block" && json_is_false(json_object_get(row, "physical"))) continue;
            BOOST_CHECK(offset >= 0 && offset < number(alloc, "bytes"));
        }
}

void check_time(const logged &l) {
    std::map<std::int64_t, std::map<std::string, std::int64_t>> spent;
    std::map<std::int64_t, std::int64_t> begin_ps, end_ps;
    for (const json_t *row : l.log.of("interval")) {
        const std::int64_t who = number(row, "who"), from = number(row, "begin"), to = number(row, "end");
        BOOST_CHECK_LT(from, to);
        if (end_ps.count(who))
            BOOST_CHECK_EQUAL(end_ps[who], from);
        else
            begin_ps[who] = from;
        end_ps[who] = to;
        spent[who][text_of(row, "kind")] += to - from;
    }
    std::size_t i = 0, j = 0;
    json_t *kernel = nullptr, *part = nullptr;
    json_array_foreach(l.r.list("kernels"), i, kernel) {
        const auto who = static_cast<std::int64_t>(i) + 1;
        BOOST_CHECK_EQUAL(l.log.name("pes", who - 1), text_of(kernel, "pe"));
        sums went;
        json_array_foreach(json_object_get(kernel, "went"), j, part) went[text_of(part, "kind")] += number(part, "ps");
        BOOST_CHECK(spent[who] == went);
        if (went.empty()) continue;
        BOOST_CHECK_EQUAL(begin_ps[who], number(kernel, "start_ps"));
        BOOST_CHECK_EQUAL(end_ps[who], number(kernel, "end_ps"));
    }
    for (const json_t *launch : l.log.of("launch")) {
        const std::string module = l.log.name("modules", number(launch, "module"));
        json_array_foreach(l.r.list("kernels"), i, kernel) {
            if (text_of(kernel, "pe") + ".element" != module) continue;
            BOOST_CHECK_EQUAL(number(launch, "began"), number(kernel, "start_ps"));
            BOOST_CHECK_EQUAL(number(launch, "began") + number(launch, "took"), number(kernel, "end_ps"));
        }
    }
}

std::int64_t sum_of(const json_t *list) {
    std::int64_t sum = 0;
    std::size_t i = 0;
    json_t *value = nullptr;
    json_array_foreach(list, i, value) sum += json_integer_value(value);
    return sum;
}

void check_links(const logged &l) {
    const std::vector<const json_t *> told = l.log.of("link");
    BOOST_REQUIRE_EQUAL(told.size(), json_array_size(l.r.list("links")));
    const std::int64_t width = number(l.log.of("buckets").at(0), "width");
    for (std::size_t i = 0; i < told.size(); i++) {
        const json_t *const row = json_array_get(l.r.list("links"), i);
        BOOST_CHECK_EQUAL(number(told[i], "link"), number(row, "link"));
        const std::pair<const char *, const char *> figures[] = {
            {"bytes", "bytes"}, {"messages", "messages"}, {"busy", "busy_ps"}, {"waited", "waited_ps"}};
        for (const auto &[ours, theirs] : figures)
            BOOST_CHECK_EQUAL(sum_of(json_object_get(told[i], ours)), number(row, theirs));
        const json_t *const busy = json_object_get(told[i], "busy");
        BOOST_CHECK_LE(json_array_size(busy), 256);
        for (std::size_t bucket = 0; bucket < json_array_size(busy); bucket++)
            BOOST_CHECK_LE(json_integer_value(json_array_get(busy, bucket)), width);
    }
}

void check_messages(const logged &l) {
    std::int64_t bytes = 0;
    const std::vector<const json_t *> told = l.log.of("message");
    for (const json_t *row : told) {
        bytes += number(row, "bytes");
        BOOST_CHECK_LE(number(row, "sent"), number(row, "received"));
        l.log.name("pes", number(row, "from"));
        l.log.name("pes", number(row, "to"));
    }
    const json_t *const sum = l.r.list("message_sums");
    BOOST_CHECK_EQUAL(static_cast<std::int64_t>(told.size()), sum ? number(sum, "received") : 0);
    BOOST_CHECK_EQUAL(bytes, sum ? number(sum, "received_bytes") : 0);
}

void check_all(const logged &l, const std::string &what) {
    BOOST_TEST_CONTEXT(what) {
        BOOST_REQUIRE_MESSAGE(l.r.run.status == 0, l.r.run.err);
        check_commands(l);
        check_blocks(l);
        check_free_lists(l);
        check_transfers(l);
        check_time(l);
        check_links(l);
        check_messages(l);
        BOOST_CHECK_EQUAL(l.log.rows.back().first, "end");
        BOOST_CHECK_EQUAL(number(l.log.rows.back().second.get(), "lost"), 0);
        BOOST_CHECK_EQUAL(number(l.log.rows.back().second.get(), "end"), l.r.number("sim_time_ps"));
        BOOST_CHECK_EQUAL(l.log.of("tensor").size(), json_array_size(l.r.list("tensors")));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(sums_over_the_log_are_the_figures_of_the_report) {
    for (const std::string &kernel : kernel_names())
        for (const char *style : {"exact", "fast"})
            check_all(run_logged({"--kernel", kernel, "--set", std::string("simulation.style=") + style}),
                      kernel + " " + style);
}

BOOST_AUTO_TEST_CASE(sums_are_the_figures_whatever_the_platform_is_like) {
    const std::vector<std::vector<std::string>> platforms{
        {"mmu.walk=memory"},
        {"mmu.unmapped=demand"},
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
            check_all(run_logged(arguments), keys.front() + " " + kernel);
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

BOOST_AUTO_TEST_CASE(the_length_of_a_free_list_that_is_broken_up_is_told) {
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

BOOST_AUTO_TEST_CASE(what_the_host_was_in_is_told_of_runs_that_fail_before_the_launch) {
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

BOOST_AUTO_TEST_CASE(a_log_that_is_cut_says_what_is_missing) {
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
    BOOST_CHECK(contains(cut.r.run.err, "the event log is cut: " + std::to_string(lost) + " events are not in it"));
    BOOST_CHECK(!contains(whole.r.run.err, "cut"));
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
    for (const char *style : {"exact", "fast"}) {
        const std::vector<std::string> arguments{"--kernel", "all_reduce", "--set",
                                                 std::string("simulation.style=") + style};
        const report without = run(npu_small, arguments);
        const logged with = run_logged(arguments);
        BOOST_CHECK(json_equal(without.json.get(), with.r.json.get()));
    }
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

BOOST_AUTO_TEST_CASE(bad_limits_are_told) {
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
