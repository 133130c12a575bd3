// The search of `tlmalloc sweep --tune`: against full products whose goals are kept, and by what it may not do.
#include "platform/sweep_results.hpp"
#include "sweep/gaussian.h"
#include "sweep/tune.h"
#include "unit/seeded_random.hpp"

#include <cmath>
#include <map>
#include <set>

using namespace sweeps;

namespace {

const sweep_command commands[] = {
    {"run",
     SWEEP_PLATFORM_ARGUMENT,
     false,
     false,
     false,
     false,
     {{"--kernel", true, false}, {"--parameter", false, false}}},
    {"traffic",
     SWEEP_PLATFORM_ARGUMENT,
     true,
     true,
     false,
     false,
     {{"--pattern", false, false}, {"--count", false, false}, {"--window", false, false}}},
    {}};

struct product {
    sweep s{};
    std::vector<double> goals; // of every point, the smaller the better
    explicit product(const std::string &path) {
        const std::string text = read_text(path + ".yaml");
        BOOST_REQUIRE_EQUAL(
            sweep_parse((path + ".yaml").c_str(), text.data(), text.size(), commands, &s, nullptr, nullptr), TLA_OK);
        std::istringstream in(read_text(path + ".txt"));
        for (double goal = 0; in >> goal;)
            goals.push_back(goal);
        BOOST_REQUIRE_EQUAL(goals.size(), s.count);
    }
    product(const product &) = delete;
    product &operator=(const product &) = delete;
    ~product() { sweep_clear(&s); }
};

struct search {
    tuner *t = nullptr;
    search(const sweep &s, std::size_t budget, std::uint64_t seed, bool (*allowed)(void *, std::uint64_t) = nullptr) {
        BOOST_REQUIRE_EQUAL(tune_create(&s, false, budget, seed, allowed, nullptr, &t), TLA_OK);
    }
    search(const search &) = delete;
    search &operator=(const search &) = delete;
    ~search() { tune_free(t); }
};

const std::string products = TLMALLOC_SOURCE_DIR "/tests/data/products/";

} // namespace

BOOST_AUTO_TEST_CASE(a_twentieth_of_a_product_finds_a_point_within_2_percent_of_its_best) {
    for (const char *name : {"channel", "translation", "block"}) {
        const product all(products + name);
        const double best = *std::min_element(all.goals.begin(), all.goals.end());
        double worst = 0;
        for (std::uint64_t seed = 1; seed <= 20; seed++) {
            const search s(all.s, all.s.count / 20, seed);
            std::uint64_t point = 0;
            std::set<std::uint64_t> asked;
            while (tune_ask(s.t, &point) == TUNE_POINT) {
                BOOST_REQUIRE(asked.insert(point).second);
                tune_tell(s.t, point, true, all.goals[point]);
            }
            double found = 0;
            BOOST_REQUIRE(tune_best(s.t, &point, &found));
            BOOST_CHECK_LE(asked.size(), all.s.count / 20);
            BOOST_CHECK_EQUAL(found, all.goals[point]);
            worst = std::max(worst, found / best - 1);
        }
        BOOST_TEST_MESSAGE(name << ": " << 100 * worst << " % over the best, the worst of 20 seeds");
        BOOST_CHECK_LE(worst, 0.02);
    }
}

BOOST_AUTO_TEST_CASE(a_search_does_not_depend_on_the_order_of_answers) {
    const product all(products + "channel");
    std::vector<std::uint64_t> first;
    seeded_random random(3);
    for (int round = 0; round < 3; round++) {
        const search s(all.s, 48, 5);
        std::vector<std::uint64_t> asked, due;
        for (;;) {
            std::uint64_t point = 0;
            const tune_answer answer = due.size() < 3 ? tune_ask(s.t, &point) : TUNE_WAIT;
            if (answer == TUNE_END) break;
            if (answer == TUNE_POINT) {
                asked.push_back(point);
                due.push_back(point);
                continue;
            }
            const std::size_t next = random.between(0, due.size() - 1);
            tune_tell(s.t, due[next], true, all.goals[due[next]]);
            due.erase(due.begin() + static_cast<std::ptrdiff_t>(next));
        }
        if (round == 0) first = asked;
        BOOST_CHECK(asked == first);
    }
}

BOOST_AUTO_TEST_CASE(a_search_skips_forbidden_points_and_avoids_failing_points) {
    const product all(products + "channel");
    const search s(all.s, 72, 2, [](void *, std::uint64_t point) { return point % 3 != 0; });
    std::uint64_t point = 0;
    std::size_t failed = 0, late_failures = 0, count = 0;
    while (tune_ask(s.t, &point) == TUNE_POINT) {
        BOOST_CHECK_NE(point % 3, 0u);
        const bool good = point < all.s.count / 2; // half of the first axis is broken
        failed += !good;
        late_failures += !good && count >= 36;
        count++;
        tune_tell(s.t, point, good, all.goals[point]);
    }
    BOOST_CHECK_EQUAL(count, 72u);
    BOOST_CHECK_LT(late_failures, failed);
    double goal = 0;
    BOOST_REQUIRE(tune_best(s.t, &point, &goal));
    BOOST_CHECK_LT(point, all.s.count / 2);
    const search small(all.s, 72, 2, [](void *, std::uint64_t p) { return p < 10; });
    count = 0;
    for (; tune_ask(small.t, &point) == TUNE_POINT; count++)
        tune_tell(small.t, point, false, 0);
    BOOST_CHECK_EQUAL(count, 10u); // all that there are
    BOOST_CHECK(!tune_best(small.t, &point, &goal));
}

BOOST_AUTO_TEST_CASE(a_gaussian_process_is_its_formula) {
    const bool ordered[] = {true, false};
    gaussian g;
    const std::size_t sizes[] = {11, 2}; // tenths, and two names
    BOOST_REQUIRE(gaussian_create(&g, 2, ordered, sizes, 8));
    g.joint = 1;
    g.noise = 0;
    const std::size_t a[] = {0, 0}, b[] = {5, 1}, c[] = {2, 1};
    gaussian_add(&g, a, 3);
    gaussian_add(&g, b, 7);
    gaussian_fit(&g);
    double mean = 0, deviation = 0, scratch[8];
    gaussian_predict(&g, a, scratch, &mean, &deviation);
    BOOST_CHECK_CLOSE(mean, 3, 1e-6);
    BOOST_CHECK_SMALL(deviation, 1e-5);
    // Two observations, worked out by hand: mean 5, deviation 2, so -1 and 1.
    const double l = 0.7, ab = std::exp(-0.125 / (l * l) - 1 / l), ac = std::exp(-0.02 / (l * l) - 1 / l),
                 bc = std::exp(-0.045 / (l * l)), det = 1 - ab * ab;
    const double weight_a = (-1 - ab * 1) / det, weight_b = (1 + ab) / det;
    gaussian_predict(&g, c, scratch, &mean, &deviation);
    BOOST_CHECK_CLOSE(mean, 5 + 2 * (ac * weight_a + bc * weight_b), 1e-6);
    BOOST_CHECK_CLOSE(deviation, 2 * std::sqrt(1 - (ac * ac - 2 * ab * ac * bc + bc * bc) / det), 1e-6);
    BOOST_CHECK_CLOSE(gaussian_improvement(1, 1, 2), 2 * 0.3989422804014327, 1e-9);
    BOOST_CHECK_CLOSE(gaussian_improvement(5, 3, 0), 2, 1e-9);
    gaussian_free(&g);
}

BOOST_AUTO_TEST_CASE(tuned_sweeps_are_the_same_on_any_number_of_processes_and_resumed) {
    scratch_directory scratch;
    const std::string file = scratch.write(
        "s.yaml", "name: maps\ncommand: traffic\nplatform: " TLMALLOC_SOURCE_DIR
                  "/configs/timing/hbm2.yaml\nset: {--count: 1000}\nkeys:\n  - {key: --pattern, values: [seq_rd, "
                  "rand_rd1, stride_row]}\n  - {key: map, values: [m1, m2, m3]}\n  - {key: read_queue, values: [2, 4, "
                  "8, 16, 32]}\n  - {key: write_queue, values: [8, 16, 32]}\nconstraints: [\"map != 'm3'\"]\n"
                  "figures: {bandwidth: bandwidth_gb_s}\n");
    const std::string one = scratch.path("1.sqlite"), two = scratch.path("2.sqlite");
    const auto tune = [&](const std::string &results, const std::vector<std::string> &more) {
        std::vector<std::string> words{"sweep", file, "-o", results, "--tune", "max bandwidth"};
        words.insert(words.end(), more.begin(), more.end());
        return run_tlmalloc(words);
    };
    const command_result first = tune(one, {"--jobs", "1"});
    BOOST_REQUIRE_MESSAGE(first.status == 0, first.err);
    BOOST_CHECK_MESSAGE(contains(first.out, "20 of 135 points tried; best: point "), first.out);
    BOOST_CHECK_EQUAL(cell(one, "SELECT count(*) FROM point WHERE map = 'm3'"), "0");
    BOOST_REQUIRE_EQUAL(tune(two, {"--jobs", "2"}).status, 0);
    BOOST_CHECK_EQUAL(rows_of(one), rows_of(two));
    ask(two, "DELETE FROM point WHERE rowid % 3 = 1");
    BOOST_REQUIRE_EQUAL(tune(two, {"--resume"}).status, 0);
    BOOST_CHECK_EQUAL(rows_of(one), rows_of(two));
    BOOST_CHECK(contains(tune(two, {"--resume"}).out, "0 of them in this run"));
    const auto refused = [](const command_result &run, const std::string &why) {
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, why), run.err);
    };
    const std::string none = scratch.path("none");
    refused(run_tlmalloc({"sweep", file, "-o", none, "--tune", "bandwith"}),
            "--tune: found \"bandwith\", expected a figure of " + file + ": bandwidth, did you mean \"bandwidth\"?");
    refused(run_tlmalloc({"sweep", file, "-o", none, "--budget", "9"}), "--budget and --seed need --tune");
    refused(tune(none, {"--budget", "501"}), "--budget: found '501', expected 1 .. 500");
    refused(tune(none, {"--points", "1-2"}), "--tune and --points exclude each other");
    const std::string drawn =
        scratch.write("d.yaml", "name: d\ncommand: traffic\nplatform: " TLMALLOC_SOURCE_DIR
                                "/configs/timing/hbm2.yaml\nset: {--pattern: chase}\nsample: random\ncount: 9\nkeys: "
                                "[{key: read_queue, values: [2, 4]}]\nfigures: {bandwidth: bandwidth_gb_s}\n");
    refused(run_tlmalloc({"sweep", drawn, "-o", none, "--tune", "bandwidth"}),
            "--tune needs sample: product, not random");
    BOOST_CHECK(!std::filesystem::exists(none));
}
