// The points of a sweep by their numbers, figures by their paths, constraints: against the plainest ways to do the
// same.
#include "platform/sweep_results.hpp"
#include "sweep/constraint.h"
#include "sweep/figure_path.h"
#include "sweep/sweep.h"
#include "unit/seeded_random.hpp"

#include <cmath>
#include <memory>
#include <set>

namespace {

const sweep_command commands[] = {{"run",
                                   SWEEP_PLATFORM_ARGUMENT,
                                   false,
                                   false,
                                   false,
                                   false,
                                   {{"--kernel", true, false}, {"--parameter", false, false}}},
                                  {}};

void keep(void *context, const tla_config_finding *finding) {
    *static_cast<std::string *>(context) += std::string(finding->text) + "\n";
}

struct made {
    sweep s{};
    explicit made(const std::string &text) {
        const std::string all = "name: n\ncommand: run\nplatform: " TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml\n" +
                                text + "figures: {e: sim_time_ps}\n";
        std::string findings;
        BOOST_REQUIRE_MESSAGE(sweep_parse("s.yaml", all.data(), all.size(), commands, &s, keep, &findings) == TLA_OK,
                              findings);
    }
    made(const made &) = delete;
    made &operator=(const made &) = delete;
    ~made() { sweep_clear(&s); }

    std::string value(std::int64_t point, std::size_t factor) const {
        tla_phrase text;
        return sweep_value(&s, point, factor, &text) ? text.text : "none";
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_product_of_zipped_keys_counts_as_loops_in_loops_do) {
    const made m("keys:\n  - {key: mmu.walkers.count, values: [1, 2, 3]}\n"
                 "  - {key: mmu.page_size, values: [4 KiB, 2 MiB], zip: pages}\n"
                 "  - {key: mmu.walkers.merge_slots, values: [0, 1, 2, 4]}\n"
                 "  - {key: mmu.walkers.cache_entries, values: [7, 8], zip: pages}\n");
    BOOST_REQUIRE_EQUAL(m.s.count, 24u);
    std::int64_t point = 0;
    for (const char *walkers : {"1", "2", "3"})
        for (const auto &[page, cache] : {std::pair{"4 KiB", "7"}, std::pair{"2 MiB", "8"}})
            for (const char *slots : {"0", "1", "2", "4"}) {
                BOOST_CHECK_EQUAL(m.value(point, 0), walkers);
                BOOST_CHECK_EQUAL(m.value(point, 1), page);
                BOOST_CHECK_EQUAL(m.value(point, 2), slots);
                BOOST_CHECK_EQUAL(m.value(point, 3), cache);
                point++;
            }
    BOOST_CHECK_EQUAL(m.value(SWEEP_BASE_POINT, 0), "none");
    BOOST_CHECK(sweep_has_base(&m.s));
}

BOOST_AUTO_TEST_CASE(a_latin_hypercube_has_a_point_in_every_part_of_every_axis) {
    seeded_random random(7);
    for (int round = 0; round < 20; round++) {
        const std::uint64_t count = random.between(1, 700), seed = random.between(0, 1u << 30);
        const made m("sample: latin\ncount: " + std::to_string(count) + "\nseed: " + std::to_string(seed) +
                     "\nkeys:\n  - {key: mmu.walkers.merge_slots, from: 1, to: " + std::to_string(count) +
                     "}\n  - {key: mmu.walkers.count, values: [1, 2, 3, 4]}\n");
        std::set<std::string> parts;
        std::map<std::string, std::uint64_t> levels;
        for (std::uint64_t point = 0; point < count; point++) {
            parts.insert(m.value(static_cast<std::int64_t>(point), 0));
            levels[m.value(static_cast<std::int64_t>(point), 1)]++;
        }
        BOOST_CHECK_EQUAL(parts.size(), count);
        for (const auto &[level, times] : levels) // a quarter each, but for the parts at the borders
            BOOST_CHECK_MESSAGE(std::abs(static_cast<double>(times) - static_cast<double>(count) / 4) <= 1.5, level);
    }
}

BOOST_AUTO_TEST_CASE(drawn_points_depend_on_the_seed_alone_and_stay_in_their_ranges) {
    const auto text = [](int seed) {
        return "sample: random\ncount: 2000\nseed: " + std::to_string(seed) +
               "\nkeys:\n  - {key: mmu.page_size, from: 4 KiB, to: 2 MiB, scale: log}\n"
               "  - {key: mmu.walkers.count, from: 3, to: 10}\n";
    };
    const made one(text(1)), again(text(1)), other(text(2));
    std::map<std::string, int> pages, counts;
    int same = 0;
    for (std::int64_t point = 0; point < 2000; point++) {
        BOOST_REQUIRE_EQUAL(one.value(point, 0), again.value(point, 0));
        same += one.value(point, 0) == other.value(point, 0) && one.value(point, 1) == other.value(point, 1);
        pages[one.value(point, 0)]++;
        counts[one.value(point, 1)]++;
    }
    BOOST_CHECK_LT(same, 200);
    BOOST_CHECK_EQUAL(pages.size(), 10u); // powers of two, which the key wants
    BOOST_CHECK_EQUAL(counts.size(), 8u);
    for (const auto &[value, times] : counts)
        BOOST_CHECK_MESSAGE(times > 180 && times < 320, value << ": " << times);
    char first[17], second[17], third[17];
    BOOST_CHECK_EQUAL(sweep_fingerprint(&one.s, first), TLA_OK);
    BOOST_CHECK_EQUAL(sweep_fingerprint(&again.s, second), TLA_OK);
    BOOST_CHECK_EQUAL(sweep_fingerprint(&other.s, third), TLA_OK);
    BOOST_CHECK_EQUAL(std::string(first), second);
    BOOST_CHECK_NE(std::string(first), third);
}

BOOST_AUTO_TEST_CASE(a_hash_is_of_the_resolved_configuration_however_it_is_written) {
    const made m("set: {mmu.walk: flat}\npoints:\n  - set: {mmu.page_size: 64 KiB}\n  - set: {mmu.page_size: 65536 B}\n"
                 "  - set: {mmu.walkers.count: 8}\n  - set: {mmu.page_size: 64 KiB, parameter.m: 4}\n");
    std::vector<std::string> hashes;
    for (std::int64_t point = -1; point < 4; point++) {
        char text[17];
        BOOST_CHECK_EQUAL(sweep_hash(&m.s, point, text), TLA_OK);
        hashes.emplace_back(text);
    }
    BOOST_CHECK_EQUAL(hashes[1], hashes[2]);
    BOOST_CHECK_EQUAL(hashes[0], hashes[3]); // 8 is the default
    BOOST_CHECK_EQUAL(std::set<std::string>(hashes.begin(), hashes.end()).size(), 3u);
    tla_phrase shown;
    bool has = false;
    BOOST_CHECK_EQUAL(sweep_shown_value(&m.s, 2, 0, &shown, &has), TLA_OK);
    BOOST_CHECK(has);
    BOOST_CHECK_EQUAL(shown.text, std::string("2 MiB"));
}

// The platform's file is gone after the first point, so that no second configuration can be read.
BOOST_AUTO_TEST_CASE(constraints_over_keys_that_are_not_swept_need_one_configuration_for_all_points) {
    const scratch_directory scratch;
    const std::string platform = scratch.path("platform.yaml");
    const auto check = [&](const std::string &constraints, const std::string &swept, unsigned expected,
                           bool when_nothing_can_be_read) {
        std::ofstream(platform) << "tcm: {capacity: 2 MiB}\n";
        const std::string all = "name: n\ncommand: run\nplatform: " + platform +
                                "\nset: {mmu.walk: flat}\nkeys:\n  - " + swept + "\nconstraints: " + constraints +
                                "\nfigures: {e: sim_time_ps}\n";
        sweep s{};
        std::string findings;
        BOOST_REQUIRE_MESSAGE(sweep_parse("s.yaml", all.data(), all.size(), commands, &s, keep, &findings) == TLA_OK,
                              findings);
        sweep_constraints *compiled = nullptr;
        std::size_t bad = 0;
        BOOST_REQUIRE_EQUAL(constraints_compile(&s, &compiled, &bad, nullptr), TLA_OK);
        unsigned read = 0;
        BOOST_CHECK_EQUAL(constraints_hold(compiled, 0), expected >> 0 & 1);
        std::filesystem::remove(platform);
        for (std::int64_t point = 1; point < static_cast<std::int64_t>(s.count); point++) {
            const bool should = when_nothing_can_be_read || (expected >> point & 1);
            read += constraints_hold(compiled, point) != should;
        }
        BOOST_CHECK_MESSAGE(read == 0, constraints << ": " << read << " points need a configuration of their own");
        constraints_free(compiled);
        sweep_clear(&s);
    };
    const std::string walkers = "{key: mmu.walkers.count, values: [1, 2, 4]}";
    check("[tcm.capacity > 2 MiB]", walkers, 0, false);
    check("[mmu.walk = 'flat', tcm.capacity = 2 MiB]", walkers, 7, false);
    check("[mmu.walkers.count * 1 MiB <= tcm.capacity]", walkers, 3, false);
    check("[va.page_size = 2 MiB]", walkers, 0, false);
    check("[host.pool = 'none' and mmu.walkers.count > 1]", walkers, 6, false);
    // What follows a swept key is another at each point: without a file there is none.
    check("[va.page_size > 4 KiB]", "{key: mmu.page_size, values: [4 KiB, 64 KiB, 2 MiB]}", 6, true);
    check("[controller.cost.node > 100 s]", "{key: controller.cost.profile, values: [fw_list, fw_buddy, rtl_list_1c]}",
          0, true);
}

BOOST_AUTO_TEST_CASE(constraints_are_expressions_over_resolved_keys) {
    const made m("set: {mmu.walk: flat}\nkeys:\n  - {key: mmu.walkers.count, values: [1, 2, 4]}\n"
                 "  - {key: mmu.page_size, values: [4 KiB, 64 KiB, 2 MiB]}\n"
                 "constraints:\n  - mmu.walkers.count * 4 KiB <= mmu.page_size\n"
                 "  - mmu.walk = 'flat' and tcm.capacity >= 1 MiB or 0\n  - not (mmu.page_size in (64 KiB, 5))\n");
    sweep_constraints *compiled = nullptr;
    std::size_t bad = 0;
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(constraints_compile(&m.s, &compiled, &bad, &error) == TLA_OK, error.text);
    const std::uint64_t pages[] = {4096, 65536, 2u << 20}, walkers[] = {1, 2, 4};
    for (std::int64_t point = 0; point < 9; point++) {
        const std::uint64_t page = pages[point % 3], count = walkers[point / 3];
        BOOST_CHECK_EQUAL(constraints_hold(compiled, point), count * 4096 <= page && page != 65536);
    }
    constraints_free(compiled);
    BOOST_CHECK(constraints_hold(nullptr, 0));
}

BOOST_AUTO_TEST_CASE(figures_are_found_by_their_paths) {
    const std::unique_ptr<json_t, void (*)(json_t *)> report(
        json_loads("{\"a\": {\"b\": 3}, \"good\": true, \"none\": null, \"text\": \"x\", \"empty\": [], \"list\": "
                   "[{\"n\": 4, \"k\": \"p\"}, {\"n\": null, \"k\": \"q\"}, {\"n\": 1.5, \"k\": \"r\"}]}",
                   0, nullptr),
        json_decref);
    BOOST_REQUIRE(report);
    const std::vector<std::pair<std::string, double>> found = {{"a.b", 3},
                                                               {"good", 1},
                                                               {"list[2].n", 1.5},
                                                               {"list[k=p].n", 4},
                                                               {"min list[].n", 1.5},
                                                               {"max list[].n", 4},
                                                               {"sum list[].n", 5.5},
                                                               {"mean list[].n", 2.75},
                                                               {"count list[].n", 2},
                                                               {"a.b?", 3},
                                                               {"count empty[].n", 0}};
    for (const auto &[path, expected] : found) {
        double value = -1;
        BOOST_CHECK_MESSAGE(figure_path_check(path.c_str(), nullptr) == TLA_OK, path);
        BOOST_CHECK_MESSAGE(figure_path_find(path.c_str(), report.get(), &value) == FIGURE_FOUND, path);
        BOOST_CHECK_MESSAGE(value == expected, path << ": " << value);
    }
    const std::vector<std::pair<std::string, figure_state>> other = {
        {"none", FIGURE_NULL},         {"none.x", FIGURE_NULL},         {"max empty[].n", FIGURE_NULL},
        {"list[1].n", FIGURE_NULL},    {"c", FIGURE_MISSING},           {"a.c", FIGURE_MISSING},
        {"list[3].n", FIGURE_MISSING}, {"list[k=z].n", FIGURE_MISSING}, {"a.c?", FIGURE_NULL},
        {"text", FIGURE_NO_NUMBER},    {"a", FIGURE_NO_NUMBER},         {"max list[].m", FIGURE_MISSING}};
    for (const auto &[path, expected] : other) {
        double value = -1;
        BOOST_CHECK_MESSAGE(figure_path_check(path.c_str(), nullptr) == TLA_OK, path);
        BOOST_CHECK_MESSAGE(figure_path_find(path.c_str(), report.get(), &value) == expected, path);
    }
    for (const char *path : {"", "?", ".a", "a.", "a..b", "a[", "a[x]", "a[1", "a[=x]", "a[k=]", "[0]", "a b", "max a",
                             "list[].n", "a]", "a[]b", "a?b"})
        BOOST_CHECK_MESSAGE(figure_path_check(path, nullptr) == TLA_SYNTAX, path);
}
