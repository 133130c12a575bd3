// `tlmalloc reproduce plan_views`: literal plans of programs with views on a platform, whose bytes show what is
// overwritten, beside repaired plans and beside what `tlmalloc plan` reports.
#include "../unit/seeded_random.hpp"
#include "platform/command_line.hpp"
#include "today.hpp"

#include <cstdio>
#include <jansson.h>
#include <map>
#include <memory>
#include <vector>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";

using figures = std::map<std::string, std::map<std::string, double>>; // of each row, by name
using document = std::unique_ptr<json_t, void (*)(json_t *)>;

document load(const std::string &path) {
    document read(json_load_file(path.c_str(), 0, nullptr), json_decref);
    BOOST_REQUIRE(read);
    return read;
}

figures run_experiment(const std::string &path) {
    scratch_directory scratch;
    const command_result run = run_tlmalloc({"reproduce", path, "--json", scratch.path("r.json")});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.out + run.err);
    const document report = load(scratch.path("r.json"));
    figures found;
    std::size_t i;
    json_t *row, *experiment = json_array_get(json_object_get(report.get(), "experiments"), 0);
    json_array_foreach(json_object_get(experiment, "rows"), i, row)
        found[json_string_value(json_object_get(row, "label"))][json_string_value(json_object_get(row, "figure"))] =
            json_number_value(json_object_get(row, "model"));
    return found;
}

// A program of up to 34 values: each op, view and concat reads what was made lately, and a concat is read at once.
class drawn_program {
  public:
    explicit drawn_program(seeded_random &random) : random_(random) {
        for (int i = 0; i < 2; i++)
            add({}, 64 * random.between(1, 60), "", 0);
        for (std::uint64_t n = random.between(14, 30); values_.size() < n;) {
            const std::uint64_t choice = random.between(1, 10);
            const std::size_t v = recent();
            if (choice <= 2)
                add({v}, values_[v].nbytes, "reshape", 0);
            else if (choice <= 4 && values_[v].nbytes >= 128)
                add({v}, values_[v].nbytes / 128 * 64, "slice", values_[v].nbytes / 256 * 64);
            else if (choice <= 6)
                join();
            else if (random.one_in(2))
                compute({v, recent()});
            else
                compute({v});
        }
    }

    // What nobody reads is returned.
    std::string table() const {
        std::string text = "id,operands,size,view,from,io\n";
        for (std::size_t v = 0; v < values_.size(); v++) {
            const value &made = values_[v];
            text += "v" + std::to_string(v) + ",";
            for (const std::size_t operand : made.operands)
                text += "v" + std::to_string(operand) + " ";
            text += "," + std::to_string(made.nbytes) + "," + made.view + "," +
                    (made.view == "slice" ? std::to_string(made.from) : "") + "," +
                    (made.operands.empty() ? "input"
                     : made.is_read        ? ""
                                           : "output") +
                    "\n";
        }
        return text;
    }

  private:
    struct value {
        std::vector<std::size_t> operands;
        std::uint64_t nbytes, from;
        std::string view;
        bool is_read, is_joined;
    };
    std::size_t recent() { return random_.between(values_.size() > 10 ? values_.size() - 10 : 0, values_.size() - 1); }
    void add(const std::vector<std::size_t> &operands, std::uint64_t nbytes, const std::string &view,
             std::uint64_t from) {
        for (const std::size_t operand : operands)
            values_[operand].is_read = true;
        values_.push_back({operands, nbytes, from, view, false, false});
    }
    void compute(const std::vector<std::size_t> &operands) { add(operands, 64 * random_.between(1, 60), "", 0); }
    void join() {
        std::vector<std::size_t> operands;
        std::uint64_t nbytes = 0;
        for (int tries = 0; tries < 8 && operands.size() < 3; tries++) {
            const std::size_t v = recent();
            value &made = values_[v];
            if (made.is_joined || !made.view.empty() || made.operands.empty()) continue;
            made.is_joined = true;
            operands.push_back(v);
            nbytes += made.nbytes;
        }
        if (operands.size() == 1) values_[operands[0]].is_joined = false;
        if (operands.size() < 2) return;
        add(operands, nbytes, "concat", 0);
        compute({values_.size() - 1});
    }
    seeded_random &random_;
    std::vector<value> values_;
};

// The number of pairs of values that the command reports as overwritten.
std::uint64_t reported_pairs(const std::string &table, const std::string &mode) {
    scratch_directory scratch;
    const command_result run = run_tlmalloc({"plan", table, "--method", "size_order", "--align", "256",
                                             "--address-mode", mode, "--literal", "--json", scratch.path("r.json")});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    const document report = load(scratch.path("r.json"));
    const json_t *program = json_object_get(report.get(), "program");
    return static_cast<std::uint64_t>(json_integer_value(json_object_get(program, "overwritten_pairs")));
}

struct count_of_plans {
    std::uint64_t plans, wrong_literally;
};

// Runs both plans of random programs in two modes; a literal plan is wrong on the platform if the command reports it.
count_of_plans compare(std::uint64_t seed, std::size_t programs) {
    seeded_random random(seed);
    scratch_directory scratch;
    count_of_plans counted{};
    std::string text = "name: e\nunit: u\nworkload: program\nfigures: all\n"
                       "platform: " +
                       configs + "npu_small.yaml\nset: {system.pes_per_cube: 1}\nwith: {align: 256 B}\nrows:\n";
    std::map<std::string, bool> is_reported;
    for (std::size_t i = 0; i < programs; i++)
        for (const std::string mode : {"basic", "io_alone"}) {
            const std::string name = "p" + std::to_string(i), label = name + " " + mode;
            const std::string table = mode == "basic" ? scratch.write(name + ".csv", drawn_program(random).table())
                                                      : scratch.path(name + ".csv");
            is_reported[label] = reported_pairs(table, mode) > 0;
            for (const std::string rule : {"literal", "repaired"})
                text += "  - {label: " + label + " " + rule + ", with: {program: " + name + ".csv, rule: " + rule +
                        ", address_mode: " + mode + "}}\n";
        }
    const figures found = run_experiment(scratch.write("e.yaml", text));
    for (const auto &[label, expected] : is_reported) {
        const double wrong = found.at(label + " literal").at("wrong_values");
        BOOST_CHECK_MESSAGE((wrong > 0) == expected, label << " of seed " << seed << ": " << wrong << " wrong values");
        BOOST_CHECK_EQUAL(found.at(label + " repaired").at("wrong_values"), 0);
        BOOST_CHECK_EQUAL(found.at(label + " repaired").at("wrong_outputs"), 0);
        counted.plans++;
        counted.wrong_literally += wrong > 0;
    }
    return counted;
}

command_result run_row(const std::string &table, const std::string &with) {
    scratch_directory scratch;
    scratch.write("p.csv", table);
    return run_tlmalloc({"reproduce", scratch.write("e.yaml", "name: e\nunit: u\nworkload: program\n"
                                                              "with: {program: p.csv, rule: literal, align: 4 KiB, "
                                                              "address_mode: basic}\nrows:\n  - {label: a, figure: "
                                                              "kernel, with: {" +
                                                                  with + "}}\n")});
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_values_that_the_literal_plan_overwrites) {
    const figures found = run_experiment(configs + "experiments/plan_views.yaml");
    const std::string page = read_text(configs + "experiments/README.md");
    BOOST_CHECK_EQUAL(found.size(), 6u);
    for (const auto &[row, all] : found) {
        char text[200];
        std::snprintf(text, sizeof text, "| %s | %.1f | %.0f | %.0f | %.0f |\n", row.c_str(), all.at("kernel"),
                      all.at("height"), all.at("wrong_values"), all.at("wrong_outputs"));
        BOOST_CHECK_MESSAGE(contains(page, text), "not in the page: " << text);
        const bool is_literal = row.find("literal") == 0;
        BOOST_CHECK_EQUAL(all.at("wrong_values") > 0, is_literal);
        if (!is_literal) BOOST_CHECK_EQUAL(all.at("wrong_outputs"), 0);
    }
}

BOOST_AUTO_TEST_CASE(random_programs_lose_bytes_on_the_platform_if_the_command_says_so) {
    count_of_plans all{};
    for (const std::uint64_t seed : numbers_of_today(1, 60, 60)) {
        const count_of_plans some = compare(seed, 10);
        all.plans += some.plans;
        all.wrong_literally += some.wrong_literally;
    }
    const std::string text = std::to_string(all.wrong_literally) + " of " + std::to_string(all.plans);
    BOOST_TEST_MESSAGE(text);
    if (all.plans == 1200)
        BOOST_CHECK_MESSAGE(contains(read_text(configs + "experiments/README.md"), text + " literal plans"), text);
}

BOOST_AUTO_TEST_CASE(a_program_that_no_platform_can_run_is_rejected_with_its_place) {
    const auto refused = [](const std::string &table, const std::string &with, const std::string &text) {
        const command_result run = run_row(table, with);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    const std::string good = "id,operands,size,view,from,io\nx,,8,,,input\n";
    refused(good + "a,x,6,,,\n", "", "p.csv:3: a platform runs values of whole words of 4 B, which 'a' is not");
    refused(good + "a,x,4,slice,2,\n", "", "p.csv:3: a platform runs values of whole words of 4 B");
    refused(good + "a,x x x x x,4,,,\n", "", "p.csv:3: a platform runs ops of at most 4 operands, which 'a' is not");
    refused("id,lower,upper,size\na,0,1,4\n", "", "p.csv: expected a program, a table with the column operands");
    refused("id,operands,size\n", "", "p.csv: expected a program");
    refused(good, "align: 3 B", "align: expected a power of two");
    refused(good, "address_mode: io_tag", "address_mode: found \"io_tag\", expected basic or io_alone or io_reloc");
    refused(good, "rule: original", "rule: found \"original\", expected repaired or literal");
    refused(good, "program: none.csv", "none.csv");
}
