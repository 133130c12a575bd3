// `tlmalloc study`: effects, shares, elasticities and fronts against what figures were made of, and what it refuses.
#include "platform/sweep_results.hpp"
#include "unit/seeded_random.hpp"

#include <cmath>
#include <jansson.h>
#include <memory>
#include <set>

using namespace sweeps;

namespace {

// 4 methods by 5 capacities whose figures are then made by SQL.
struct made_sweep {
    scratch_directory scratch;
    std::string results = scratch.path("r.sqlite");
    explicit made_sweep(const std::string &more = "", const std::string &jobs = "2") {
        scratch.write("buffers.csv", buffers);
        const command_result run =
            run_tlmalloc({"sweep", scratch.write("s.yaml", plans(5, more)), "-o", results, "--jobs", jobs});
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    }
    // x: 9 .. 13 bytes; m: 0 .. 3, the method.
    void set(const std::string &figure, const std::string &expression) const {
        ask(results, "UPDATE point SET status = 0, message = NULL, " + figure + " = (SELECT " + expression +
                         " FROM (SELECT point AS p, 9 + point % 5 AS x, point / 5 AS m FROM point) WHERE p = "
                         "point.point)");
    }
    std::shared_ptr<json_t> study(std::vector<std::string> more = {}) const {
        std::vector<std::string> words{"study", results, "--json", scratch.path("s.json")};
        words.insert(words.end(), more.begin(), more.end());
        const command_result run = run_tlmalloc(words);
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        return {json_load_file(scratch.path("s.json").c_str(), 0, nullptr), json_decref};
    }
};

double value_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    BOOST_REQUIRE_MESSAGE(json_is_number(value), key);
    return json_number_value(value);
}

const json_t *factor(const std::shared_ptr<json_t> &study, std::size_t index) {
    return json_array_get(json_object_get(study.get(), "factors"), index);
}

double effect(const json_t *of, std::size_t level) {
    return value_of(json_array_get(json_object_get(of, "levels"), level), "effect");
}

} // namespace

BOOST_AUTO_TEST_CASE(shares_and_effects_are_those_that_the_figures_were_made_of) {
    const made_sweep m;
    m.set("height", "100 + 10 * (x - 11) + 30 * (m - 1.5) + 4 * (x - 11) * (m - 1.5)");
    const auto study = m.study();
    // Variances of x (2) and m (1.25) by the definition, over 20 points of a product.
    const double of_x = 100 * 2.0, of_m = 900 * 1.25, of_both = 16 * 2.0 * 1.25, all = of_x + of_m + of_both;
    BOOST_CHECK_CLOSE(value_of(study.get(), "mean"), 100, 1e-6);
    BOOST_CHECK_CLOSE(value_of(study.get(), "deviation"), std::sqrt(all), 1e-6);
    BOOST_CHECK_CLOSE(value_of(factor(study, 0), "share"), of_m / all, 1e-6);
    BOOST_CHECK_CLOSE(value_of(factor(study, 1), "share"), of_x / all, 1e-6);
    BOOST_CHECK_CLOSE(value_of(json_array_get(json_object_get(study.get(), "pairs"), 0), "share"), of_both / all, 1e-6);
    BOOST_CHECK_SMALL(value_of(study.get(), "rest"), 1e-8);
    for (std::size_t level = 0; level < 5; level++)
        BOOST_CHECK_SMALL(effect(factor(study, 1), level) - 10 * (static_cast<double>(level) - 2), 1e-6);
    const json_t *best = json_object_get(study.get(), "best");
    BOOST_CHECK_EQUAL(value_of(best, "point"), 0); // 100 - 20 - 45 + 12
    BOOST_CHECK_EQUAL(value_of(best, "goal"), 47);
    BOOST_CHECK_EQUAL(value_of(json_object_get(m.study({"--goal", "max height"}).get(), "best"), "point"), 19);
}

BOOST_AUTO_TEST_CASE(holes_do_not_blame_a_value_for_what_it_stands_beside) {
    const made_sweep m;
    m.set("height", "100 + 10 * (x - 11) + 30 * (m - 1.5)");
    // The dear methods lack where x is small: means of values would tilt, effects do not.
    ask(m.results, "DELETE FROM point WHERE point IN (10, 15, 16, 17)");
    ask(m.results, "UPDATE point SET status = 1 WHERE point = 11");
    const auto study = m.study();
    BOOST_CHECK_EQUAL(value_of(study.get(), "points"), 16);
    BOOST_CHECK_EQUAL(value_of(study.get(), "failed"), 1);
    for (std::size_t level = 1; level < 5; level++)
        BOOST_CHECK_CLOSE(effect(factor(study, 1), level) - effect(factor(study, 1), level - 1), 10, 1e-6);
    for (std::size_t level = 1; level < 4; level++)
        BOOST_CHECK_CLOSE(effect(factor(study, 0), level) - effect(factor(study, 0), level - 1), 30, 1e-6);
    BOOST_CHECK_SMALL(value_of(json_array_get(json_object_get(study.get(), "pairs"), 0), "share"), 1e-9);
}

BOOST_AUTO_TEST_CASE(an_elasticity_is_the_exponent_of_a_power) {
    const made_sweep m;
    m.set("height", "(m + 1) * x * x * x");
    const auto study = m.study();
    BOOST_CHECK_CLOSE(value_of(factor(study, 1), "elasticity"), 3, 1e-6);
    BOOST_CHECK(json_is_null(json_object_get(factor(study, 0), "elasticity"))); // methods are no numbers
    m.set("height", "x - 11");
    BOOST_CHECK(json_is_null(json_object_get(factor(m.study(), 1), "elasticity")));
}

BOOST_AUTO_TEST_CASE(the_best_point_is_printed_beside_the_base_key_by_key) {
    const made_sweep m("set: {--method: stack, --capacity: 0.011 KB}\n"); // 11 B, spelt otherwise
    m.set("height", "100 + 10 * abs(x - 10) + 30 * abs(m - 1)");
    ask(m.results, "UPDATE point SET height = 140, status = 0 WHERE point = -1");
    const auto study = m.study();
    const json_t *best = json_object_get(study.get(), "best");
    BOOST_CHECK_EQUAL(value_of(best, "point"), 6);
    BOOST_CHECK_CLOSE(value_of(best, "gain_pct"), 100 * 40.0 / 140, 1e-6);
    BOOST_CHECK_EQUAL(value_of(factor(study, 0), "goal_at_base"), 130);
    BOOST_CHECK_EQUAL(value_of(factor(study, 1), "goal_at_base"), 110);
    BOOST_CHECK_EQUAL(json_string_value(json_object_get(factor(study, 1), "base")), std::string("11 B"));
    const command_result run = run_tlmalloc({"study", m.results});
    BOOST_CHECK_MESSAGE(contains(run.out, "best: point 6, 100, 28.57 % better than the base's 140\n"), run.out);
    BOOST_CHECK_MESSAGE(contains(run.out, "base stack; with the base's value it is 130, +30 %\n"), run.out);
}

BOOST_AUTO_TEST_CASE(the_front_is_that_of_comparing_all_with_all) {
    const made_sweep m;
    seeded_random random(11);
    for (int round = 0; round < 10; round++) {
        std::vector<std::vector<double>> figures;
        m.set("height", "0");
        for (int point = 0; point < 20; point++) {
            figures.emplace_back();
            for (const char *name : {"height", "bound", "optimal"}) {
                figures.back().push_back(static_cast<double>(random.between(0, 7)));
                ask(m.results, std::string("UPDATE point SET ") + name + " = " + std::to_string(figures.back().back()) +
                                   " WHERE point = " + std::to_string(point));
            }
            figures.back()[1] *= -1; // the larger the better
        }
        std::set<int> front;
        for (int a = 0; a < 20; a++) {
            bool covered = false;
            for (int b = 0; b < 20 && !covered; b++) {
                const auto &x = figures[static_cast<std::size_t>(a)], &y = figures[static_cast<std::size_t>(b)];
                covered = b != a && y[0] <= x[0] && y[1] <= x[1] && y[2] <= x[2] && (y != x || b < a);
            }
            if (!covered) front.insert(a);
        }
        const auto study = m.study({"--pareto", "height,max bound, optimal"});
        std::set<int> found;
        double before = -1;
        std::size_t i;
        json_t *point;
        json_array_foreach(json_object_get(study.get(), "front"), i, point) {
            found.insert(static_cast<int>(value_of(point, "point")));
            const double first = json_number_value(json_array_get(json_object_get(point, "figures"), 0));
            BOOST_CHECK_GE(first, before);
            before = first;
        }
        BOOST_CHECK(found == front);
    }
}

BOOST_AUTO_TEST_CASE(drawn_numbers_are_grouped) {
    scratch_directory scratch;
    scratch.write("buffers.csv", buffers);
    const std::string
        file = scratch.write(
            "s.yaml",
            "name: drawn\ncommand: plan\ninput: buffers.csv\nset: {--method: best}\nsample: latin\ncount: 160\n"
            "keys: [{key: --capacity, from: 1000, to: 9000}]\nfigures: {height: height}\n"),
        results = scratch.path("r.sqlite");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"sweep", file, "-o", results}).status, 0);
    ask(results, "UPDATE point SET height = \"--capacity\" * 2");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"study", results, "--json", scratch.path("s.json")}).status, 0);
    const std::shared_ptr<json_t> study(json_load_file(scratch.path("s.json").c_str(), 0, nullptr), json_decref);
    const json_t *levels = json_object_get(factor(study, 0), "levels");
    BOOST_REQUIRE_EQUAL(json_array_size(levels), 8u);
    for (std::size_t i = 0; i < 8; i++)
        BOOST_CHECK_EQUAL(value_of(json_array_get(levels, i), "points"), 20);
    BOOST_CHECK_CLOSE(effect(factor(study, 0), 7), 7000, 2.0);
    BOOST_CHECK_GT(value_of(factor(study, 0), "share"), 0.97);
}

BOOST_AUTO_TEST_CASE(csv_and_picture_are_the_same_whatever_ran_beside) {
    const made_sweep one("", "1"), two("", "2");
    for (const made_sweep *m : {&one, &two}) {
        const command_result run =
            run_tlmalloc({"study", m->results, "--csv", m->scratch.path("p.csv"), "--plot", m->scratch.path("plots")});
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    }
    const std::string csv = read_text(one.scratch.path("p.csv"));
    BOOST_CHECK(contains(csv, "point,configuration,status,message,--method,--capacity,height,bound,optimal\n"));
    BOOST_CHECK_EQUAL(std::count(csv.begin(), csv.end(), '\n'), 21);
    BOOST_CHECK(contains(csv, ",\"buffers.csv") || contains(csv, "buffers.csv: no plan exists in 9 bytes"));
    // The message names the file, which lies elsewhere.
    std::string other = read_text(two.scratch.path("p.csv"));
    const std::string folder = one.scratch.path(""), elsewhere = two.scratch.path("");
    for (std::size_t at; (at = other.find(elsewhere)) != std::string::npos;)
        other.replace(at, elsewhere.size(), folder);
    const auto without_hash = [](const std::string &text) { // the path is part of it
        std::istringstream in(text);
        std::string line, all;
        while (std::getline(in, line)) {
            const std::size_t first = line.find(',');
            all += line.substr(0, first) + line.substr(line.find(',', first + 1)) + "\n";
        }
        return all;
    };
    BOOST_CHECK_EQUAL(without_hash(csv), without_hash(other));
    BOOST_CHECK_EQUAL(read_text(one.scratch.path("plots/plans.dat")), read_text(two.scratch.path("plots/plans.dat")));
    BOOST_CHECK(contains(read_text(one.scratch.path("plots/plans.gp")), "set output 'plans.svg'"));
    if (run_shell("command -v gnuplot").status == 0)
        BOOST_CHECK(contains(read_text(one.scratch.path("plots/plans.svg")), "</svg>"));
}

BOOST_AUTO_TEST_CASE(files_that_are_no_sweep_are_rejected) {
    const made_sweep m;
    const auto refused = [](const command_result &run, int status, const std::string &why) {
        BOOST_CHECK_EQUAL(run.status, status);
        BOOST_CHECK_MESSAGE(contains(run.err, why), run.err);
    };
    refused(run_tlmalloc({"study", m.results, "--goal", "hight"}), 2,
            "--goal: found \"hight\", expected a figure of " + m.results +
                ": height, bound, optimal, did you mean \"height\"?");
    refused(run_tlmalloc({"study", m.results, "--pareto", "height,x"}), 2, "--pareto: found \"x\"");
    refused(run_tlmalloc({"study", m.scratch.path("s.yaml")}), 2, "not a results file of tlmalloc sweep");
    refused(run_tlmalloc({"study", m.scratch.path("none")}), 1, "none: cannot be read: No such file or directory");
    refused(run_tlmalloc({"study", m.results, "--json", m.results}), 2, "--json");
    refused(run_tlmalloc({"study"}), 2, "expected a FILE that `tlmalloc sweep' wrote");
    m.set("height", "NULL");
    refused(run_tlmalloc({"study", m.results}), 1, "none of 20 points has the figure height");
    ask(m.results, "PRAGMA user_version = 9");
    refused(run_tlmalloc({"study", m.results}), 2, "the file has version 9, expected version 1");
}
