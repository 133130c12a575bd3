// tlmalloc serve with a second tier in the host's memory of a platform, over the command line: decisions are those
// without the platform, every one is a command or a move, and moves take what the formula says.
#include "platform/command_line.hpp"
#include "unit/seeded_random.hpp"

#include <jansson.h>
#include <map>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/serving/";

std::string platform_in(const scratch_directory &scratch, const std::string &memory) {
    return scratch.write("npu.yaml", read_text(TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml") +
                                         "\nhost_memory: {capacity: " + memory + "}\n");
}

struct report {
    report(const std::string &requests, const std::string &law, const std::vector<std::string> &set) {
        std::vector<std::string> words = {"serve",       requests, "--settings", configs + "small.yaml",
                                          "--step-time", law,      "--json",     "-"};
        for (const std::string &key : set)
            words.insert(words.end(), {"--set", key});
        const command_result run = run_tlmalloc(words);
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        json = json_loads(run.out.c_str(), 0, nullptr);
        BOOST_REQUIRE(json);
    }
    report(const report &) = delete;
    report &operator=(const report &) = delete;
    ~report() { json_decref(json); }

    const json_t *at(std::initializer_list<const char *> keys) const {
        const json_t *where = json;
        for (const char *key : keys)
            where = json_object_get(where, key);
        return where;
    }
    std::uint64_t number(std::initializer_list<const char *> keys) const {
        BOOST_REQUIRE(json_is_integer(at(keys)));
        return static_cast<std::uint64_t>(json_integer_value(at(keys)));
    }
    std::uint64_t platform(const char *key) const { return number({"kv", "platform", key}); }
    std::uint64_t host(const char *key) const { return number({"kv", "host", key}); }
    double transfer_s() const { return json_real_value(at({"latency", "mean_s", "transfer"})); }

    json_t *json;
};

// What the platform did is what the engine decided; all is given back at the end.
void check_counts(const report &r) {
    BOOST_CHECK_EQUAL(r.platform("alloc"), r.number({"kv", "taken"}));
    BOOST_CHECK_EQUAL(r.platform("map"), r.platform("alloc"));
    BOOST_CHECK_EQUAL(r.platform("unmap"), r.platform("alloc"));
    BOOST_CHECK_EQUAL(r.platform("free"), r.platform("alloc") + r.platform("ref"));
    BOOST_CHECK_GE(r.platform("ref"), r.number({"kv", "revived"}) + r.number({"kv", "shared"}));
    for (const char *key : {"host_alloc", "host_free", "moved_out"})
        BOOST_CHECK_EQUAL(r.platform(key), r.host("moved_out"));
    for (const char *key : {"host_pin", "host_unpin", "moved_in"})
        BOOST_CHECK_EQUAL(r.platform(key), r.host("moved_in"));
    BOOST_CHECK_EQUAL(r.platform("bytes_out"), r.host("bytes_out"));
    BOOST_CHECK_EQUAL(r.platform("bytes_in"), r.host("bytes_in"));
}

void check_decisions(const report &with, const report &without) {
    for (const char *key : {"completed", "steps", "preemptions", "hit_tokens", "recomputed_tokens", "generated_tokens"})
        BOOST_CHECK_EQUAL(with.number({key}), without.number({key}));
    for (const char *key : {"stored", "hit_tokens", "moved_out", "moved_in", "kept", "lost", "evicted"})
        BOOST_CHECK_EQUAL(with.host(key), without.host(key));
}

} // namespace

// Prompts of blocks that others have, too; all arrive at once, so that nothing depends on when a step ends.
BOOST_AUTO_TEST_CASE(random_traces_are_served_as_without_a_platform_and_every_decision_is_a_command) {
    const scratch_directory scratch;
    const std::string law = "fixed 1 ms", platform = "platform " + platform_in(scratch, "1 GiB") + " + " + law;
    seeded_random random(1);
    std::uint64_t moved_out = 0, moved_in = 0;
    for (int round = 0; round < 60; round++) {
        const std::uint64_t families = random.between(1, 4), depth = random.between(2, 20);
        std::string requests;
        for (std::uint64_t i = 0, count = random.between(5, 30); i < count; i++) {
            const std::uint64_t family = random.between(1, families), blocks = random.between(1, depth);
            std::string ids;
            for (std::uint64_t k = 0; k < blocks; k++)
                ids += (k ? ", " : "") + std::to_string(family * 1000 + (k > depth / 2 ? 100 * i : 0) + k);
            requests += "{\"timestamp\": 0, \"input_length\": " + std::to_string(512 * blocks) +
                        ", \"output_length\": " + std::to_string(random.between(1, 700)) + ", \"hash_ids\": [" + ids +
                        "]}\n";
        }
        const std::string trace = scratch.write("requests.jsonl", requests);
        const std::vector<std::string> set = {"block_tokens=512",
                                              "layers=1",
                                              "kv_heads=1",
                                              "head_dim=" + std::to_string(random.between(2, 6)),
                                              "max_model_len=20000",
                                              "max_num_batched_tokens=4096",
                                              "gpu_blocks=" + std::to_string(random.between(25, 60)),
                                              "host_blocks=" + std::to_string(random.between(1, 60)),
                                              "host_chunk_budget=" + std::to_string(random.between(0, 8)),
                                              "max_num_seqs=" + std::to_string(random.between(1, 8)),
                                              std::string("kv_rules=") + (random.one_in(2) ? "vllm" : "lmcache"),
                                              std::string("async_scheduling=") + (random.one_in(2) ? "true" : "false"),
                                              std::string("reserve_full_prompt=") +
                                                  (random.one_in(2) ? "true" : "false")};
        const report with(trace, platform, set), without(trace, law, set);
        check_decisions(with, without);
        check_counts(with);
        moved_out += with.host("moved_out");
        moved_in += with.host("moved_in");
    }
    BOOST_CHECK_GT(moved_out, 100u);
    BOOST_CHECK_GT(moved_in, 20u);
    BOOST_TEST_MESSAGE(moved_out << " blocks out, " << moved_in << " in");
}

// Nobody else uses the link, so that moves take their bytes by its bandwidth and at most the formula's 0.9 us besides,
// which were measured of a kernel that copies (platform/examples/swap_to_host).
BOOST_AUTO_TEST_CASE(moves_take_no_longer_than_the_formula_says_and_no_less_than_the_link) {
    const scratch_directory scratch;
    const std::string trace = configs + "small_requests.jsonl", law = "fixed 2 ms + 20 us/token";
    const std::vector<std::string> set = {"host_blocks=200", "layers=1"};
    const report with(trace, "platform " + platform_in(scratch, "16 MiB") + " + " + law, set), without(trace, law, set);
    check_decisions(with, without);
    check_counts(with);
    const std::uint64_t bytes = with.platform("bytes_out") + with.platform("bytes_in");
    BOOST_CHECK_EQUAL(bytes, (with.host("moved_out") + with.host("moved_in")) * 65536);
    BOOST_CHECK_GT(with.platform("moving_ps"), bytes * 1000 / 64);
    BOOST_CHECK_LT(with.transfer_s(), without.transfer_s());
    BOOST_CHECK_GT(with.transfer_s(), 0.85 * without.transfer_s());
}

// Moves read all bytes of a block, so that all of them have been written.
BOOST_AUTO_TEST_CASE(a_guard_meets_no_byte_that_was_never_written) {
    const scratch_directory scratch;
    std::string text = read_text(TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml");
    text.insert(text.find("  hbm_policy"), "  guard: error\n");
    const std::string platform = scratch.write("npu.yaml", text + "\nhost_memory: {capacity: 16 MiB}\n");
    for (const char *pattern : {"kv_pattern=ends", "kv_pattern=all"}) {
        const report with(configs + "small_requests.jsonl", "platform " + platform + " + fixed 2 ms + 20 us/token",
                          {"host_blocks=200", "layers=1", "kv_heads=1", pattern});
        check_counts(with);
        BOOST_CHECK_GT(with.host("moved_in"), 0u);
    }
}

// What attention translates is its own, and not what moves do.
BOOST_AUTO_TEST_CASE(attention_reads_what_came_back_from_the_hosts_memory) {
    const scratch_directory scratch;
    std::string requests, line;
    std::istringstream all(read_text(configs + "small_requests.jsonl"));
    for (int i = 0; i < 12 && std::getline(all, line); i++)
        requests += line + "\n";
    const std::string law = "platform " + platform_in(scratch, "16 MiB") + " + fixed 1 ms";
    const report with(scratch.write("twelve.jsonl", requests), law,
                      {"host_blocks=200", "gpu_blocks=60", "layers=2", "kv_heads=1", "head_dim=128", "attention=dma"});
    check_counts(with);
    BOOST_CHECK_GT(with.host("moved_in"), 0u);
    BOOST_CHECK_EQUAL(with.number({"kv", "attention", "lookups"}), with.number({"kv", "attention", "bytes"}) / 256);
}

// Rows of `tlmalloc reproduce serving_platform`, which share one simulation, and one of them by the command of the
// page.
BOOST_AUTO_TEST_CASE(the_page_has_what_an_allocators_price_does_on_a_platform) {
    const scratch_directory scratch;
    const std::string page = read_text(TLMALLOC_SOURCE_DIR "/platform/serving/README.md");
    const command_result run =
        run_tlmalloc({"reproduce", TLMALLOC_SOURCE_DIR "/configs/experiments/serving_platform.yaml", "--json",
                      scratch.path("r.json")});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    json_t *made = json_load_file(scratch.path("r.json").c_str(), 0, nullptr), *row;
    BOOST_REQUIRE(made);
    std::vector<std::string> labels;
    std::map<std::string, std::map<std::string, double>> of;
    std::size_t i;
    json_array_foreach(json_object_get(json_array_get(json_object_get(made, "experiments"), 0), "rows"), i, row) {
        const std::string label = json_string_value(json_object_get(row, "label"));
        if (!of.count(label)) labels.push_back(label);
        of[label][json_string_value(json_object_get(row, "figure"))] = json_number_value(json_object_get(row, "model"));
    }
    json_decref(made);
    BOOST_CHECK_EQUAL(labels.size(), 8u);
    for (const std::string &label : labels) {
        auto &f = of[label];
        char line[200];
        std::snprintf(line, sizeof line, "\n| %s | %.1f | %.0f | %.0f | %.0f | %.2f | %.2f | %.1f |\n", label.c_str(),
                      f["ttft"], f["throughput"], f["preemptions"], f["refusals"], f["allocation"], f["mapping"],
                      f["transfer"]);
        BOOST_CHECK_MESSAGE(contains(page, line), line);
        BOOST_CHECK_EQUAL(f["completed"], 60);
    }
    const report r(configs + "small_requests.jsonl",
                   "platform " + platform_in(scratch, "1 GiB") + " + fixed 2 ms + 20 us/token",
                   {"layers=1", "host_blocks=480"});
    auto &f = of["blocks and host, hardware"];
    BOOST_CHECK_EQUAL(f["hit_tokens"], static_cast<double>(r.number({"hit_tokens"})));
    BOOST_CHECK_CLOSE(f["ttft"], 1e3 * json_real_value(r.at({"ttft", "mean_s", "total"})), 1e-6);
    BOOST_CHECK_CLOSE(f["end"], json_real_value(r.at({"end_s"})), 1e-6);
    std::uint64_t commands = 0;
    for (const char *key :
         {"alloc", "ref", "free", "map", "unmap", "host_alloc", "host_free", "host_pin", "host_unpin"})
        commands += r.platform(key);
    BOOST_CHECK_EQUAL(f["commands"], static_cast<double>(commands));
}

BOOST_AUTO_TEST_CASE(more_blocks_than_the_hosts_memory_holds_are_rejected) {
    const scratch_directory scratch;
    const auto refused = [&](const std::string &platform, const std::string &text) {
        const command_result run =
            run_tlmalloc({"serve", configs + "small_requests.jsonl", "--settings", configs + "small.yaml", "--set",
                          "host_blocks=9", "--step-time", "platform " + platform + " + fixed 1 ms"});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(run.err.find(text) != std::string::npos, run.err);
    };
    refused(platform_in(scratch, "16 MiB"), "host_blocks: found 9 of 2097152 bytes, expected at most 8, which fit into "
                                            "the platform's host_memory.capacity of 16777216 bytes");
    refused(TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "expected at most 0, which");
}
