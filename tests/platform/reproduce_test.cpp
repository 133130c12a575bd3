// `tlmalloc reproduce`: rows against published values, the exit status of a missed bound, findings with their place.
#include "platform/experiment_figures.hpp"
#include "today.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace {

const std::string experiments = TLMALLOC_SOURCE_DIR "/configs/experiments";

// Experiments that take seconds: each has a case of its own here, in plan_or_allocate_test, in ranges_test or in
// kernbench_on_hbm4_test, and runs once.
const std::vector<std::string> dear{"allocator_felt",    "allocator_traffic", "compaction_felt",
                                    "kernbench_on_hbm4", "kernbench_parity",  "kernbench_transport_all_reduce",
                                    "neummu_ladder",     "plan_or_allocate",  "ranges"};

// What rows have, and what is far away says why.
struct row_counts {
    std::string names, standings;
    std::size_t bounded = 0;
};

row_counts check_rows(json_t *report) {
    row_counts counts;
    std::size_t i, j;
    json_t *experiment, *row;
    json_array_foreach(json_object_get(report, "experiments"), i, experiment) {
        counts.names += std::string(json_string_value(json_object_get(experiment, "name"))) + " ";
        json_array_foreach(json_object_get(experiment, "rows"), j, row) {
            for (const char *key : {"label", "model", "standing", "reference", "published", "unit", "deviation_pct",
                                    "bound_pct", "at_most", "fitted", "source", "note"})
                BOOST_CHECK_MESSAGE(json_object_get(row, key), key);
            const auto is_real = [row](const char *key) { return json_is_real(json_object_get(row, key)); };
            const std::string standing = json_string_value(json_object_get(row, "standing"));
            const std::string label = json_string_value(json_object_get(row, "label"));
            BOOST_CHECK_EQUAL(is_real("reference"), standing != "none");
            BOOST_CHECK_EQUAL(is_real("published"), standing == "published");
            const double deviation = json_real_value(json_object_get(row, "deviation_pct"));
            const bool explained = is_real("at_most") || json_is_true(json_object_get(row, "fitted")) ||
                                   *json_string_value(json_object_get(row, "note"));
            BOOST_CHECK_MESSAGE(is_real("bound_pct") || std::abs(deviation) < 10 || explained, label);
            counts.standings += standing + ", ";
            counts.bounded += is_real("bound_pct");
        }
    }
    return counts;
}

// A folder for experiments, in one that is like that of the configurations.
std::string make_folder(const scratch_directory &scratch) {
    const std::string configs = scratch.path("configs");
    std::filesystem::create_directories(configs + "/experiments");
    for (const auto &entry : std::filesystem::directory_iterator(experiments + "/.."))
        if (entry.path().filename() != "experiments")
            std::filesystem::create_symlink(entry.path(), std::filesystem::path(configs) / entry.path().filename());
    return configs + "/experiments";
}

// A dear experiment with its rows of today, one of every `step`, which meets its bounds.
void check_alone(const std::string &name, std::size_t step) {
    BOOST_CHECK(std::find(dear.begin(), dear.end(), name) != dear.end());
    scratch_directory scratch;
    const std::string text = read_text(experiments + "/" + name + ".yaml"), row_begins = "\n  - ";
    std::vector<std::string> rows;
    const std::size_t first = text.find(row_begins);
    for (std::size_t at = first; at != std::string::npos;) {
        const std::size_t next = text.find(row_begins, at + 1);
        rows.push_back(text.substr(at, next - at));
        at = next;
    }
    std::string part = text.substr(0, first);
    for (const std::string &row : some_of_today(rows, step))
        part += row;
    const std::string from = make_folder(scratch);
    write_text(from + "/" + name + ".yaml", part + "\n");
    const command_result run = run_tlmalloc({"reproduce", name, "--from", from, "--json", scratch.path("r.json")});
    BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
    json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    BOOST_CHECK_EQUAL(check_rows(report).names, name + " ");
    json_decref(report);
}

} // namespace

// All but the dear ones.
BOOST_AUTO_TEST_CASE(every_experiment_meets_its_bounds_and_reports_it_in_json) {
    scratch_directory scratch;
    const std::string from = make_folder(scratch);
    std::size_t left_out = 0;
    for (const auto &entry : std::filesystem::directory_iterator(experiments))
        if (std::find(dear.begin(), dear.end(), entry.path().stem()) != dear.end())
            left_out++;
        else
            std::filesystem::create_symlink(entry.path(), std::filesystem::path(from) / entry.path().filename());
    BOOST_CHECK_EQUAL(left_out, dear.size());
    const command_result run = run_tlmalloc({"reproduce", "--from", from, "--data",
                                             experiments + "/../../../shared/data", "--json", scratch.path("r.json")});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_EQUAL(run.err, "");
    json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    const row_counts counts = check_rows(report);
    json_decref(report);
    for (const char *name : {"compaction",
                             "compaction_aged",
                             "compaction_laws",
                             "compaction_sweep",
                             "engines",
                             "engines_hour",
                             "faults",
                             "faults_oversubscription",
                             "kernbench_kernels",
                             "kernbench_transport",
                             "kernbench_transport_messages",
                             "kernbench_transport_routing",
                             "map_visibility",
                             "serving_goldens",
                             "serving_layer_types",
                             "serving_measured",
                             "serving_eviction",
                             "serving_prefix_cache",
                             "serving_reservation",
                             "energy",
                             "vattention_spike",
                             "walker_ceilings",
                             "xtrain_scaling"})
        BOOST_CHECK_MESSAGE(contains(counts.names, name), counts.names);
    BOOST_CHECK_GE(counts.bounded, 9u);
    for (const char *standing : {"none, ", "published, ", "closed form, ", "input, "})
        BOOST_CHECK_MESSAGE(contains(counts.standings, standing), counts.standings);
    BOOST_CHECK(contains(run.out, "fitted input"));
    BOOST_CHECK(contains(run.out, "the published window ends at random"));
    BOOST_CHECK(contains(run.out, "\nLong experiments, which run only when named: kernbench_transport_root "
                                  "mooncake_allocator serving_hour "
                                  "serving_platform xtrain_scaling_bridge\n"));
}

BOOST_AUTO_TEST_CASE(one_of_the_two_longest_experiments_meets_its_bounds_every_day) {
    for (const std::string &name :
         some_of_today(std::vector<std::string>{"allocator_felt", "kernbench_transport_all_reduce"}, 2))
        check_alone(name, name == "allocator_felt" ? 4 : 1);
}

// How many figures have a bound, which of them are fitted, which are predictions, and how far off the worst one is.
BOOST_AUTO_TEST_CASE(pages_count_the_figures_of_kernbench_parity_as_the_experiment_does) {
    scratch_directory scratch;
    const command_result run =
        run_tlmalloc({"reproduce", "kernbench_parity", "--from", experiments, "--json", scratch.path("r.json")});
    BOOST_REQUIRE_EQUAL(run.status, 0);
    json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr), *row;
    BOOST_REQUIRE(report);
    check_rows(report);
    std::vector<std::string> fitted, predicted;
    double worst = 0;
    std::size_t i;
    json_array_foreach(json_object_get(json_array_get(json_object_get(report, "experiments"), 0), "rows"), i, row) {
        if (!json_is_real(json_object_get(row, "bound_pct")) || !json_is_real(json_object_get(row, "published")))
            continue;
        std::ostringstream number; // as pages write it: 8,230
        number << json_real_value(json_object_get(row, "published"));
        std::string text = number.str();
        if (text.find('.') == std::string::npos && text.size() > 3) text.insert(text.size() - 3, ",");
        (json_is_true(json_object_get(row, "fitted")) ? fitted : predicted).push_back(text);
        worst = std::max(worst, std::abs(json_real_value(json_object_get(row, "deviation_pct"))));
    }
    json_decref(report);
    std::ostringstream within;
    within << fitted.size() + predicted.size() << " published figures, all within " << std::ceil(worst * 10) / 10
           << " %";
    const auto page = [](const char *name) {
        std::string words = read_text(TLMALLOC_SOURCE_DIR + std::string(name));
        std::replace(words.begin(), words.end(), '\n', ' ');
        return words;
    };
    BOOST_CHECK_MESSAGE(contains(page("/README.md"), within.str()), "README.md does not say: " << within.str());
    const std::string text = page("/platform/results.md");
    BOOST_CHECK_MESSAGE(contains(text, within.str()), "platform/results.md does not say: " << within.str());
    const std::size_t begin = text.find(within.str()), of_fitted = text.find(" are fitted", begin),
                      of_predicted = text.find(" are predictions (", of_fitted);
    BOOST_REQUIRE(of_predicted != std::string::npos);
    const auto counts = [&](std::size_t at, std::size_t count) {
        const std::string number = " " + std::to_string(count);
        BOOST_CHECK_MESSAGE(text.substr(at - number.size(), number.size()) == number,
                            "platform/results.md: not" << number);
    };
    counts(of_fitted, fitted.size());
    counts(of_predicted, predicted.size());
    const std::string first = text.substr(of_fitted, of_predicted - of_fitted),
                      second = text.substr(of_predicted, text.find(')', of_predicted) - of_predicted);
    for (const std::string &figure : fitted)
        BOOST_CHECK_MESSAGE(contains(first, figure), "platform/results.md does not call " << figure << " fitted");
    for (const std::string &figure : predicted)
        BOOST_CHECK_MESSAGE(contains(second, figure),
                            "platform/results.md does not call " << figure << " a prediction");
}

// Where DMA is the bound, the ladder needs its last step.
BOOST_AUTO_TEST_CASE(without_path_registers_the_ladder_misses_its_end) {
    scratch_directory scratch;
    std::string text = read_text(experiments + "/neummu_ladder.yaml");
    const std::string row_begins = "\n  - label: ", on = "path_registers: true";
    for (std::size_t at = text.find(row_begins); at != std::string::npos;) { // its end and the oracles
        const std::size_t next = text.find(row_begins, at + 1);
        const std::string row = text.substr(at, next - at);
        const bool stays = contains(row, "label: oracle\n") || contains(row, "label: \"DMA bound: oracle\"\n") ||
                           contains(row, "label: \"DMA bound: + path registers\"\n");
        if (!stays) text.erase(at, row.size());
        at = text.find(row_begins, stays ? at + 1 : at);
    }
    BOOST_REQUIRE(contains(text, on));
    text.replace(text.find(on), on.size(), "path_registers: false");
    const command_result run = run_tlmalloc({"reproduce", scratch.write("ladder.yaml", text)});
    BOOST_CHECK_EQUAL(run.status, 1);
    const std::size_t row = run.out.find("DMA bound: + path registers");
    BOOST_REQUIRE(row != std::string::npos);
    BOOST_CHECK_MESSAGE(contains(run.out.substr(row, run.out.find('\n', row) - row), "MISSED"), run.out);
}

// Rows without their data, and all of them where there are none.
BOOST_AUTO_TEST_CASE(a_row_whose_data_are_missing_is_skipped_with_a_reason) {
    scratch_directory scratch;
    const std::string report = scratch.path("r.json");
    const command_result run = run_tlmalloc(
        {"reproduce", "serving_reservation", "--from", experiments, "--data", "/nowhere", "--json", report});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK(contains(run.out, "    skipped: /nowhere/serving/lengths/sharegpt2023_like.csv is missing (--data)\n"));
    json_t *read = json_load_file(report.c_str(), 0, nullptr), *row;
    std::size_t i;
    json_array_foreach(json_object_get(json_array_get(json_object_get(read, "experiments"), 0), "rows"), i, row) {
        BOOST_CHECK(json_is_true(json_object_get(row, "skipped")));
        BOOST_CHECK(json_is_null(json_object_get(row, "model")));
        BOOST_CHECK(json_is_null(json_object_get(row, "deviation_pct")));
    }
    json_decref(read);
}

// Data of one's own, and data that make no sense.
BOOST_AUTO_TEST_CASE(requests_of_a_row_lie_in_the_data_folder_and_bad_ones_are_rejected) {
    scratch_directory scratch;
    scratch.write("good.jsonl",
                  "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [1, 2]}\n"
                  "{\"timestamp\": 0, \"input_length\": 600, \"output_length\": 1, \"hash_ids\": [1, 3]}\n");
    scratch.write("cut.jsonl", "{\"timestamp\": 0, \"input_length\": 600");
    const auto run = [&](const std::string &file) {
        const std::string text =
            "name: e\nunit: u\nworkload: prefix_cache\nrows:\n  - {label: a, with: {requests: " + file +
            ", capacity: 0}}\n";
        return run_tlmalloc({"reproduce", scratch.write("e.yaml", text), "--data", scratch.path("")});
    };
    BOOST_CHECK(contains(run("good.jsonl").out, " 42.67 ")); // 512 of 1200
    const command_result bad = run("cut.jsonl");
    BOOST_CHECK_EQUAL(bad.status, 2);
    BOOST_CHECK_MESSAGE(contains(bad.err, "cut.jsonl:1:37: found the end of the line, expected ',' or '}'"), bad.err);
}

BOOST_AUTO_TEST_CASE(a_row_names_the_kind_of_its_reference) {
    scratch_directory scratch;
    const auto out = [&](const std::string &row) {
        const command_result run = run_tlmalloc({"reproduce", scratch.write("e.yaml", stream(row))});
        BOOST_CHECK_MESSAGE(run.status == 0, run.err);
        return run.out;
    };
    BOOST_CHECK(contains(out("published: 5, source: them"), " published    them\n    no bound: reported only\n"));
    BOOST_CHECK(contains(out("closed_form: 5, bound: 99999, source: sum"), " closed form  sum\n\n"));
    BOOST_CHECK(contains(out("input: 5, source: us, note: so it is"),
                         " input        us\n    fitted input: this shows only that the configuration takes effect\n    "
                         "no bound: reported only\n    so it is\n"));
    BOOST_CHECK(contains(out("source: nobody"), " none         nobody\n\n"));
}

// An axis of decades where values are two of them apart; a zero has none.
BOOST_AUTO_TEST_CASE(a_plot_has_an_axis_that_shows_every_value) {
    scratch_directory scratch;
    const auto script = [&](const std::string &rows) {
        const std::string path = scratch.write("e.yaml", stream(rows));
        BOOST_CHECK_EQUAL(run_tlmalloc({"reproduce", path, "--plot", scratch.path("plots")}).status, 0);
        return read_text(scratch.path("plots/s.gp"));
    };
    BOOST_CHECK(contains(script("published: 0.001, source: s"), "set logscale y\nfloor = 0.0001\n"));
    BOOST_CHECK(!contains(script("published: 20, source: s"), "logscale"));
    BOOST_CHECK(!contains(script("published: 0, source: s"), "logscale"));
    BOOST_CHECK(contains(script("published: 1000000, source: s"), "set yrange [floor:3000000]\n"));
}

BOOST_AUTO_TEST_CASE(with_walks_in_memory_every_step_of_the_ladder_leads_up) {
    scratch_directory scratch;
    const std::string path = scratch.path("r.json");
    BOOST_CHECK_EQUAL(run_tlmalloc({"reproduce", "neummu_ladder", "--from", experiments, "--json", path}).status, 0);
    json_t *report = json_load_file(path.c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    check_rows(report);
    json_t *rows = json_object_get(json_array_get(json_object_get(report, "experiments"), 0), "rows"), *row;
    std::vector<double> steps;
    std::size_t i;
    json_array_foreach(rows, i, row) if (contains(json_string_value(json_object_get(row, "label")), "walks in memory"))
        steps.push_back(json_number_value(json_object_get(row, "model")));
    BOOST_REQUIRE_EQUAL(steps.size(), 4u);
    for (i = 1; i < steps.size(); i++)
        BOOST_CHECK_GT(steps[i], steps[i - 1] + 2); // percent of the oracle: walkers count too
    json_decref(report);
}

// A walk that booked its whole future in one call would hold up reads for thousands of ns, and would not feel a stream.
BOOST_AUTO_TEST_CASE(a_walk_of_the_free_list_and_what_runs_beside_it_wait_for_single_accesses) {
    auto figures = figures_of({"allocator_traffic", "--from", experiments});
    const auto of = [&](const std::string &label) {
        BOOST_REQUIRE_MESSAGE(figures.count(label), label);
        return figures[label].first;
    };
    BOOST_CHECK_LT(of("read, 64 nodes walked"), 60); // ns
    BOOST_CHECK_LT(of("worst read, 64 nodes walked"), 100);
    for (const char *nodes : {"16", "64", "256"}) {
        const std::string list = std::string(nodes) + " nodes";
        BOOST_CHECK_GT(of("ALLOC, " + list + ", beside the stream"), 3 * of("ALLOC, " + list));
        BOOST_CHECK_LT(of("ALLOC, " + list + ", beside the stream"), 6 * of("ALLOC, " + list));
        BOOST_CHECK_LT(of("stream, " + list), of("stream alone") - 1);
        BOOST_CHECK_GE(of("lost by the stream, " + list), 0.97); // what the accesses take, at least
    }
    BOOST_CHECK_EQUAL(of("ALLOC, 64 nodes in registers, beside the stream"), of("ALLOC, 64 nodes in registers"));
    BOOST_CHECK_EQUAL(figures["stream alone"].second, "GB/s");
    BOOST_CHECK_EQUAL(figures["ALLOC, 64 nodes"].second, "ns");
    // In banks reads go first: a command that waited for the data of its one write would not end beside the stream.
    for (const std::string part : {"hbm2 banks: ", "hbm3 banks: "}) {
        BOOST_CHECK_GT(of(part + "ALLOC, 64 nodes, beside the stream"), 10 * of(part + "ALLOC, 64 nodes"));
        BOOST_CHECK_CLOSE(of(part + "stream, 64 nodes"), of(part + "stream alone"), 1); // percent
        BOOST_CHECK_GT(of(part + "read, 64 nodes walked"), of(part + "read, alone"));
        BOOST_CHECK_LT(of(part + "read, 64 nodes walked"), of(part + "read, alone") + 10); // not the whole list
        BOOST_CHECK_GT(of(part + "read, beside the stream"), 5 * of(part + "read, alone"));
    }
}

BOOST_AUTO_TEST_CASE(the_traffic_of_the_allocator_does_not_depend_on_the_quantum) {
    scratch_directory scratch;
    for (const std::string timing : {"channels", "hbm3"}) {
        const std::string text = "name: s\nunit: ns\nworkload: allocator_traffic\n"
                                 "with: {nodes: 40, window: 5 us, commands: true, stream: true, reads: true}\n"
                                 "set: {system.pes_per_cube: 1, controller.free_list: hbm, hbm.timing: " +
                                 timing + ", simulation.quantum: ";
        const std::string rows = "}\nrows: [{label: a, figure: alloc}, {label: f, figure: free},"
                                 "{label: r, figure: read}, {label: w, figure: worst_read}]\n";
        const auto without = figures_of({scratch.write("0.yaml", text + "0 ns" + rows)});
        const auto with = figures_of({scratch.write("10.yaml", text + "10 us" + rows)});
        BOOST_CHECK(without == with);
        BOOST_CHECK_EQUAL(without.size(), 4u);
    }
}

// A row says which figure of its run it wants; one that its parameters leave out is an error, and rows of one unit are
// a picture of their own.
BOOST_AUTO_TEST_CASE(a_row_can_ask_for_one_of_several_figures_in_its_own_unit) {
    scratch_directory scratch;
    const std::string head = "name: s\nunit: ns\nworkload: allocator_traffic\n"
                             "set: {system.pes_per_cube: 1}\n"
                             "with: {nodes: 4, window: 1 us, commands: true, stream: true, reads: false}\nrows:\n";
    const std::string good = scratch.write("good.yaml", head + "  - {label: a, figure: alloc}\n"
                                                               "  - {label: b, figure: stream, unit: GB/s}\n"
                                                               "  - {label: c}\n");
    const command_result run = run_tlmalloc({"reproduce", good, "--plot", scratch.path("plots")});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK(contains(run.out, "\nGB/s "));
    const std::string data = read_text(scratch.path("plots/s.dat")), script = read_text(scratch.path("plots/s.gp"));
    BOOST_CHECK_EQUAL(data.substr(0, data.find(" NaN")), "\"a\" 5"); // 1 ns + 4 * 1 ns
    BOOST_CHECK(contains(data, "\"c\" 5 NaN\n\n\n\"b\" "));
    BOOST_CHECK(contains(script, "set multiplot layout 2,1\n"));
    BOOST_CHECK(contains(script, "index 1 using 2:xtic(1)"));
    const auto refused = [&](const std::string &row) {
        const command_result bad = run_tlmalloc({"reproduce", scratch.write("bad.yaml", head + row)});
        BOOST_CHECK_EQUAL(bad.status, 1);
        return bad.err;
    };
    BOOST_CHECK_EQUAL(refused("  - {label: a, figure: read}\n"),
                      "tlmalloc reproduce: s: a: the simulation did not measure the figure\n");
    BOOST_CHECK_EQUAL(refused("  - {label: a, with: {nodes: 0}}\n"),
                      "tlmalloc reproduce: s: a: no free list of 0 nodes (1 .. 65536): an argument is out of range\n");
}

BOOST_AUTO_TEST_CASE(the_same_experiment_gives_the_same_report) {
    scratch_directory scratch;
    for (const char *name : {"a", "b"})
        BOOST_CHECK_EQUAL(
            run_tlmalloc({"reproduce", "vattention_spike", "--from", experiments, "--json", scratch.path(name)}).status,
            0);
    BOOST_CHECK_EQUAL(read_text(scratch.path("a")), read_text(scratch.path("b")));
}

BOOST_AUTO_TEST_CASE(a_missed_bound_is_reported_and_sets_the_exit_status) {
    scratch_directory scratch;
    const std::string good = scratch.write("good.yaml", stream("published: 1000, source: none"));
    BOOST_CHECK_EQUAL(run_tlmalloc({"reproduce", good}).status, 0);
    const std::string bad = scratch.write("bad.yaml", stream("published: 1000, bound: 2, source: none"));
    const command_result run = run_tlmalloc({"reproduce", bad});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_MESSAGE(contains(run.out, "MISSED"), run.out);
}

// A figure that is a deviation itself has no value to compare with, and a bound in its own unit: 256 KiB by a row's 8
// walkers, so many GB/s.
BOOST_AUTO_TEST_CASE(a_figure_may_have_a_bound_of_its_own) {
    scratch_directory scratch;
    for (const bool met : {true, false}) {
        const std::string path =
            scratch.write("e.yaml", stream(met ? "at_most: 1000.5, source: none" : "at_most: 0.25, source: none"));
        const command_result run = run_tlmalloc({"reproduce", path, "--json", scratch.path("r.json")});
        BOOST_CHECK_EQUAL(run.status, met ? 0 : 1);
        BOOST_CHECK_MESSAGE(contains(run.out, met ? " <= 1e+03 " : " <= 0.25 "), run.out);
        BOOST_CHECK_EQUAL(contains(run.out, "MISSED"), !met);
        BOOST_CHECK(contains(read_text(scratch.path("r.json")), met ? "\"at_most\": 1000.5" : "\"at_most\": 0.25"));
    }
}
