// tlmalloc serve: the goldens of ../shared/reference/serving.md, the measured run, files, and bad input.
#include "platform/command_line.hpp"
#include "sanitized.hpp"
#include "shared_data.hpp"

#include <cmath>
#include <fstream>
#include <jansson.h>
#include <map>
#include <numeric>
#include <sstream>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/serving/";
const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string measured = shared_data + "data/serving/vllm_rtx4090_llama31_8b/";

struct golden {
    std::vector<std::string> set;
    std::uint64_t steps, preemptions, hit_tokens, recomputed_tokens, end_ns;
};

std::vector<std::string> serving(const std::string &requests, const std::string &settings, const std::string &law,
                                 const std::vector<std::string> &more = {}) {
    std::vector<std::string> words = {"serve", requests, "--settings", settings, "--step-time", law};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

json_t *report_of(const std::vector<std::string> &words) {
    const command_result run = run_tlmalloc(words);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    json_t *json = json_loads(run.out.c_str(), 0, nullptr);
    BOOST_REQUIRE(json);
    return json;
}

std::uint64_t count_of(const json_t *json, const char *key) {
    return static_cast<std::uint64_t>(json_integer_value(json_object_get(json, key)));
}

double mean_s(const json_t *json, const char *key) {
    return json_real_value(json_object_get(json_object_get(json_object_get(json, key), "mean_s"), "total"));
}

void check_goldens(const std::string &requests, const std::string &settings, const std::string &law,
                   const std::vector<golden> &goldens, std::uint64_t tokens) {
    for (const golden &g : goldens) {
        std::vector<std::string> more = {"--json", "-"};
        for (const std::string &set : g.set)
            more.insert(more.end(), {"--set", set});
        json_t *json = report_of(serving(requests, settings, law, more));
        BOOST_TEST_CONTEXT((g.set.empty() ? "as configured" : g.set[0])) {
            BOOST_CHECK_EQUAL(count_of(json, "steps"), g.steps);
            BOOST_CHECK_EQUAL(count_of(json, "preemptions"), g.preemptions);
            BOOST_CHECK_EQUAL(count_of(json, "hit_tokens"), g.hit_tokens);
            BOOST_CHECK_EQUAL(count_of(json, "recomputed_tokens"), g.recomputed_tokens);
            BOOST_CHECK_EQUAL(count_of(json, "end_ns"), g.end_ns);
            BOOST_CHECK_EQUAL(count_of(json, "completed"), count_of(json, "requests"));
            BOOST_CHECK_EQUAL(count_of(json, "generated_tokens"), tokens);
            BOOST_CHECK_EQUAL(json_real_value(json_object_get(json_object_get(json, "kv"), "peak_use")), 1.0);
        }
        json_decref(json);
    }
}

// Rows of numbers by the names of their columns.
using rows = std::vector<std::map<std::string, double>>;

rows read_rows(const std::string &path) {
    std::istringstream in(read_text(path));
    std::string line, cell;
    std::vector<std::string> names;
    std::getline(in, line);
    for (std::istringstream header(line); std::getline(header, cell, ',');)
        names.push_back(cell);
    rows read;
    while (std::getline(in, line)) {
        std::istringstream cells(line);
        std::map<std::string, double> row;
        for (const std::string &name : names) {
            BOOST_REQUIRE(std::getline(cells, cell, ','));
            row[name] = std::stod(cell);
        }
        read.push_back(row);
    }
    return read;
}

double mean(const std::vector<double> &values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

double use_pct(const std::map<std::string, double> &step) {
    return 100 * step.at("used_blocks") / step.at("usable_blocks");
}

// Exit status 2, and the message on one line; nothing on standard output, no file.
void check_refused(const std::vector<std::string> &words, const std::string &message, int status = 2) {
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_EQUAL(run.status, status);
    BOOST_CHECK_EQUAL(run.out, "");
    BOOST_CHECK_MESSAGE(contains(run.err, message), "found " << run.err << "expected " << message);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_public_run_gives_its_goldens_to_the_digit) { // section 2
    if (!shared_data_is_here("data/serving")) return;
    check_goldens(measured + "requests.jsonl", measured + "settings.json", "fixed 10 ms + 100 us/token",
                  {{{}, 6137, 199, 4864, 106945, 116620700000},
                   {{"async_scheduling=false"}, 6135, 199, 4848, 110844, 117119800000},
                   {{"prefix_caching=false"}, 6174, 193, 0, 180960, 125046500000},
                   {{"reserve_full_prompt=false"}, 6135, 230, 4864, 150087, 117521400000},
                   {{"gpu_blocks=1300"}, 12211, 219, 2176, 114375, 178541400000}},
                  195753);
}

// Ours; scheduler_test has those of the fixed law from the naive scheduler.
BOOST_AUTO_TEST_CASE(the_small_trace_gives_its_goldens_to_the_digit) {
    check_goldens(configs + "small_requests.jsonl", configs + "small.yaml", "fixed 2 ms + 20 us/token",
                  {{{}, 684, 24, 4208, 1506, 1688920000},
                   {{"async_scheduling=false"}, 677, 21, 4208, 1381, 1673240000},
                   {{"prefix_caching=false"}, 790, 11, 0, 2842, 2008180000},
                   {{"reserve_full_prompt=false"}, 683, 37, 4336, 4450, 1692340000},
                   {{"gpu_blocks=80"}, 1069, 24, 3648, 1092, 2460320000},
                   {{"kv_rules=lmcache"}, 686, 24, 4096, 3705, 1739900000}},
                  4199);
    check_goldens(configs + "small_requests.jsonl", configs + "small.yaml", "profile " + configs + "profile_small",
                  {{{}, 676, 27, 4224, 1429, 2376082414}}, 4199);
}

BOOST_AUTO_TEST_CASE(the_measured_run_is_met_within_its_bounds) { // section 4; nothing is fitted
    if (!shared_data_is_here("data/serving")) return;
    const scratch_directory scratch;
    json_t *json = report_of(
        serving(measured + "requests.jsonl", measured + "settings.json", "profile " + measured + "profile",
                {"--json", "-", "--steps", scratch.path("steps.csv"), "--requests", scratch.path("requests.csv")}));
    const rows steps = read_rows(scratch.path("steps.csv")), seconds = read_rows(measured + "measured_seconds.csv");
    const double shift_s = 0.125; // seconds_shift_s of the settings
    std::vector<double> equal_work, kv, running, waiting;
    double generated = 0, wanted = 0;
    std::size_t at = 0, done = 0; // the steps up to these, of equal work and of the clock
    for (const auto &second : seconds) {
        wanted += second.at("generated_tokens");
        while (at < steps.size() && generated + steps[at].at("generated_tokens") <= wanted)
            generated += steps[at++].at("generated_tokens");
        BOOST_REQUIRE(at > 0);
        if (second.at("until_s") >= 5)
            equal_work.push_back(std::abs(use_pct(steps[at - 1]) - second.at("kv_cache_pct")));
        while (done < steps.size() && steps[done].at("end_s") < second.at("until_s") - shift_s)
            done++;
        const auto &last = steps[done ? done - 1 : 0];
        kv.push_back(std::abs(use_pct(last) - second.at("kv_cache_pct")));
        running.push_back(std::abs(last.at("running") - second.at("running")));
        waiting.push_back(std::abs(last.at("waiting") - second.at("waiting")));
    }
    const rows served = read_rows(scratch.path("requests.csv")), real = read_rows(measured + "measured_requests.csv");
    BOOST_REQUIRE_EQUAL(served.size(), real.size());
    std::vector<double> ttft, real_ttft, error;
    for (std::size_t i = 0; i < served.size(); i++) {
        ttft.push_back(served[i].at("first_token_s") - served[i].at("queued_s"));
        real_ttft.push_back(real[i].at("first_token_s") - real[i].at("queued_s"));
        error.push_back(std::abs(ttft[i] - real_ttft[i]));
    }
    BOOST_TEST_MESSAGE("equal work: median " << median(equal_work) << ", mean " << mean(equal_work) << "; clock: KV "
                                             << mean(kv) << ", running " << mean(running) << ", waiting "
                                             << mean(waiting) << "; TTFT " << mean(ttft) << " s, median error "
                                             << median(error) << " s");
    BOOST_CHECK_EQUAL(generated, 195753);
    BOOST_CHECK_LE(median(equal_work), 0.5);
    BOOST_CHECK_LE(mean(equal_work), 1.5);
    BOOST_CHECK_LE(mean(kv), 2.5);
    BOOST_CHECK_LE(mean(running), 1.5);
    BOOST_CHECK_LE(mean(waiting), 2.5);
    BOOST_CHECK_CLOSE(mean(ttft), mean(real_ttft), 2.0);
    BOOST_CHECK_LE(median(error), 1.0);
    // What the README of the data says of the run.
    BOOST_CHECK_CLOSE(mean_s(json, "ttft"), 65.4566, 2.0);
    BOOST_CHECK_CLOSE(mean_s(json, "tpot"), 32.4e-3, 1.5);
    BOOST_CHECK_CLOSE(mean_s(json, "latency"), 86.608, 2.0);
    BOOST_CHECK_CLOSE(mean_s(json, "ttft"), mean(ttft), 1e-6);
    // What went into a time adds up to it.
    for (const char *key : {"ttft", "tpot", "latency"})
        for (const char *which : {"mean_s", "p50_s", "p99_s"}) {
            const json_t *parts = json_object_get(json_object_get(json, key), which);
            double sum = 0;
            for (const char *part : {"queue", "allocation", "mapping", "transfer", "compute"})
                sum += json_real_value(json_object_get(parts, part));
            BOOST_CHECK_CLOSE(sum, json_real_value(json_object_get(parts, "total")), 1e-6);
        }
    json_decref(json);
}

BOOST_AUTO_TEST_CASE(the_same_inputs_give_the_same_tables_and_seconds_are) {
    const scratch_directory scratch;
    std::vector<std::string> texts;
    for (const char *name : {"a", "b"}) {
        const std::string steps = scratch.path(std::string(name) + ".steps"),
                          requests = scratch.path(std::string(name) + ".requests");
        BOOST_REQUIRE_EQUAL(
            run_tlmalloc(serving(configs + "small_requests.jsonl", configs + "small.yaml", "fixed 2 ms + 20 us/token",
                                 {"--steps", steps, "--requests", requests}))
                .status,
            0);
        texts.push_back(read_text(steps) + read_text(requests));
    }
    BOOST_CHECK(texts[0] == texts[1]);
    BOOST_CHECK(contains(texts[0], "end_s,prompt_tokens,generated_tokens,running,waiting,used_blocks,usable_blocks\n"
                                   "0.007120000,0,0,1,0,22,119\n0.010860000,343,1,2,0,38,119\n"));
    BOOST_CHECK(contains(texts[0], "\n1.688920000,0,1,0,0,0,119\n"));
    BOOST_CHECK(contains(texts[0], "id,queued_s,scheduled_s,first_token_s,last_token_s\n0,0.000000000,0.000000000,"
                                   "0.010860000,0.119120000\n"));
}

// One request of 5 usable blocks: a grid of 300 rows has 50 for each of its blocks 0 to 5.
BOOST_AUTO_TEST_CASE(a_map_shows_which_blocks_were_used_when) {
    const scratch_directory scratch;
    const std::string settings = scratch.write("s.yaml", "gpu_blocks: 6\nblock_tokens: 4\n"),
                      map = scratch.path("m.svg");
    const std::string requests = scratch.write("r.csv", "input,output\n8,5\n8,5\n");
    const auto draw = [&](const std::string &law) {
        const command_result run =
            run_tlmalloc(serving(requests, settings, law, {"--set", "async_scheduling=false", "--map", map}));
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        return read_text(map);
    };
    const std::string drawn = draw("fixed 1 ms");
    BOOST_CHECK_MESSAGE(contains(drawn, ">r.csv</text>") && contains(drawn, ">block</text>") &&
                            contains(drawn, ">time since the first arrival</text>") && contains(drawn, ">preempted<"),
                        drawn);
    BOOST_CHECK(contains(drawn, ">5</text>") && contains(drawn, ">9 ms</text>"));
    // The placeholder is never used, blocks 1 and 2 until 5 of 9 ms by the first request, and by the second from then
    // on.
    BOOST_CHECK(!contains(drawn, "M0 49h"));
    BOOST_CHECK(contains(drawn, "M0 50h"));
    BOOST_CHECK_EQUAL(drawn, draw("fixed 1 ms"));
}

BOOST_AUTO_TEST_CASE(the_picture_in_the_page_is_that_of_its_command) {
    const scratch_directory scratch;
    const std::string map = scratch.path("m.svg");
    const command_result run = run_tlmalloc(
        serving(configs + "small_requests.jsonl", configs + "small.yaml", "fixed 2 ms + 20 us/token", {"--map", map}));
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK(read_text(map) == read_text(TLMALLOC_SOURCE_DIR "/waveforms/serving_blocks.svg"));
}

BOOST_AUTO_TEST_CASE(blocks_on_a_platform_are_those_without_one_and_a_dear_allocator_lengthens_the_steps) {
    const scratch_directory scratch;
    const std::string requests = configs + "small_requests.jsonl", settings = configs + "small.yaml";
    // One request at a time, so that nothing that is decided depends on when a step ends.
    const auto serve = [&](const std::string &law, const char *report) {
        json_t *json = report_of(serving(requests, settings, law, {"--set", "max_num_seqs=1", "--json", "-"}));
        std::map<std::string, std::uint64_t> made;
        for (const char *key : {"completed", "steps", "preemptions", "hit_tokens", "recomputed_tokens", "end_ns"})
            made[key] = count_of(json, key);
        const json_t *mean = json_object_get(json_object_get(json, report), "mean_s");
        made["allocation"] = static_cast<std::uint64_t>(1e9 * json_real_value(json_object_get(mean, "allocation")));
        made["mapping"] = static_cast<std::uint64_t>(1e9 * json_real_value(json_object_get(mean, "mapping")));
        json_decref(json);
        return made;
    };
    std::string text = read_text(npu_small);
    const std::string before = "  hbm_policy: first_fit\n";
    text.insert(text.find(before) + before.size(), "  cost:\n    alloc: 100 us\n");
    const std::string dear = scratch.write("dear.yaml", text);
    auto alone = serve("fixed 1 ms", "latency"), with = serve("platform " + npu_small + " + fixed 1 ms", "latency");
    BOOST_CHECK(with == serve("platform " + npu_small + " + fixed 1 ms", "latency"));
    for (const char *key : {"completed", "steps", "preemptions", "hit_tokens", "recomputed_tokens"})
        BOOST_CHECK_EQUAL(alone[key], with[key]);
    BOOST_CHECK_EQUAL(alone["allocation"] + alone["mapping"], 0u);
    BOOST_CHECK_GT(with["allocation"], 0u);
    BOOST_CHECK_GT(with["mapping"], 0u);
    BOOST_CHECK_GT(with["end_ns"], alone["end_ns"]);
    auto slow = serve("platform " + dear + " + fixed 1 ms", "latency");
    BOOST_CHECK_EQUAL(slow["hit_tokens"], with["hit_tokens"]);
    BOOST_CHECK_GT(slow["allocation"], 10 * with["allocation"]);
    BOOST_CHECK_GT(slow["end_ns"], with["end_ns"] + 10'000'000);
}

// With nothing else in a step, its time is that of the commands.
BOOST_AUTO_TEST_CASE(a_platform_alone_takes_the_time_of_its_commands) {
    const auto parts = [](const std::string &law) {
        json_t *json = report_of(serving(configs + "small_requests.jsonl", configs + "small.yaml", law,
                                         {"--set", "max_num_seqs=1", "--json", "-"}));
        const json_t *mean = json_object_get(json_object_get(json, "latency"), "mean_s");
        std::map<std::string, double> found;
        for (const char *part : {"allocation", "mapping", "compute"})
            found[part] = json_real_value(json_object_get(mean, part));
        json_decref(json);
        return found;
    };
    auto alone = parts("platform " + npu_small), with = parts("platform " + npu_small + " + fixed 1 ms");
    BOOST_CHECK_GT(alone["allocation"], 0);
    BOOST_CHECK_EQUAL(alone["allocation"], with["allocation"]);
    BOOST_CHECK_EQUAL(alone["mapping"], with["mapping"]);
    BOOST_CHECK_EQUAL(alone["compute"], 0);
    BOOST_CHECK_GT(with["compute"], 0);
}

// 65 tokens and two more of 4 KiB of keys and values a layer: on four PEs blocks 1 to 5, of which PE 1 has the first
// and the last. Its DMA reads a whole block of 64 KiB and what the last one has, in chunks of 256 B, one a nanosecond.
// The first comes after 4 ns (`tlmalloc topology`: of router and links); the last is 8 ns in the slice, and takes 2 ns
// back, 0.5 in the MMU and 0.5 into the TCM. So 16 KiB from the PE's own slice take 78 ns, KernBench's 77 beside the
// last two.
BOOST_AUTO_TEST_CASE(attention_by_dma_takes_what_its_blocks_take_times_the_layers) {
    const scratch_directory scratch;
    const std::string requests = scratch.write("r.csv", "input,output\n65,3\n"), settings = configs + "small.yaml",
                      law = "platform " + npu_small + " + fixed 1 ms";
    const std::uint64_t bytes = (65 + 66 + 67) * 4096;
    std::uint64_t layer_ns = 0;
    for (const std::uint64_t tokens : {1u, 2u, 3u})
        layer_ns += (65536 + tokens * 4096) / 256 + (4 - 1) + 8 + 2 + 1;
    json_t *json = report_of(serving(requests, settings, law, {"--set", "attention=dma", "--json", "-"}));
    const json_t *attention = json_object_get(json_object_get(json, "kv"), "attention");
    const json_t *latency = json_object_get(json_object_get(json, "latency"), "mean_s");
    BOOST_CHECK_EQUAL(count_of(attention, "bytes"), bytes);
    BOOST_CHECK_EQUAL(count_of(attention, "lookups"), bytes / 256);
    BOOST_CHECK_EQUAL(count_of(attention, "layer_ps"), 1000 * layer_ns);
    BOOST_CHECK_CLOSE(1e9 * json_real_value(json_object_get(latency, "transfer")), 32 * static_cast<double>(layer_ns),
                      1e-6);
    BOOST_CHECK_CLOSE(1e3 * json_real_value(json_object_get(latency, "compute")), 3.0, 1e-6);
    json_decref(json);

    // On a profile it stands in the place of the layer that is called attention.
    const auto compute_s = [&](const std::vector<std::string> &more) {
        std::vector<std::string> words = {"--json", "-"};
        words.insert(words.end(), more.begin(), more.end());
        json_t *served = report_of(
            serving(requests, settings, "platform " + npu_small + " + profile " + configs + "profile_small", words));
        const json_t *mean = json_object_get(json_object_get(served, "latency"), "mean_s");
        const double seconds = json_real_value(json_object_get(mean, "compute"));
        json_decref(served);
        return seconds;
    };
    const double without = compute_s({"--set", "layer_sequence=layernorm qkv_proj o_proj layernorm mlp"});
    BOOST_CHECK_EQUAL(compute_s({"--set", "attention=dma"}), without);
    BOOST_CHECK_GT(compute_s({}), without);
}

BOOST_AUTO_TEST_CASE(attention_by_dma_pays_for_walks_and_meets_errors_of_the_memory) {
    const scratch_directory scratch;
    const std::string requests = scratch.write("r.csv", "input,output\n200,4\n200,4\n200,4\n"),
                      settings = configs + "small.yaml";
    const auto platform = [&](const std::string &name, const std::string &page, const std::string &more) {
        std::string text = read_text(npu_small);
        const std::string pages = "  page_size: 2 MiB";
        text.replace(text.find(pages), pages.size(), "  page_size: " + page + "\n  walk: flat");
        return "platform " + scratch.write(name, text + more) + " + fixed 1 ms";
    };
    const auto of = [&](const std::string &law, const char *key) {
        json_t *json = report_of(serving(requests, settings, law, {"--set", "attention=dma", "--json", "-"}));
        const std::uint64_t value = count_of(json_object_get(json_object_get(json, "kv"), "attention"), key);
        json_decref(json);
        return value;
    };
    const std::string small = platform("small.yaml", "4 KiB", ""), large = platform("large.yaml", "2 MiB", "");
    BOOST_CHECK_EQUAL(of(small, "bytes"), of(large, "bytes"));
    BOOST_CHECK_GT(of(large, "tlb_misses"), 0u);
    BOOST_CHECK_GT(of(small, "tlb_misses"), 4 * of(large, "tlb_misses"));
    BOOST_CHECK_GT(of(small, "layer_ps"), of(large, "layer_ps"));
    const std::string spaces = "  asids: 4\n", asid = "workload:\n";
    std::string text = read_text(npu_small);
    text.insert(text.find("mmu:\n") + 5, spaces);
    text.insert(text.find(asid) + asid.size(), "  asid: 2\n");
    BOOST_CHECK_EQUAL(of("platform " + scratch.write("asid.yaml", text) + " + fixed 1 ms", "bytes"),
                      of(large, "bytes"));
    check_refused(serving(requests, settings,
                          platform("broken.yaml", "2 MiB", "faults:\n  plan: \"uncorrectable pe=1 address=0x5000\"\n"),
                          {"--set", "attention=dma"}),
                  "attention's read of block 1 by the DMA of PE 1: ", 1);
}

// Entries of a page's walks stand at the beginnings of their tables, and tables at pages: all are in one channel, which
// a step waits for unless walks to a page join and skip the levels above.
BOOST_AUTO_TEST_CASE(attention_by_dma_waits_for_the_channel_of_its_tables_unless_walks_join_and_skip_levels) {
    const scratch_directory scratch;
    const std::string requests = scratch.write("r.csv", "input,output\n400,1\n400,1\n"),
                      settings = configs + "small.yaml";
    const auto layer_ns = [&](const std::string &page, const std::string &walkers) {
        std::string text = read_text(npu_small);
        const std::string pages = "  page_size: 2 MiB";
        text.replace(text.find(pages), pages.size(), "  page_size: " + page + "\n  walk: memory\n" + walkers);
        const std::string law = "platform " + scratch.write("npu.yaml", text) + " + fixed 1 ms";
        json_t *json = report_of(serving(requests, settings, law, {"--set", "attention=dma", "--json", "-"}));
        const json_t *attention = json_object_get(json_object_get(json, "kv"), "attention");
        const std::uint64_t ns = count_of(attention, "layer_ps") / 1000;
        json_decref(json);
        return ns;
    };
    const std::string better = "  walkers: {merge_slots: 32, cache_entries: 64}\n";
    // 800 tokens of 4 KiB on four PEs are 200 pages and 3,200 chunks of a PE. Nine walks for a page have three entries
    // in channel 0, for 8 ns each.
    const std::uint64_t all_walk = layer_ns("4 KiB", ""), joined = layer_ns("4 KiB", better);
    BOOST_TEST_MESSAGE(all_walk << " ns, " << joined << " ns where walks join");
    BOOST_CHECK_GT(all_walk, 200u * 9 * 3 * 8);
    BOOST_CHECK_LT(joined, all_walk / 5);
    BOOST_CHECK_LT(layer_ns("2 MiB", ""), all_walk / 2);
}

// Where what lived before ends anywhere, blocks do not begin at bursts: every chunk of 256 B has two of them.
BOOST_AUTO_TEST_CASE(attention_by_dma_takes_longer_on_an_aged_heap_unless_blocks_are_aligned) {
    const scratch_directory scratch;
    const std::string requests = scratch.write("r.csv", "input,output\n200,3\n200,3\n"),
                      settings = configs + "small.yaml";
    std::string text = read_text(npu_small);
    const std::string policy = "  hbm_policy: first_fit\n";
    const std::string trace = scratch.write("t.csv",
                                            "time_ns,op,id,bytes\n0,alloc,0,1000\n1,alloc,1,1000\n2,free,0,1000\n"),
                      aged = scratch.path("aged"), aligned = scratch.path("aligned");
    for (const auto &[path, align] : {std::pair{aged, "1"}, std::pair{aligned, "256"}})
        BOOST_REQUIRE_EQUAL(
            run_tlmalloc({"age", trace, "--capacity", "6 GiB", "--align", align, "--output", path}).status, 0);
    text.insert(text.find(policy) + policy.size(), "  alignment: 256 B\n");
    const std::string lined_up = scratch.write("aligned.yaml", text);
    const auto layer_ps = [&](const std::string &config, const std::vector<std::string> &from) {
        std::vector<std::string> words = {"--set", "attention=dma", "--json", "-"};
        words.insert(words.end(), from.begin(), from.end());
        json_t *json = report_of(serving(requests, settings, "platform " + config + " + fixed 1 ms", words));
        const std::uint64_t ps = count_of(json_object_get(json_object_get(json, "kv"), "attention"), "layer_ps");
        json_decref(json);
        return ps;
    };
    const std::uint64_t fresh = layer_ps(npu_small, {}), old = layer_ps(npu_small, {"--from", aged});
    BOOST_CHECK_GT(old, 1.9 * static_cast<double>(fresh));
    BOOST_CHECK_LT(old, 2.1 * static_cast<double>(fresh));
    BOOST_CHECK_EQUAL(layer_ps(lined_up, {"--from", aligned}), fresh);
    check_refused(serving(requests, settings, "fixed 1 ms", {"--from", aged}), "--from needs --step-time");
    check_refused(serving(requests, settings, "platform " + npu_small + " + fixed 1 ms", {"--from", requests}),
                  requests + ": ");
}

BOOST_AUTO_TEST_CASE(bad_input_is_rejected_with_what_was_found_and_expected) {
    const scratch_directory scratch;
    const std::string requests = configs + "small_requests.jsonl", settings = configs + "small.yaml",
                      law = "fixed 1 ms";
    check_refused({"serve"}, "expected a file of REQUESTS");
    check_refused({"serve", requests}, "expected --settings FILE");
    check_refused({"serve", requests, "--settings", settings}, "expected --step-time LAW");
    check_refused({"serve", requests, requests}, "found a second argument");
    check_refused(serving(requests, settings, "fixed 1"), "--step-time: \"fixed 1\": found \"1\", which has no unit");
    check_refused(serving(requests, settings, "quick"), "--step-time: found \"quick\", expected \"fixed TIME");
    check_refused(serving(requests, settings, "platform x"), "x: error: cannot be read", 1);
    for (const char *none : {"platform ", "platform  + fixed 1 ms"})
        check_refused(serving(requests, settings, none),
                      "expected \"platform CONFIG\", \"platform CONFIG + fixed TIME");
    check_refused(serving(requests, settings, "platform " + npu_small + " + quick"),
                  "found \"quick\", expected \"fixed TIME");
    check_refused(serving(requests, settings, "platform " + scratch.path("none.yaml") + " + fixed 1 ms"), "none.yaml",
                  1);
    const std::string on_platform = "platform " + npu_small + " + fixed 1 ms";
    const std::string small = scratch.write("small.yaml", read_text(npu_small));
    check_refused(serving(requests, settings, "platform " + small + " + fixed 1 ms", {"--json", small}), small);
    check_refused(serving(requests, settings, on_platform, {"--set", "kv_heads=0"}), "set layers, kv_heads");
    check_refused(serving(requests, settings, on_platform,
                          {"--set", "layers=1", "--set", "kv_heads=1", "--set", "head_dim=1", "--set", "block_tokens=4",
                           "--set", "gpu_blocks=4000"}),
                  "a block has 16 bytes, expected at least 32");
    check_refused(serving(requests, settings, on_platform, {"--set", "gpu_blocks=12289"}),
                  "gpu_blocks: found 12289 of 2097152 bytes, expected at most 12288, which fit into 4 slices");
    std::string few = read_text(npu_small);
    few.insert(few.find("  hbm_policy: first_fit\n"), "  ports: 5\n");
    check_refused(serving(requests, settings, "platform " + scratch.write("few.yaml", few) + " + fixed 1 ms"),
                  "controller.ports is 5, expected at least 6: port 5 serves the blocks of a platform");
    check_refused(serving(requests, settings, on_platform, {"--set", "attention=dma"}),
                  "small_requests.jsonl: 60 requests, but attention dma takes at most 50");
    check_refused(serving(requests, settings, law, {"--set", "attention=dma"}),
                  "attention dma needs --step-time \"platform CONFIG\" or \"platform CONFIG + LAW\"");
    check_refused(serving(requests, settings, law, {"--set", "attention=flash"}), "expected law or dma");
    check_refused(serving(requests, settings, on_platform, {"--set", "kv_memory=paged"}),
                  "a platform supports only kv_memory blocks");
    check_refused(serving(requests, settings, "profile " + scratch.path("none")), "dense.csv", 1);
    check_refused(serving(requests, settings, law, {"--set", "device=x"}), "unknown key \"device\"");
    check_refused(serving(requests, settings, law, {"--set", "policy=priority"}), "expected fcfs, the only supported");
    check_refused(
        serving(requests, settings, law, {"--set", "block_tokens=24"}),
        "block_tokens: found 24, expected a multiple or a divisor of 16, the tokens of a block of the requests");
    check_refused(serving(requests, settings, law, {"--set", "gpu_blocks=30"}),
                  "small_requests.jsonl:4:1: 460 + 46 tokens need 32 blocks of 16 tokens, more than the 29 usable "
                  "blocks of the cache: raise gpu_blocks, or use --skip-unservable");
    check_refused(serving(requests, settings, law, {"--set", "max_model_len=100"}),
                  "exceed the limit of 100: raise max_model_len, or use --skip-unservable");
    check_refused(serving(requests, settings, "profile " + configs + "profile_small", {"--set", "once=sampler"}),
                  "layer sampler has no row in dense.csv or per_sequence.csv");
    check_refused(serving(requests, scratch.write("s.yaml", "max_num_seqs: 8\n"), law), "gpu_blocks is missing");
    const std::string first = read_text(requests).substr(0, read_text(requests).find('\n') + 1);
    check_refused(serving(scratch.write("cut.jsonl", first + "{\"id\":1,\"arri"), settings, law), "cut.jsonl:2:");
    check_refused(
        serving(scratch.write("zero.jsonl", first + R"({"id":1,"arrival_s":1,"input":3,"output":0,"blocks":[]})"),
                settings, law),
        "zero.jsonl:2:");
    check_refused(serving(scratch.write("back.jsonl", R"({"id":0,"arrival_s":1,"input":3,"output":1,"blocks":[]})"
                                                      "\n"
                                                      R"({"id":1,"arrival_s":0.5,"input":3,"output":1,"blocks":[]})"),
                          settings, law),
                  "back.jsonl:2:");
    // An output that would be an input, and none of the others is left behind.
    check_refused(serving(requests, settings, law, {"--steps", requests}), "--steps");
    const std::string table = scratch.write("attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n");
    check_refused(serving(requests, settings, "profile  " + scratch.path(""), {"--json", table}), "--json: '");
    check_refused(
        serving(scratch.write("none.jsonl", R"({"id":0,"arrival_s":1,"input":15,"output":1})"), settings, law),
        "none.jsonl:1:1: \"blocks\" is missing");
    check_refused(serving(requests, settings, law, {"--set", "gpu_blocks=null"}),
                  "\"gpu_blocks=null\": gpu_blocks: found null, expected a value, as the key has no default");
    check_refused(serving(requests, settings, law, {"--set", "device=null"}), "unknown key \"device\"");
    check_refused(serving(requests, settings, "profile " + configs + "profile_small", {"--set", "layer_sequence=null"}),
                  "layer_sequence");
    check_refused(serving(requests, settings, law, {"--set", "gpu_blocks=30", "--json", scratch.path("out.json")}),
                  "gpu_blocks");
    BOOST_CHECK(!std::filesystem::exists(scratch.path("out.json")));
}

// What the platform's modules report comes out as a text: it is thrown by C++, and the engine is C.
BOOST_AUTO_TEST_CASE(a_platform_fails_with_a_text_if_the_host_lacks_memory) {
    if (is_sanitized()) return; // nothing starts in so little memory
    const command_result run = run_shell(
        "ulimit -v 300000; exec \"$tlmalloc\" serve '" + configs + "small_requests.jsonl' --settings '" + configs +
        "small.yaml' --step-time 'platform " TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml + fixed 1 ms'");
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "tlmalloc serve: --step-time: "), run.err);
    BOOST_CHECK_EQUAL(run.out, "");
}

// Keys that are null are as if they were not written; the file's own 120 blocks and 32 requests are others.
BOOST_AUTO_TEST_CASE(a_key_that_is_set_to_null_has_its_default) {
    const std::string requests = configs + "small_requests.jsonl", settings = configs + "small.yaml";
    const auto run = [&](const std::vector<std::string> &more) {
        std::vector<std::string> words = {"--json", "-"};
        words.insert(words.end(), more.begin(), more.end());
        json_t *json = report_of(serving(requests, settings, "fixed 2 ms + 20 us/token", words));
        const std::uint64_t end = count_of(json, "end_ns");
        json_decref(json);
        return end;
    };
    BOOST_CHECK_EQUAL(run({"--set", "max_num_batched_tokens=null"}), run({"--set", "max_num_batched_tokens=2048"}));
    BOOST_CHECK_NE(run({"--set", "max_num_batched_tokens=null"}), run({}));
    BOOST_CHECK_EQUAL(run({"--set", "kv_rules=null", "--set", "once=null"}), run({}));
}

// Blocks that no request could come to cost nothing, and are free: 10^9 of them serve as 10^6 do.
BOOST_AUTO_TEST_CASE(a_cache_of_a_billion_blocks_serves_as_any_that_is_large_enough) {
    const std::string requests = configs + "small_requests.jsonl", settings = configs + "small.yaml";
    for (const char *rules : {"kv_rules=vllm", "kv_rules=lmcache"}) {
        std::uint64_t ends[2];
        for (int large = 0; large < 2; large++) {
            const std::string blocks = large ? "1000000000" : "3000";
            json_t *json = report_of(serving(
                requests, settings, "fixed 2 ms + 20 us/token",
                {"--json", "-", "--set", "gpu_blocks=" + blocks, "--set", rules, "--set", "host_blocks=" + blocks}));
            const json_t *kv = json_object_get(json, "kv");
            ends[large] = count_of(json, "end_ns");
            BOOST_CHECK_EQUAL(count_of(json, "preemptions"), 0u);
            BOOST_CHECK_EQUAL(std::to_string(count_of(kv, "usable_blocks") + 1), blocks);
            BOOST_CHECK_EQUAL(count_of(kv, "evicted"), 0u);
            BOOST_CHECK_EQUAL(std::to_string(count_of(json_object_get(kv, "host"), "blocks")), blocks);
            json_decref(json);
        }
        BOOST_CHECK_EQUAL(ends[0], ends[1]);
    }
}

// What blocks hold is told apart by any numbers: hashes of 64 bits, too.
BOOST_AUTO_TEST_CASE(blocks_with_numbers_as_large_as_hashes_are_found_again) {
    const scratch_directory scratch;
    const std::string settings = configs + "small.yaml";
    const auto hits = [&](const std::string &first, const std::string &second) {
        const std::string text = R"({"id":0,"arrival_s":0,"input":47,"output":1,"blocks":[)" + first + "]}\n" +
                                 R"({"id":1,"arrival_s":9,"input":47,"output":1,"blocks":[)" + second + "]}\n";
        json_t *json = report_of(serving(scratch.write("r.jsonl", text), settings, "fixed 1 ms", {"--json", "-"}));
        const std::uint64_t found = count_of(json, "hit_tokens");
        json_decref(json);
        return found;
    };
    BOOST_CHECK_EQUAL(hits("1,2,3", "1,2,4"), 32u);
    BOOST_CHECK_EQUAL(hits("18446744073709551615,9223372036854775808,7", "18446744073709551615,9223372036854775808,8"),
                      32u);
    BOOST_CHECK_EQUAL(hits("18446744073709551615,9223372036854775808,7", "18446744073709551615,9223372036854775807,8"),
                      16u);
}

BOOST_AUTO_TEST_CASE(lengths_alone_and_tables_are_served_too) {
    const scratch_directory scratch;
    const std::string settings = configs + "small.yaml";
    json_t *json = report_of(
        serving(scratch.write("l.csv", "input,output\n100,5\n200,1\n"), settings, "fixed 1 ms", {"--json", "-"}));
    BOOST_CHECK_EQUAL(count_of(json, "generated_tokens"), 6u);
    BOOST_CHECK_EQUAL(count_of(json, "steps"), 5u);
    json_decref(json);
    const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"
                              "2023-11-16 18:15:50.9951690,396,109\n";
    json = report_of(serving(scratch.write("a.csv", azure), settings, "fixed 1 ms", {"--json", "-"}));
    BOOST_CHECK_EQUAL(count_of(json, "generated_tokens"), 153u);
    json_decref(json);
}

// Every form of REQUESTS and every manager: the tables are those of the file without the lines that are left out.
BOOST_AUTO_TEST_CASE(requests_that_cannot_be_served_are_left_out_on_request) {
    const scratch_directory scratch;
    const std::string settings = configs + "small.yaml", law = "fixed 1 ms + 10 us/token";
    struct table {
        std::string header;
        std::vector<std::pair<std::string, bool>> lines; // and whether they are served
    };
    const std::vector<table> tables = {
        {"input,output\n", {{"100,0", false}, {"1000,24", true}, {"1000,25", false}, {"0,4", false}, {"7,9", true}}},
        {"TIMESTAMP,ContextTokens,GeneratedTokens\n",
         {{"2024-05-10 00:00:00.009930+00:00,300,0", false},
          {"2024-05-10 00:00:00.017335+00:00,0,6", false},
          {"2024-05-10 00:00:01+00:00,30,6", true},
          {"2024-05-10 00:00:01.5+00:00,2000,6", false},
          {"2024-05-10 00:00:01.5+00:00,20,6", true}}},
        {"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
         {{"5.0,a,3,ChatGPT,472,18,490,Conversation log", true},
          {"5.5,,3,ChatGPT,0,0,0,API log", false},
          {"45.0,a,3,ChatGPT,1087,230,1317,Conversation log", false},
          {"118.25,b,3,GPT-4,417,276,693,Conversation log", true}}},
        {"",
         {{R"({"timestamp": 5, "input_length": 600, "output_length": 0, "hash_ids": [1, 2]})", false},
          {R"({"timestamp": 9, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]})", true},
          {R"({"timestamp": 9, "input_length": 1025, "output_length": 3, "hash_ids": [1, 2, 3]})", false},
          {R"({"timestamp": 60, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]})", true}}},
    };
    for (const table &t : tables)
        for (const char *memory : {"blocks", "maximum", "power_of_two", "oracle", "paged"}) {
            std::string all = t.header, left = t.header;
            std::uint64_t out = 0;
            for (const auto &[line, served] : t.lines) {
                all += line + "\n";
                if (served) left += line + "\n";
                out += !served;
            }
            const std::vector<std::string> set = {"--set", "kv_memory=" + std::string(memory), "--steps"};
            std::vector<std::string> of_all = set, of_left = set;
            of_all.insert(of_all.end(), {scratch.path("all.csv"), "--json", "-", "--skip-unservable"});
            of_left.push_back(scratch.path("left.csv"));
            const std::string path = scratch.write("all", all);
            BOOST_TEST_CONTEXT(memory << ": " << all) {
                json_t *json = report_of(serving(path, settings, law, of_all));
                const json_t *skipped = json_object_get(json, "skipped");
                std::uint64_t sum = 0;
                for (const char *key : {"no_output", "no_prompt", "too_long", "too_large"})
                    sum += count_of(skipped, key);
                BOOST_CHECK_EQUAL(sum, out);
                BOOST_CHECK_EQUAL(count_of(json, "requests"), t.lines.size() - out);
                json_decref(json);
                const command_result plain = run_tlmalloc(serving(scratch.write("left", left), settings, law, of_left));
                BOOST_REQUIRE_MESSAGE(plain.status == 0, plain.err);
                BOOST_CHECK_EQUAL(plain.out.find("left out"), std::string::npos);
                BOOST_CHECK_EQUAL(read_text(scratch.path("all.csv")), read_text(scratch.path("left.csv")));
                check_refused(serving(path, settings, law), "--skip-unservable");
            }
        }
    const std::string burst = tables[2].header + tables[2].lines[1].first + "\n" + tables[2].lines[2].first + "\n";
    check_refused(serving(scratch.write("none.csv", burst), settings, law, {"--skip-unservable"}),
                  "none.csv: no request is left: 1 without output, 0 without prompt, 1 longer than max_model_len, 0 "
                  "larger than the cache");
    const command_result run =
        run_tlmalloc(serving(scratch.write("l.csv", "input,output\n1000,1\n9,2\n"), settings, law,
                             {"--skip-unservable", "--set", "gpu_blocks=40", "--set", "prefix_caching=false"}));
    BOOST_CHECK_NE(run.out.find("left out         1: 0 without output, 0 without prompt, 0 longer than max_model_len, "
                                "1 larger than the cache\n"),
                   std::string::npos);
}
