// `tlmalloc explain REPORT`: the shares, the causes that it names, what reruns say of its bounds, and bad input.
#include "model/config/platform.h"
#include "platform/run_report.hpp"
#include "today.hpp"

#include <fstream>
#include <map>
#include <random>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using settings = std::vector<std::string>;

// A run, its report in a file, and what is explained of it.
struct explained_run {
    scratch_directory scratch;
    std::string file;

    explained_run(const std::string &kernel, const settings &keys) : file(scratch.path("report.json")) {
        std::vector<std::string> arguments{"run", npu_small, "--kernel", kernel, "--json", file};
        for (const std::string &key : keys)
            arguments.insert(arguments.end(), {"--set", key});
        const command_result result = run_tlmalloc(arguments);
        BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
    }

    command_result explain(std::vector<std::string> more = {}) const {
        more.insert(more.begin(), {"explain", file});
        return run_tlmalloc(more);
    }

    std::shared_ptr<json_t> json(const std::vector<std::string> &more = {}) const { return json_of(file, more); }

    // Without changes, for which a dozen runs are made: a copy of the report has a configuration that no run takes.
    std::shared_ptr<json_t> shares(const std::vector<std::string> &more = {}) const {
        std::string text = read_text(file);
        text.insert(text.find("\"vector_rate\": \"") + 16, "no ");
        return json_of(scratch.write("shares.json", text), more);
    }

  private:
    std::shared_ptr<json_t> json_of(const std::string &report, const std::vector<std::string> &more) const {
        std::vector<std::string> words{"explain", report, "--json", scratch.path("explained.json")};
        words.insert(words.end(), more.begin(), more.end());
        const command_result result = run_tlmalloc(words);
        BOOST_REQUIRE_MESSAGE(result.status == 0, result.err);
        json_t *const read = json_load_file(scratch.path("explained.json").c_str(), 0, nullptr);
        BOOST_REQUIRE(read);
        return {read, json_decref};
    }
};

const json_t *first_change(const std::shared_ptr<json_t> &json) {
    return json_array_get(json_object_get(json.get(), "changes"), 0);
}

std::int64_t share(const std::shared_ptr<json_t> &json, const std::vector<std::string> &of) {
    std::int64_t sum = 0;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(json_object_get(json.get(), "shares"), i, row) {
        for (const std::string &topic : of)
            if (text_of(row, "topic") == topic) sum += number(row, "ps");
    }
    return sum;
}

const char hot_kernel[] = R"(/* All programs load the first 64 KiB of a tensor again and again. */
#include "tlmalloc/kernel.h"
static tla_status run(tl_context *tl) {
    tl_tile tile = {.rows = 1, .columns = 16384, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    for (int i = 0; i < 32 && status == TLA_OK; i++)
        status = tl_load(tl, &tile, (tla_vaddr){tl_argument(tl, 0)}, 65536);
    return tl_free_tiles(tl, &tile, 1, status);
}
TL_KERNEL(.name = "hot", .description = "the same bytes for all", .run = run,
          .tensors = {{.name = "source", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(16384)}}},
          .arguments = {TL_ADDRESS_OF(0)});
)";

} // namespace

BOOST_AUTO_TEST_CASE(shares_are_the_time_of_the_path_and_of_every_pe) {
    const std::vector<std::string> with_changes = some_of_today(kernel_names(), 8);
    for (const std::string &kernel : kernel_names()) {
        const explained_run run(kernel, {});
        const bool has_changes = std::find(with_changes.begin(), with_changes.end(), kernel) != with_changes.end();
        for (const int pe : {-1, 2}) {
            const settings more = pe < 0 ? settings{} : settings{"--kernel", kernel, "--pe", std::to_string(pe)};
            const auto json = has_changes ? run.json(more) : run.shares(more);
            const std::int64_t all = number(json.get(), "end_ps") - number(json.get(), "begin_ps");
            std::int64_t sum = 0, before = INT64_MAX;
            std::size_t i = 0;
            json_t *row = nullptr;
            json_array_foreach(json_object_get(json.get(), "shares"), i, row) {
                BOOST_CHECK_LE(number(row, "ps"), before);
                BOOST_CHECK_EQUAL(number(row, "least_without_ps"), all - number(row, "ps"));
                before = number(row, "ps");
                sum += before;
            }
            BOOST_CHECK_EQUAL(sum, all);
            BOOST_CHECK_EQUAL(json_array_size(json_object_get(json.get(), "changes")), 3u);
            if (pe >= 0) BOOST_CHECK_EQUAL(text_of(json.get(), "pe"), "sip0.cube0.pe" + std::to_string(pe));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_expensive_allocator_is_named_first) {
    const explained_run run("gemm", {"controller.cost.node=10 us"});
    for (const settings &more : {settings{}, settings{"--pe", "2"}}) {
        const auto json = run.json(more);
        BOOST_CHECK_EQUAL(text_of(first_change(json), "topic"), "allocation");
        BOOST_CHECK_EQUAL(text_of(first_change(json), "key"), "controller.cost.node");
        BOOST_CHECK_EQUAL(text_of(first_change(json), "value"), "10 us");
    }
    BOOST_CHECK(contains(run.explain().out, "\n1. allocation, 8"));
    const explained_run driver("softmax", {"host.driver=serial"});
    BOOST_CHECK_EQUAL(text_of(first_change(driver.json()), "key"), "host.driver");
    const explained_run ranges("gemm", {"va.cost.fixed=10 us"}), walked("mlp", {"va.cost.node=10 us"});
    BOOST_CHECK_EQUAL(text_of(first_change(ranges.json()), "key"), "va.cost.fixed");
    BOOST_CHECK_EQUAL(text_of(first_change(walked.json()), "key"), "va.cost.node");
    const explained_run list("gemm", {"controller.free_list=hbm", "controller.node_latency=2 us"});
    BOOST_CHECK_EQUAL(text_of(first_change(list.json()), "key"), "controller.free_list");
}

BOOST_AUTO_TEST_CASE(walks_are_named_first) {
    const settings small_pages{"mmu.walk=memory", "mmu.page_size=4 KiB", "mmu.tlb_l1.entries=4",
                               "mmu.tlb_l2.entries=16"};
    for (const char *kernel : {"gemm", "softmax", "transpose"}) {
        const auto json = explained_run(kernel, small_pages).json();
        BOOST_CHECK_EQUAL(text_of(first_change(json), "topic"), "walks");
        BOOST_CHECK_EQUAL(text_of(first_change(json), "key"), "mmu.page_size");
        BOOST_CHECK(contains(text_of(first_change(json), "text"), "more entries and walkers"));
    }
}

BOOST_AUTO_TEST_CASE(page_faults_are_named_first_and_not_charged_to_lookups) {
    const settings leave{"mmu.eviction=clock", "host_memory.capacity=64 MiB", "mmu.page_size=4 KiB"};
    for (const char *walk : {"ideal", "flat", "memory"})
        for (const settings &more : {settings{}, leave}) {
            settings keys{"mmu.unmapped=demand", std::string("mmu.walk=") + walk};
            keys.insert(keys.end(), more.begin(), more.end());
            const auto json = explained_run("gemm", keys).json();
            BOOST_CHECK_EQUAL(text_of(first_change(json), "topic"), "faults");
            BOOST_CHECK_EQUAL(text_of(first_change(json), "key"), more.empty() ? "mmu.unmapped" : "mmu.prefetch");
            BOOST_CHECK(contains(text_of(first_change(json), "text"), more.empty() ? "at its first access" : "leave"));
            std::size_t i = 0;
            json_t *row = nullptr;
            json_array_foreach(json_object_get(json.get(), "shares"), i, row) if (text_of(row, "topic") == "lookups")
                BOOST_CHECK_LT(number(row, "ps"), 45'000'000); // less than one fault
        }
}

BOOST_AUTO_TEST_CASE(a_small_tlb_and_walkers_that_merge_nothing_are_named) {
    const settings one_entry{"mmu.walk=flat", "mmu.tlb_l1.entries=1", "mmu.tlb_l2.entries=0"};
    const auto key_of = [&](const char *kernel, settings keys) {
        const auto json = explained_run(kernel, keys).json({"--pe", "1"}); // without the inputs from the host
        BOOST_CHECK_EQUAL(text_of(first_change(json), "topic"), "walks");
        return text_of(first_change(json), "key");
    };
    BOOST_CHECK_EQUAL(key_of("transformer_block", one_entry), "mmu.tlb_l1.entries");
    BOOST_CHECK_EQUAL(key_of("softmax", one_entry), "mmu.tlb_l1.entries");
    BOOST_CHECK_EQUAL(key_of("mlp", one_entry), "mmu.walkers.merge_slots"); // more entries do not help it
    BOOST_CHECK_EQUAL(key_of("gemm", {"mmu.walk=flat", "mmu.tlb_l1.entries=2", "mmu.tlb_l2.entries=0"}),
                      "mmu.walkers.merge_slots");
}

BOOST_AUTO_TEST_CASE(a_hot_slice_is_named_first_and_its_bank) {
    const scratch_directory scratch;
    const std::string hot = scratch.write("hot.c", hot_kernel);
    const settings own{"--kernel", hot};
    const auto channels = explained_run(hot, {}).json(own);
    BOOST_CHECK_EQUAL(text_of(first_change(channels), "topic"), "memory");
    BOOST_CHECK_EQUAL(text_of(first_change(channels), "key"), "hbm.pseudo_channel_bandwidth");
    BOOST_CHECK(contains(text_of(first_change(channels), "text"), "sip0.cube0.hbm_ctrl.pe0 is a hot slice"));
    const auto banks = explained_run(hot, {"hbm.timing=hbm3"}).json(own);
    BOOST_CHECK_EQUAL(text_of(first_change(banks), "topic"), "memory");
    BOOST_CHECK_EQUAL(text_of(first_change(banks), "key"), "hbm.pseudo_channels");
    BOOST_CHECK(contains(text_of(first_change(banks), "text"), "Most of this time is spent at pseudo-channel"));
    // Where every program loads from all slices, none is hot.
    BOOST_CHECK(!contains(explained_run("gemm", {}).explain().out, "hot slice"));
}

namespace {

// Keys and values that make runs differ in where their time goes.
settings random_settings(std::mt19937_64 &random) {
    const std::vector<settings> choices{
        {},
        {"mmu.walk=flat", "mmu.page_size=4 KiB"},
        {"mmu.walk=memory", "mmu.page_size=64 KiB"},
        {"mmu.unmapped=demand"},
        {"mmu.unmapped=demand", "mmu.eviction=lru", "host_memory.capacity=64 MiB", "va.map_ack=visible"},
        {"controller.cost.profile=fw_list"},
        {"controller.cost.profile=driver_bar_v100"},
        {"controller.free_list=hbm"},
        {"controller.tcm_policy=caching_pool"},
        {"hbm.timing=hbm2"},
        {"hbm.pseudo_channels=2"},
        {"host.driver=serial"},
        {"host.driver=asynchronous", "host.pool=caching_pool"},
        {"links.host_bandwidth=512 GB/s"},
        {"links.router_bandwidth=64 GB/s"},
        {"pe.gemm_rate=100 GFLOPS", "pe.vector_rate=20 GFLOPS"},
        {"messages.slots=1", "messages.slot_size=64 B"},
        {"messages.memory=hbm"},
        {"system.pes_per_cube=8"},
        {"system.sips=2", "system.cube_mesh_width=2"},
        {"va.cost.fixed=1 us"},
        {"mmu.cost.fixed=500 ns", "mmu.cost.pte_write=20 ns"},
    };
    for (;;) { // some of them exclude each other: a list in memory has no front
        std::map<std::string, std::string> chosen;
        for (int i = 0; i < 3; i++)
            for (const std::string &key : choices[random() % choices.size()])
                chosen.emplace(key.substr(0, key.find('=')), key);
        settings all, check{"check", npu_small};
        for (const auto &[key, setting] : chosen) {
            all.push_back(setting);
            check.insert(check.end(), {"--set", setting});
        }
        if (run_tlmalloc(check).status == 0) return all;
    }
}

struct counts {
    std::size_t named = 0, helped = 0;
};

// Follows every change of a run that names a key, by a run with it.
void follow(const std::string &kernel, const settings &keys, const settings &more, counts &all) {
    const explained_run before(kernel, keys);
    const auto json = before.json(more);
    const std::int64_t took_ps = number(json.get(), "end_ps") - number(json.get(), "begin_ps");
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(json_object_get(json.get(), "changes"), i, row) {
        for (std::size_t k = 0; k < tla_platform_key_count; k++)
            BOOST_CHECK_MESSAGE(!contains(text_of(row, "text"), tla_platform_keys[k].key), text_of(row, "text"));
        const std::string key = text_of(row, "key");
        if (key.empty()) continue;
        all.named++;
        settings with = keys;
        with.push_back(key + "=" + text_of(row, "to"));
        const auto then = explained_run(kernel, with).shares(more);
        const std::int64_t took = number(then.get(), "end_ps") - number(then.get(), "begin_ps");
        all.helped += took < took_ps;
        BOOST_CHECK_MESSAGE(took < took_ps,
                            kernel << ": " << with.back() << " takes " << took << " ps, not less than " << took_ps);
        BOOST_CHECK_EQUAL(took, number(row, "took_ps"));
    }
}

} // namespace

// TLMALLOC_RUNS: how many.
BOOST_AUTO_TEST_CASE(every_change_that_names_a_key_makes_the_run_shorter) {
    std::mt19937_64 random(17);
    const std::vector<std::string> kernels = kernel_names();
    const char *const given = std::getenv("TLMALLOC_RUNS");
    const std::size_t runs = given ? std::strtoul(given, nullptr, 10) : 5;
    const std::vector<std::uint64_t> followed = numbers_of_today(0, runs - 1, 2);
    counts all;
    for (std::size_t i = 0; i < runs; i++) {
        const std::string kernel = kernels[random() % kernels.size()];
        const settings keys = random_settings(random);
        if (std::find(followed.begin(), followed.end(), i) != followed.end())
            follow(kernel, keys, i % 4 == 3 ? settings{"--pe", "0"} : settings{}, all);
    }
    // va.page_size goes with mmu.page_size, unless it is written.
    follow("gemm", {"mmu.walk=memory", "mmu.page_size=4 KiB"}, {}, all);
    follow("gemm", {"mmu.walk=memory", "mmu.page_size=4 KiB", "va.page_size=64 KiB"}, {}, all);
    BOOST_TEST_MESSAGE(all.helped << " of " << all.named << " changes that name a key helped, in " << followed.size()
                                  << " runs");
    BOOST_CHECK_GT(all.named, followed.size());
    // A pool in the host delays what it does for the launch: it was advised, and made this run longer.
    const explained_run plain("qkv_gemm", {});
    BOOST_CHECK(!contains(plain.explain().out, "host.pool"));
}

BOOST_AUTO_TEST_CASE(no_key_is_named_where_the_run_cannot_be_repeated) {
    const scratch_directory scratch;
    const std::string hot = scratch.write("hot.c", hot_kernel);
    const explained_run run(hot, {}), plain("softmax", {});
    BOOST_CHECK(contains(run.explain({"--kernel", hot}).out, "hbm.pseudo_channel_bandwidth 32 GB/s -> 64 GB/s, "));
    std::filesystem::remove(hot);
    const command_result gone = run_tlmalloc({"explain", run.file, "--kernel", hot});
    BOOST_CHECK_EQUAL(gone.status, 1);
    BOOST_CHECK_MESSAGE(contains(gone.err, "--kernel: " + hot + ": cannot be read: No such file"), gone.err);
    // A report alone has no file; one that ran something else, or a changed report, is no better.
    std::string changed = read_text(plain.file);
    changed.replace(changed.find("\"vector_rate\": \""), 16, "\"vector_rate\": \"1");
    const std::string false_report = scratch.write("changed.json", changed);
    for (const settings &words :
         {settings{run.file}, {run.file, "--kernel", TLMALLOC_SOURCE_DIR "/platform/kernels/gemm.c"}, {false_report}}) {
        settings all{"explain"};
        all.insert(all.end(), words.begin(), words.end());
        const command_result result = run_tlmalloc(all);
        BOOST_CHECK_EQUAL(result.status, 0);
        BOOST_CHECK_MESSAGE(contains(result.out, "No key is named, because the run could not be repeated"), result.out);
        for (std::size_t k = 0; k < tla_platform_key_count; k++)
            BOOST_CHECK(!contains(result.out, tla_platform_keys[k].key));
    }
}

// Parameters of the kernel, and what --from says, are repeated.
BOOST_AUTO_TEST_CASE(a_run_with_parameters_is_repeated_with_them) {
    const scratch_directory scratch;
    const std::string file = scratch.path("report.json");
    BOOST_REQUIRE_EQUAL(
        run_tlmalloc({"run", npu_small, "--kernel", "softmax", "--parameter", "rows=64", "--json", file}).status, 0);
    BOOST_CHECK(contains(run_tlmalloc({"explain", file}).out, " us instead of "));
}

BOOST_AUTO_TEST_CASE(aged_heaps_are_named_where_memories_take_the_time) {
    const scratch_directory scratch;
    const std::string aged = scratch.path("aged.arena"), file = scratch.path("report.json");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", TLMALLOC_SOURCE_DIR "/configs/traces/lm_train.csv.gz", "--capacity",
                                      "6 GiB", "--events", "peak", "--output", aged})
                            .status,
                        0);
    const std::vector<std::string> gemm{"run",   npu_small,         "--kernel", "gemm",
                                        "--set", "hbm.timing=hbm3", "--json",   file};
    for (const bool is_aged : {false, true}) {
        auto arguments = gemm;
        if (is_aged) arguments.insert(arguments.end(), {"--from", aged});
        BOOST_REQUIRE_EQUAL(run_tlmalloc(arguments).status, 0);
        std::string text = run_tlmalloc({"explain", file, "--pe", "0"}).out;
        for (std::size_t at; (at = text.find("\n  ")) != std::string::npos;)
            text.replace(at, 3, " ");
        BOOST_CHECK_EQUAL(contains(text, "age the trace with --align BURST"), is_aged);
    }
}

// What is said to be gained at most, against runs without it, in all kernels. The page says what comes out.
BOOST_AUTO_TEST_CASE(reruns_without_a_price_gain_nearly_its_share_and_no_more) {
    const auto check = [](const std::string &kernel, const settings &with, const settings &without,
                          const std::vector<std::string> &topics, double least, double most) {
        const auto before = explained_run(kernel, with).shares(), after = explained_run(kernel, without).shares();
        const std::int64_t end = number(before.get(), "end_ps"), gain = end - number(after.get(), "end_ps");
        const double part = static_cast<double>(share(before, topics));
        BOOST_TEST_CONTEXT(kernel << ": gained " << gain << " ps of a share of " << part << " in " << end) {
            BOOST_CHECK_LE(static_cast<double>(gain), most * part);
            BOOST_CHECK_GE(static_cast<double>(gain), least * part);
        }
    };
    const settings flat{"mmu.walk=flat", "mmu.page_size=4 KiB"}, ideal{"mmu.walk=ideal", "mmu.page_size=4 KiB"},
        slow{"pe.gemm_rate=800 GFLOPS", "pe.vector_rate=100 GFLOPS"},
        quick{"pe.gemm_rate=100000 TFLOPS", "pe.vector_rate=100000 TFLOPS"};
    for (const std::string &kernel : some_of_today(kernel_names(), 4)) {
        check(kernel, {"controller.cost.node=1 us"}, {"controller.cost.node=0 ns"}, {"allocation", "allocation_queue"},
              0.94, 1);
        check(kernel, flat, ideal, {"walks", "lookups"}, 0.94, 1);
    }
    for (const char *kernel : {"mlp", "softmax", "layer_norm", "qkv_gemm"})
        check(kernel, slow, quick, {"arithmetic"}, 0.99, 1.001);
}

BOOST_AUTO_TEST_CASE(missing_parts_are_reported_with_file_and_line) {
    const explained_run run("dma_read", {});
    const auto refused = [&](const std::vector<std::string> &more, const std::string &says) {
        const command_result result = run.explain(more);
        BOOST_CHECK_EQUAL(result.status, 2);
        BOOST_CHECK_EQUAL(result.out, "");
        BOOST_CHECK_MESSAGE(contains(result.err, says), result.err);
        if (says[0] == ':') BOOST_CHECK_MESSAGE(contains(result.err, "report.json:"), result.err);
    };
    refused({"--pe", "4"}, ": unknown PE 4, expected 0 to 3\n");
    refused({"--kernel", "gemm"}, ": found kernel 'gemm', expected the kernel of the run, dma_read\n");
    refused({"--pe", "-1"}, "--pe: found '-1', expected a PE number from 0 on");
    refused({"--pe", "one"}, "--pe: found 'one', expected a PE number from 0 on");
    refused({"--pe", "0", "--at", "oom"}, "--kernel and --pe explain a report and exclude all options but --json");
    refused({"--device", "0"}, "the report of a run excludes all options but --kernel, --pe and --json");
    refused({"--kernel", "\x1b[31m"}, ": found kernel '\\x1b[31m'");
    const std::string report = read_text(run.file);
    const std::size_t line = static_cast<std::size_t>(
        std::count(report.begin(), report.begin() + static_cast<std::ptrdiff_t>(report.find("\"kernels\"")), '\n'));
    refused({"--pe", "9"}, "report.json:" + std::to_string(line + 1) + ": unknown PE 9");
}

BOOST_AUTO_TEST_CASE(a_kernel_without_work_is_reported) {
    const scratch_directory scratch;
    const std::string file = scratch.path("report.json");
    BOOST_REQUIRE_EQUAL(
        run_tlmalloc({"run", npu_small, "--kernel", "softmax", "--parameter", "rows=1", "--json", file}).status, 0);
    BOOST_CHECK_EQUAL(run_tlmalloc({"explain", file, "--pe", "3"}).status, 0);
    const command_result idle = run_tlmalloc({"explain", file, "--pe", "0"});
    BOOST_CHECK_EQUAL(idle.status, 2);
    BOOST_CHECK_MESSAGE(contains(idle.err, ": kernels[0]: the kernel on sip0.cube0.pe0 took no time, because its "
                                           "program had no work: name another PE\n"),
                        idle.err);
}

BOOST_AUTO_TEST_CASE(reports_of_other_versions_and_commands_and_edited_reports_are_rejected) {
    const explained_run run("dma_read", {});
    const std::string report = read_text(run.file);
    const auto refused = [&](const std::string &text, const std::string &says) {
        std::ofstream(run.file, std::ios::trunc) << text;
        const command_result result = run.explain();
        BOOST_CHECK_EQUAL(result.status, 2);
        BOOST_CHECK_MESSAGE(contains(result.err, "report.json:") && contains(result.err, says), result.err);
    };
    const auto with = [&](const std::string &from, const std::string &to) {
        std::string text = report;
        const std::size_t at = text.find(from);
        BOOST_REQUIRE(at != std::string::npos);
        return text.replace(at, from.size(), to);
    };
    const std::string version = "\"version\": \"", now = report.substr(report.find(version) + version.size(), 5);
    refused(with(version + now, version + "0.0.9"), "report.json:3: found a report of version 0.0.9, expected " + now);
    refused(with("\"version\"", "\"revision\""), "found no \"version\", expected a report of version " + now);
    refused(with("\"critical_path\"", "\"uncritical_path\""), "critical_path: the path from start to end is missing");
    refused(with("\"kind\": \"host_copy\"", "\"kind\": \"coffee\""), "found a time of kind \"coffee\" (went[");
    const std::size_t path = report.find("\"critical_path\""), ps = report.find("\"ps\": ", path);
    refused(report.substr(0, ps + 6) + "1" + report.substr(ps + 6), "the report was edited: run again");
    refused(report.substr(0, ps + 6) + "-" + report.substr(ps + 6), "\"ps\" is missing");
    const scratch_directory scratch;
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"probe", npu_small, "--case", "local", "--json", scratch.path("p")}).status, 0);
    refused(read_text(scratch.path("p")), ":1: found a report of another command, expected one of `tlmalloc run");
    refused("{\"trace\": \"x\", \"allocs\": 3}", ":1: found a report of another command");
}

BOOST_AUTO_TEST_CASE(a_truncated_report_is_rejected_at_every_length) {
    const explained_run run("dma_read", {});
    const std::string report = read_text(run.file);
    for (std::size_t i = 0; i < 60; i++) {
        const std::size_t length = i < 20 ? i * 3 : report.size() * (i - 20) / 40 + 60;
        if (length + 2 >= report.size()) continue;
        std::ofstream(run.file, std::ios::trunc) << report.substr(0, length);
        const command_result result = run.explain();
        BOOST_CHECK_EQUAL(result.status, 2);
        BOOST_CHECK_EQUAL(result.out, "");
        BOOST_CHECK_MESSAGE(contains(result.err, "report.json"), length << ": " << result.err);
        if (length > 10) BOOST_CHECK_MESSAGE(contains(result.err, "expected a complete report"), result.err);
    }
}

// Whoever has sorted the keys, or put all on one line, has changed nothing.
BOOST_AUTO_TEST_CASE(a_report_may_be_laid_out_otherwise) {
    const explained_run run("dma_read", {});
    const std::string before = run.explain().out;
    json_t *const json = json_load_file(run.file.c_str(), 0, nullptr);
    BOOST_REQUIRE_EQUAL(json_dump_file(json, run.file.c_str(), JSON_SORT_KEYS | JSON_COMPACT), 0);
    json_decref(json);
    BOOST_CHECK_EQUAL(run.explain().out, before);
}

BOOST_AUTO_TEST_CASE(a_run_whose_kernels_did_not_start_is_rejected) {
    const scratch_directory scratch;
    const std::string file = scratch.path("report.json");
    const command_result failed =
        run_tlmalloc({"run", npu_small, "--kernel", "gemm", "--json", file, "--set", "hbm.capacity_per_cube=64 KiB"});
    BOOST_REQUIRE_EQUAL(failed.status, 1);
    const command_result path = run_tlmalloc({"explain", file}), pe = run_tlmalloc({"explain", file, "--pe", "0"});
    BOOST_CHECK(path.status == 2 && pe.status == 2);
    BOOST_CHECK_MESSAGE(contains(path.err, "critical_path: the path from start to end is missing"), path.err);
    BOOST_CHECK_MESSAGE(contains(pe.err, "kernels: the account of the time"), pe.err);
}
