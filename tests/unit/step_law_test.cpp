// How long steps take, and the settings that say so.
#include "shared_data.hpp"
#include "small_profile.hpp"

#include <cstring>

namespace {

struct settings_read {
    tla_status status;
    tla_serving_settings settings;
    std::string findings;
};

settings_read read_settings(const std::string &text, const std::vector<const char *> &overrides = {}) {
    settings_read r{};
    const auto note = [](void *context, const tla_config_finding *f) {
        auto &into = *static_cast<std::string *>(context);
        into += std::string(f->file) + ":" + std::to_string(f->line) + ":" + std::to_string(f->column) + ": " +
                f->text + "\n";
    };
    r.status = tla_serving_settings_parse(text.data(), text.size(), "s.json", overrides.data(), overrides.size(),
                                          &r.settings, note, &r.findings);
    return r;
}

struct law {
    law(const std::string &text, const tla_serving_settings &settings) {
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_step_law_parse(text.c_str(), &settings, &l, &error) == TLA_OK, error.text);
    }
    law(const law &) = delete;
    ~law() { tla_step_law_clear(&l); }
    // Of requests with so many tokens each, and so many computed before.
    double us(const std::vector<std::pair<std::uint32_t, std::uint32_t>> &requests) {
        std::vector<tla_step_part> parts;
        tla_step step{};
        for (const auto &[tokens, computed] : requests) {
            tla_step_part part{};
            part.tokens = tokens;
            part.computed = computed;
            parts.push_back(part);
            step.tokens += tokens;
        }
        step.parts = parts.data();
        step.count = parts.size();
        tla_step_time time{};
        BOOST_REQUIRE_EQUAL(l.time(l.context, &step, &time, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(time.allocation_ns + time.mapping_ns + time.transfer_ns, 0u);
        return 1e-3 * static_cast<double>(time.compute_ns);
    }
    tla_step_law l{};
};

std::string refusal(const std::string &text, const tla_serving_settings &settings, tla_status status) {
    tla_step_law l{};
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_status_name(tla_step_law_parse(text.c_str(), &settings, &l, &error)),
                      tla_status_name(status));
    BOOST_CHECK(!l.time);
    return error.text;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> decodes(std::size_t count, std::uint32_t computed) {
    return std::vector<std::pair<std::uint32_t, std::uint32_t>>(count, {1, computed});
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fixed_law_has_a_time_for_each_step_and_for_each_token) {
    const tla_serving_settings none{};
    BOOST_CHECK_EQUAL(law("fixed 10 ms + 100 us/token", none).us({{7, 0}, {1, 3}}), 10800.0);
    BOOST_CHECK_EQUAL(law("fixed 10 ms+100 us/token", none).us({{1, 0}}), 10100.0);
    BOOST_CHECK_EQUAL(law("fixed 1.5 us", none).us({{7, 0}}), 1.5);
    BOOST_CHECK_EQUAL(law("fixed 0 ns + 600 ps/token", none).us({{1, 0}}), 0.001); // to the nearest nanosecond
    BOOST_CHECK_EQUAL(law("fixed 500 ps", none).us({{1, 0}}), 0.001);
    BOOST_CHECK_EQUAL(law("fixed 499 ps", none).us({{1, 0}}), 0.0);
    for (const char *text : {"", "fixed", "fixed 10", "fixed 10 ms + 100 us", "fixed 10 ms + /token", "profile",
                             "fixed 10 ms + 1 us/token 3", "quick", "fixedly 1 ms"})
        BOOST_CHECK_MESSAGE(refusal(text, none, TLA_SYNTAX).find("found") != std::string::npos, text);
    refusal("platform configs/npu_small.yaml", none, TLA_UNSUPPORTED);
}

BOOST_AUTO_TEST_CASE(a_profile_is_linear_between_its_points_flat_below_and_extrapolated_above) {
    const scratch_directory scratch;
    write_small_profile(scratch);
    const settings_read s = read_settings(small_settings);
    BOOST_REQUIRE_MESSAGE(s.status == TLA_OK, s.findings);
    law l("profile " + scratch.path("."), s.settings);
    // A decode: embedding 2, head 100; a layer has proj twice, 5 below its first point, and attention.
    BOOST_CHECK_CLOSE(l.us({{1, 150}}), 2 + 100 + 2 * (2 * 5 + 15.0), 1e-9);
    BOOST_CHECK_CLOSE(l.us({{1, 50}}), 2 + 100 + 2 * (2 * 5 + 10.0), 1e-9);
    BOOST_CHECK_CLOSE(l.us({{1, 300}}), 2 + 100 + 2 * (2 * 5 + 30.0), 1e-9);
    // Five decodes: head 140, attention at 100 is 14 + 2 * 2 above the last point.
    BOOST_CHECK_CLOSE(l.us(decodes(5, 100)), 2 + 140 + 2 * (2 * 5 + 18.0), 1e-9);
    // A chunk of 60 tokens: proj 14; attention between the slices of 8 without decodes and of 0, of which the nearest
    // one has a decode of no tokens, extrapolated.
    BOOST_CHECK_CLOSE(l.us({{60, 32}}), 2 + 100 + 2 * (2 * 14 + (10 + 60 / 8.0 * (44 - 10))), 1e-9);
    // Beside a decode at 150: at 64 tokens 65, at 0 no more than 50.
    BOOST_CHECK_CLOSE(l.us({{8, 32}, {1, 150}}), 2 + 110 + 2 * (2 * 5 + 57.5), 1e-9);
    // The mean of the decodes is whole.
    BOOST_CHECK_CLOSE(l.us({{1, 150}, {1, 151}, {1, 153}}), 2 + 120 + 2 * (2 * 5 + (14 + 16 * 0.51)), 1e-9);
}

BOOST_AUTO_TEST_CASE(uneven_decodes_interpolate_between_mean_and_longest) {
    const scratch_directory scratch;
    write_small_profile(scratch);
    const settings_read s = read_settings(small_settings, {"skew_correction=true", "skew_alpha_default=1"});
    BOOST_REQUIRE_MESSAGE(s.status == TLA_OK, s.findings);
    law l("profile " + scratch.path("."), s.settings);
    // The first label that holds is the narrowest, and those with a limit above stand first: 0.5 of the way from 150
    // (22) to 200 (30).
    BOOST_CHECK_CLOSE(l.us({{1, 100}, {1, 150}, {1, 200}}), 2 + 120 + 2 * (2 * 5 + (22 + 0.5 * 8)), 1e-9);
    // Four, of which the mean lies at 75 %: 0.25 of the way from 175 (30.25) to 200 (35).
    BOOST_CHECK_CLOSE(l.us({{1, 100}, {1, 200}, {1, 200}, {1, 200}}), 2 + 130 + 2 * (2 * 5 + (30.25 + 0.25 * 4.75)),
                      1e-9);
    // At 0 %, of which the table has a label but no share: the default, all of the way from 100 (16) to 103 (16.57).
    BOOST_CHECK_CLOSE(l.us({{1, 100}, {1, 100}, {1, 100}, {1, 103}}), 2 + 130 + 2 * (2 * 5 + 16.57), 1e-9);
    BOOST_CHECK_CLOSE(l.us(decodes(3, 100)), 2 + 120 + 2 * (2 * 5 + 14.0), 1e-9);
}

BOOST_AUTO_TEST_CASE(all_reduces_add_their_bytes_and_their_latency) {
    const scratch_directory scratch;
    write_small_profile(scratch);
    const auto one = [&](const std::vector<const char *> &overrides) {
        const settings_read s = read_settings(small_settings, overrides);
        BOOST_REQUIRE_MESSAGE(s.status == TLA_OK, s.findings);
        return law("profile " + scratch.path("."), s.settings).us({{10, 0}});
    };
    const double without = one({});
    BOOST_CHECK_EQUAL(one({"allreduce.per_layer=2", "allreduce.latency_us=0"}), without);
    BOOST_CHECK_CLOSE(one({"allreduce.per_layer=2", "allreduce.bandwidth_gb_s=20"}), without + 4 * 0.5, 1e-9);
    BOOST_CHECK_CLOSE(one({"allreduce.per_layer=2", "allreduce.latency_us=3.5"}), without + 4 * 3.5, 1e-9);
    // 10 tokens of 500 elements of 2 bytes at 20 GB/s are 0.5 us.
    BOOST_CHECK_CLOSE(one({"allreduce.per_layer=2", "allreduce.latency_us=3.5", "allreduce.bandwidth_gb_s=20"}),
                      without + 4 * 4.0, 1e-9);
}

// A profile of one card has no all-reduces: without their time every step of two cards ends too early.
BOOST_AUTO_TEST_CASE(only_a_profile_rejects_all_reduces_without_a_time) {
    const scratch_directory scratch;
    write_small_profile(scratch);
    const std::string profile = "profile " + scratch.path("."),
                      wanted =
                          "allreduce.per_layer is 2 but an all-reduce has no time: set allreduce.bandwidth_gb_s, "
                          "allreduce.latency_us or both (allreduce.latency_us=0 for all-reduces that take no time)";
    const settings_read by_override = read_settings(small_settings, {"allreduce.per_layer=2"});
    BOOST_REQUIRE_MESSAGE(by_override.status == TLA_OK, by_override.findings);
    BOOST_CHECK_EQUAL(refusal(profile, by_override.settings, TLA_INVALID_ARGUMENT), wanted);
    std::string text = small_settings; // as a measured run of two cards has them
    text.insert(text.find('{') + 1, R"("allreduce": {"per_layer": 2, "note": "not in the profile"}, )");
    const settings_read in_file = read_settings(text);
    BOOST_REQUIRE_MESSAGE(in_file.status == TLA_OK, in_file.findings);
    BOOST_CHECK_EQUAL(refusal(profile, in_file.settings, TLA_INVALID_ARGUMENT), wanted);
    law("fixed 10 ms + 100 us/token", in_file.settings);
}

// The four steps, and the one with skew, that come with the data.
BOOST_AUTO_TEST_CASE(the_public_profile_gives_the_published_steps) {
    if (!shared_data_is_here("data/serving")) return;
    const std::string run = shared_data + "data/serving/vllm_rtx4090_llama31_8b";
    const auto load = [&](std::vector<const char *> overrides) {
        tla_serving_settings settings{};
        BOOST_REQUIRE_EQUAL(tla_serving_settings_load((run + "/settings.json").c_str(), overrides.data(),
                                                      overrides.size(), &settings, nullptr, nullptr),
                            TLA_OK);
        return settings;
    };
    law plain("profile " + run + "/profile", load({})),
        skewed("profile " + run + "/profile", load({"skew_correction=true"}));
    auto mixed = decodes(30, 1300);
    mixed.push_back({2018, 0});
    auto uneven = decodes(15, 500);
    uneven.insert(uneven.end(), 15, {1, 1500});
    BOOST_CHECK_EQUAL(plain.us({{1, 100}}), 16710.163);
    BOOST_CHECK_EQUAL(plain.us(decodes(30, 1000)), 23444.833);
    BOOST_CHECK_EQUAL(plain.us({{2048, 0}}), 193004.670);
    BOOST_CHECK_EQUAL(plain.us(mixed), 206087.448);
    BOOST_CHECK_EQUAL(plain.us(uneven), 23444.833);
    BOOST_CHECK_EQUAL(skewed.us(uneven), 23920.787);
}

BOOST_AUTO_TEST_CASE(an_incomplete_profile_is_rejected_with_the_place_of_the_gap) {
    const settings_read s = read_settings(small_settings);
    const auto refused = [&](const char *file, const std::string &text, tla_status status,
                             const std::vector<const char *> &overrides = {"skew_correction=true"}) {
        const scratch_directory scratch;
        write_small_profile(scratch);
        if (file) std::filesystem::remove(scratch.path(file));
        if (file && !text.empty()) scratch.write(file, text);
        const settings_read with = read_settings(small_settings, overrides);
        BOOST_REQUIRE_MESSAGE(with.status == TLA_OK, with.findings);
        std::string found = refusal("profile " + scratch.path(""), with.settings, status);
        const std::string path = scratch.path("");
        for (std::size_t at; (at = found.find(path)) != std::string::npos;)
            found.erase(at, path.size());
        return found;
    };
    const std::string curves = "layer,tokens,time_us\n", grid = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
    BOOST_CHECK_EQUAL(
        refused("dense.csv", curves + "embedding,1,2\n", TLA_INVALID_ARGUMENT),
        ": layer proj has no row in dense.csv or per_sequence.csv, but the settings name it in layer_sequence");
    BOOST_CHECK(refused("attention.csv", "", TLA_IO).find("attention.csv") != std::string::npos);
    BOOST_CHECK(refused("skew_fit.csv", "", TLA_IO).find("skew_fit.csv") != std::string::npos);
    BOOST_CHECK_EQUAL(refused("dense.csv", curves + "proj,1,2\nproj,x,3\n", TLA_SYNTAX),
                      "/dense.csv:3:6: found 'x', expected a number of tokens");
    BOOST_CHECK_EQUAL(refused("dense.csv", curves + "proj,1,-2\n", TLA_SYNTAX),
                      "/dense.csv:2:8: found '-2', expected a time in us, from 0 on");
    BOOST_CHECK_EQUAL(refused("dense.csv", curves + "proj,1,2\nproj,1,2\n", TLA_SYNTAX),
                      "/dense.csv:3:6: found the same row again, expected it once");
    BOOST_CHECK_EQUAL(refused("attention.csv", grid + "0,0,1,5\n", TLA_SYNTAX),
                      "/attention.csv:2:8: found 4 columns, expected 5: " + grid.substr(0, grid.size() - 1));
    BOOST_CHECK_EQUAL(refused("attention.csv", grid + "0,0,1,5,1\n0,0,2,5,1\n0,0,1,5,2\n", TLA_SYNTAX),
                      "/attention.csv:4:1: found the same row again, expected it once (line 2)");
    BOOST_CHECK_EQUAL(refused("attention.csv", grid, TLA_SYNTAX),
                      "/attention.csv:2:1: found no row, expected at least one");
    BOOST_CHECK_EQUAL(
        refused("skew_fit.csv",
                "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples\n0,n<4,sr<=5%,kvB<=1k,kp=0,"
                "1,2\n",
                TLA_SYNTAX),
        "/skew_fit.csv:2:3: found 'n<4', expected a label such as n<=16 or n>128");
    BOOST_CHECK_EQUAL(refused(nullptr, "", TLA_INVALID_ARGUMENT, {"layers=0"}),
                      "a profile needs layers: add it to the settings");
    BOOST_CHECK_EQUAL(refused(nullptr, "", TLA_INVALID_ARGUMENT, {"layer_sequence="}),
                      "a profile needs layer_sequence: add it to the settings");
}

BOOST_AUTO_TEST_CASE(settings_ignore_unknown_keys_and_reject_unimplemented_keys) {
    const settings_read s = read_settings(
        small_settings, {"prefix_caching=false", "async_scheduling=false", "layer_sequence=proj attention"});
    BOOST_REQUIRE_MESSAGE(s.status == TLA_OK, s.findings);
    BOOST_CHECK_EQUAL(s.settings.rules.blocks, 20u);
    BOOST_CHECK_EQUAL(s.settings.rules.step_tokens, 2048u);
    BOOST_CHECK_EQUAL(s.settings.rules.depth, 1u);
    BOOST_CHECK(!s.settings.rules.index && s.settings.rules.gate);
    BOOST_CHECK_EQUAL(s.settings.layer_sequence.count, 2u);
    BOOST_CHECK_EQUAL(std::string(s.settings.once.names[1]), "head");
    const std::string nested =
        R"({"gpu_blocks": 5, "quantization": {"kv": [1, {"a.b": 2}]}, "x.y": 1, "max_num_seqs": null,
 "allreduce": {"per_layer": 2, "fitted": true, "bandwidth_gb_s": 12.5}, "once": null})";
    const settings_read other = read_settings(nested);
    BOOST_REQUIRE_MESSAGE(other.status == TLA_OK, other.findings);
    BOOST_CHECK_EQUAL(other.settings.rules.sequences, 256u);
    BOOST_CHECK_EQUAL(other.settings.reductions_a_layer, 2u);
    BOOST_CHECK_EQUAL(other.settings.reduction_gb_s, 12.5);
    BOOST_CHECK_EQUAL(other.settings.once.count, 4u);
    const auto findings = [](const std::string &text, const std::vector<const char *> &overrides = {}) {
        const settings_read r = read_settings(text, overrides);
        BOOST_CHECK_EQUAL(r.status, TLA_SYNTAX);
        return r.findings;
    };
    BOOST_CHECK_EQUAL(findings("{}"), "s.json:0:0: gpu_blocks is missing: set the number of blocks\n");
    BOOST_CHECK_EQUAL(findings(R"({"gpu_blocks": 1})"),
                      "s.json:1:16: gpu_blocks: found \"1\", expected 2 .. 1073741824\n");
    const std::string rest = R"({"gpu_blocks": 9, )";
    BOOST_CHECK_EQUAL(findings(rest + R"("policy": "priority"})"),
                      "s.json:1:29: policy: found \"priority\", expected fcfs, the only supported value\n");
    BOOST_CHECK_EQUAL(findings(rest + R"("watermark": 0.01})"),
                      "s.json:1:32: watermark: found \"0.01\", expected 0, the only supported value\n");
    BOOST_CHECK_EQUAL(findings(rest + R"("chunked_prefill": false})"),
                      "s.json:1:38: chunked_prefill: found \"false\", expected true, the only supported value\n");
    BOOST_CHECK_EQUAL(
        findings(rest + R"("dtype": "int4"})"),
        "s.json:1:28: dtype: found \"int4\", expected bfloat16, float16 or half, float32 or float, or fp8\n");
    BOOST_CHECK_EQUAL(
        findings(rest + R"("kv_dtype": "nvfp4"})"),
        "s.json:1:31: kv_dtype: found \"nvfp4\", expected auto, bfloat16, float16 or half, float32 or float, or fp8\n");
    BOOST_CHECK_EQUAL(
        findings(rest + R"("long_prefill_token_threshold": 512})"),
        "s.json:1:51: long_prefill_token_threshold: found \"512\", expected 0, the only supported value\n");
    BOOST_CHECK_EQUAL(findings(rest + R"("layer_sequence": "proj"})"),
                      "s.json:1:37: layer_sequence: found \"proj\", expected a sequence of at least one value\n");
    BOOST_CHECK_EQUAL(findings(small_settings, {"device=other"}),
                      "--set:0:0: \"device=other\": unknown key \"device\"\n");
    BOOST_CHECK_EQUAL(findings(small_settings, {"gpu_block=9"}),
                      "--set:0:0: \"gpu_block=9\": unknown key \"gpu_block\", did you mean \"gpu_blocks\"?\n");
    BOOST_CHECK_EQUAL(findings(small_settings, {"kv_memory=paged", "kv_rules=lmcache"}),
                      "--set:0:0: \"kv_rules=lmcache\": kv_rules: lmcache needs kv_memory blocks\n");
    BOOST_CHECK(!findings(rest).empty());
}
