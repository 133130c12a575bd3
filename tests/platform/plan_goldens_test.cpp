// The planners against models of others' rules (../shared/data/allocators).
#include "platform/command_line.hpp"
#include "shared_data.hpp"
#include "tlmalloc/plan/views.h"

#include <jansson.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using document = std::unique_ptr<json_t, void (*)(json_t *)>;

document load(const std::string &name) {
    document read(json_load_file((shared_data + "data/allocators/" + name).c_str(), 0, nullptr), json_decref);
    BOOST_REQUIRE(read);
    return read;
}

std::uint64_t number(const json_t *value) {
    BOOST_REQUIRE(json_is_integer(value));
    return static_cast<std::uint64_t>(json_integer_value(value));
}

// A program of the goldens as the library takes it: the last op returns, and is no tensor.
struct program {
    std::vector<tla_lifetime> tensors;
    std::vector<tla_plan_view> views;
    std::vector<std::size_t> sources;
    std::vector<tla_plan_io> io;
    std::map<std::string, std::size_t> index;
    tla_plan_program view{};

    explicit program(const json_t *ops) {
        std::size_t i, k;
        json_t *op, *name;
        json_array_foreach(ops, i, op) {
            const std::string kind = json_string_value(json_object_get(op, "kind"));
            const json_t *in = json_object_get(op, "in"), *out = json_array_get(json_object_get(op, "out"), 0);
            const json_t *offset = json_object_get(op, "offset");
            const bool is_view = kind != "input" && kind != "op" && kind != "return";
            if (is_view || out)
                views.push_back({sources.size(), is_view ? json_array_size(in) : 0, offset ? number(offset) : 0});
            json_array_foreach(in, k, name) {
                const std::size_t v = index.at(json_string_value(name));
                tensors[v].upper = i + 1;
                if (kind == "return") io[v] = TLA_PLAN_OUTPUT;
                if (is_view) sources.push_back(v);
            }
            if (!out) continue;
            index[json_string_value(json_array_get(out, 0))] = tensors.size();
            tensors.push_back({i, i + 1, number(json_array_get(out, 1))});
            io.push_back(kind == "input" ? TLA_PLAN_INPUT : TLA_PLAN_INNER);
        }
        view.tensors = tensors.data();
        view.views = views.data();
        view.sources = sources.data();
        view.io = io.data();
        view.n = tensors.size();
        view.io_start = TLA_PLAN_ANYWHERE;
    }
    program(const program &) = delete;
};

void check_program(program &p, const json_t *expected, bool is_wrong) {
    const std::uint64_t forever = 0xffffffff;
    const json_t *problem = json_object_get(expected, "problem"), *addresses = json_object_get(expected, "at");
    std::vector<tla_lifetime> live(p.view.n), planned;
    std::vector<std::size_t> who;
    BOOST_REQUIRE_EQUAL(tla_plan_live(&p.view, live.data()), TLA_OK);
    json_t *value;
    std::size_t i, count = 0;
    json_array_foreach(problem, i, value) {
        const std::size_t v = p.index.at(json_string_value(json_array_get(value, 0)));
        const std::uint64_t end = number(json_array_get(value, 2));
        BOOST_CHECK_EQUAL(live[v].lower, number(json_array_get(value, 1)));
        BOOST_CHECK_EQUAL(live[v].upper, end == forever ? p.view.n + 1 : end);
        BOOST_CHECK_EQUAL(live[v].nbytes, number(json_array_get(value, 3)));
        planned.push_back(live[v]);
        who.push_back(v);
    }
    for (const tla_lifetime &l : live)
        count += l.nbytes > 0;
    BOOST_CHECK_EQUAL(count, planned.size());
    std::vector<std::uint64_t> offsets(planned.size()), at(p.view.n);
    std::uint64_t height = 0;
    const tla_plan_options options{p.view.start, p.view.alignment, false};
    BOOST_REQUIRE_EQUAL(
        tla_plan(TLA_PLAN_SIZE_ORDER, planned.data(), planned.size(), &options, offsets.data(), &height), TLA_OK);
    BOOST_CHECK_EQUAL(height, number(json_object_get(expected, "by_size")));
    for (i = 0; i < who.size(); i++)
        at[who[i]] = offsets[i];
    BOOST_REQUIRE_EQUAL(tla_plan_addresses(&p.view, p.view.start + height, at.data(), nullptr), TLA_OK);
    for (const auto &[name, v] : p.index)
        if (const json_t *address = json_object_get(addresses, name.c_str()))
            BOOST_CHECK_MESSAGE(at[v] == number(address), name << " is at " << at[v]);
    BOOST_CHECK_EQUAL(tla_plan_check_program(&p.view, at.data(), nullptr, nullptr), is_wrong ? TLA_OVERLAP : TLA_OK);
}

// What `tlmalloc plan` writes for a table: the offsets by id, and the report.
struct command_plan {
    std::map<std::string, std::uint64_t> at;
    document report{nullptr, json_decref};

    command_plan(const std::string &table, const std::vector<std::string> &options) {
        scratch_directory scratch;
        const std::string out = scratch.path("out.csv"), json = scratch.path("report.json");
        std::vector<std::string> words{"plan", scratch.write("table.csv", table), "-o", out, "--json", json};
        words.insert(words.end(), options.begin(), options.end());
        const command_result run = run_tlmalloc(words);
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        report.reset(json_load_file(json.c_str(), 0, nullptr));
        BOOST_REQUIRE(report);
        std::istringstream rows(read_text(out));
        std::string row;
        std::getline(rows, row);
        while (std::getline(rows, row))
            at[row.substr(0, row.find(','))] = std::stoull(row.substr(row.rfind(',') + 1));
    }
    const json_t *of_program(const char *key) const {
        return json_object_get(json_object_get(report.get(), "program"), key);
    }
};

std::string cell(const json_t *value) {
    if (json_is_integer(value)) return std::to_string(number(value));
    return json_is_string(value) ? json_string_value(value) : "";
}

// A program of the goldens as a table: an identity is a reshape, and what `return` names is an output.
std::string table_of(const json_t *ops) {
    const json_t *last = json_array_get(ops, json_array_size(ops) - 1), *returned = json_object_get(last, "in");
    std::string table = "id,operands,size,view,from,io\n";
    for (std::size_t i = 0; i + 1 < json_array_size(ops); i++) {
        const json_t *op = json_array_get(ops, i), *in = json_object_get(op, "in"),
                     *out = json_array_get(json_object_get(op, "out"), 0);
        const std::string kind = cell(json_object_get(op, "kind")), id = cell(json_array_get(out, 0));
        std::string operands, io = kind == "input" ? "input" : "";
        for (std::size_t k = 0; k < json_array_size(in); k++)
            operands += cell(json_array_get(in, k)) + " ";
        for (std::size_t k = 0; k < json_array_size(returned); k++)
            if (cell(json_array_get(returned, k)) == id) io = "output";
        const std::string view = kind == "identity" ? "reshape" : kind == "input" || kind == "op" ? "" : kind;
        table += id + "," + operands + "," + cell(json_array_get(out, 1)) + "," + view + "," +
                 cell(json_object_get(op, "offset")) + "," + io + "\n";
    }
    return table;
}

// The plan of a program by the command, whose first address is 0.
void check_command(const json_t *each, const char *mode, bool literal, const json_t *expected) {
    std::vector<std::string> options{"--method",       "size_order", "--align", cell(json_object_get(each, "align")),
                                     "--address-mode", mode};
    if (literal) options.emplace_back("--literal");
    const command_plan made(table_of(json_object_get(each, "ops")), options);
    const std::uint64_t base = number(json_object_get(each, "base"));
    BOOST_CHECK_EQUAL(number(json_object_get(made.report.get(), "height")),
                      number(json_object_get(expected, "by_size")));
    const char *name;
    json_t *address;
    json_object_foreach(json_object_get(expected, "at"), name, address)
        BOOST_CHECK_MESSAGE(made.at.at(name) + base == number(address), name << " is at " << made.at.at(name));
    const json_t *lost = json_object_get(expected, "overwritten"), *pairs = made.of_program("overwritten");
    bool is_reported = false;
    for (std::size_t i = 0; i < json_array_size(pairs); i++)
        is_reported =
            is_reported || (cell(json_object_get(json_array_get(pairs, i), "id")) == cell(json_array_get(lost, 0)) &&
                            cell(json_object_get(json_array_get(pairs, i), "by")) == cell(json_array_get(lost, 1)));
    BOOST_CHECK_EQUAL(is_reported, !json_is_null(lost));
    BOOST_CHECK_EQUAL(number(made.of_program("overwritten_pairs")) > 0, !json_is_null(lost));
}

} // namespace

BOOST_AUTO_TEST_CASE(xnnpacks_plans_are_the_golden_ones) {
    if (!shared_data_is_here("data/allocators")) return;
    const document all = load("xnnpack_planner.json");
    json_t *cases = json_object_get(all.get(), "cases"), *each, *value;
    std::size_t c, i;
    BOOST_REQUIRE_EQUAL(json_array_size(cases), 5u);
    json_array_foreach(cases, c, each) {
        json_t *values = json_object_get(each, "values");
        std::vector<tla_lifetime> tensors;
        json_array_foreach(values, i, value) tensors.push_back(
            {number(json_array_get(value, 2)), number(json_array_get(value, 3)) + 1, number(json_array_get(value, 1))});
        for (const bool repaired : {false, true}) {
            const json_t *expected = json_object_get(each, repaired ? "repaired" : "literal");
            std::vector<std::uint64_t> at(tensors.size());
            std::uint64_t height = 0;
            const tla_plan_options options{0, 1, false};
            BOOST_REQUIRE_EQUAL(tla_plan(repaired ? TLA_PLAN_XNNPACK_REPAIRED : TLA_PLAN_XNNPACK, tensors.data(),
                                         tensors.size(), &options, at.data(), &height),
                                TLA_OK);
            BOOST_CHECK_EQUAL(height, number(json_object_get(expected, "bytes")));
            json_array_foreach(values, i, value) {
                const char *name = json_string_value(json_array_get(value, 0));
                BOOST_CHECK_EQUAL(at[i], number(json_object_get(json_object_get(expected, "at"), name)));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(programs_with_views_are_planned_as_the_goldens_are) {
    if (!shared_data_is_here("data/allocators")) return;
    const document all = load("tpumlir_views.json");
    json_t *cases = json_object_get(all.get(), "cases"), *each, *expected;
    std::size_t c;
    const char *mode;
    BOOST_REQUIRE_EQUAL(json_array_size(cases), 6u);
    json_array_foreach(cases, c, each) {
        program p(json_object_get(each, "ops"));
        p.view.alignment = number(json_object_get(each, "align"));
        p.view.start = number(json_object_get(each, "base"));
        json_object_foreach(json_object_get(each, "expect"), mode, expected)
            BOOST_TEST_CONTEXT(json_string_value(json_object_get(each, "name")) << ", " << mode) {
            p.view.mode = std::string(mode) == "basic" ? TLA_ADDRESS_BASIC : TLA_ADDRESS_IO_ALONE;
            p.view.literal = true;
            check_program(p, expected, !json_is_null(json_object_get(expected, "overwritten")));
            p.view.literal = false;
            check_program(p, json_object_get(expected, "repaired"), false);
        }
    }
}

BOOST_AUTO_TEST_CASE(modes_of_addresses_place_inputs_and_outputs_as_the_goldens_do) {
    if (!shared_data_is_here("data/allocators")) return;
    const document all = load("tpumlir_address_modes.json");
    json_t *cases = json_object_get(all.get(), "cases"), *each, *value;
    std::size_t c, i;
    BOOST_REQUIRE_EQUAL(json_array_size(cases), 6u);
    json_array_foreach(cases, c, each) {
        json_t *values = json_object_get(each, "values");
        const json_t *expected = json_array_get(json_object_get(each, "expect"), 0),
                     *to_runtime = json_array_get(json_object_get(each, "expect"), 1),
                     *io_start = json_object_get(each, "io_start");
        std::vector<tla_lifetime> tensors;
        std::vector<tla_plan_io> io;
        std::vector<std::uint64_t> at;
        json_array_foreach(values, i, value) {
            const char *kind = json_string_value(json_array_get(value, 3));
            tensors.push_back({0, 1, number(json_array_get(value, 2))});
            at.push_back(number(json_array_get(value, 1)));
            io.push_back(!kind ? TLA_PLAN_INNER : kind[0] == 'i' ? TLA_PLAN_INPUT : TLA_PLAN_OUTPUT);
        }
        const std::vector<tla_plan_view> views(tensors.size());
        tla_plan_program p{};
        p.tensors = tensors.data();
        p.views = views.data();
        p.io = io.data();
        p.n = tensors.size();
        p.alignment = 4096;
        p.start = number(json_object_get(each, "start"));
        p.io_start = json_is_null(io_start) ? TLA_PLAN_ANYWHERE : number(io_start);
        const std::string mode = json_string_value(json_object_get(each, "mode"));
        while (p.mode < TLA_ADDRESS_MODE_COUNT && mode != tla_address_mode_name(p.mode))
            p.mode = static_cast<tla_address_mode>(p.mode + 1);
        for (std::size_t t = 0; t < TLA_ADDRESS_TAGS; t++)
            p.tags[t] = number(json_array_get(json_object_get(each, "tags"), t));
        tla_plan_regions regions{};
        BOOST_REQUIRE_EQUAL(tla_plan_addresses(&p, number(json_object_get(each, "limit")), at.data(), &regions),
                            TLA_OK);
        json_array_foreach(values, i, value) {
            const char *name = json_string_value(json_array_get(value, 0));
            BOOST_CHECK_MESSAGE(at[i] == number(json_object_get(expected, name)), mode << ": " << name);
        }
        const auto check_region = [&](const char *key, std::uint64_t start, std::uint64_t nbytes) {
            const json_t *region = json_object_get(to_runtime, key);
            BOOST_CHECK_EQUAL(nbytes, region ? number(json_array_get(region, 1)) : 0);
            BOOST_CHECK_EQUAL(start, region ? number(json_array_get(region, 0)) : 0);
        };
        check_region("io", regions.io_start, regions.io_nbytes);
        check_region("neuron", regions.neuron_start, regions.neuron_nbytes);
    }
}

BOOST_AUTO_TEST_CASE(the_command_plans_by_xnnpacks_rules_as_the_goldens_are) {
    if (!shared_data_is_here("data/allocators")) return;
    const document all = load("xnnpack_planner.json");
    json_t *each, *value;
    std::size_t c, i;
    json_array_foreach(json_object_get(all.get(), "cases"), c, each) {
        std::string table = "id,lower,upper,size\n";
        json_array_foreach(json_object_get(each, "values"), i, value) table +=
            cell(json_array_get(value, 0)) + "," + cell(json_array_get(value, 2)) + "," +
            std::to_string(number(json_array_get(value, 3)) + 1) + "," + cell(json_array_get(value, 1)) + "\n";
        for (const bool repaired : {false, true}) {
            const json_t *expected = json_object_get(each, repaired ? "repaired" : "literal");
            const command_plan made(table, {"--method", repaired ? "xnnpack_repaired" : "xnnpack"});
            BOOST_CHECK_EQUAL(number(json_object_get(made.report.get(), "height")),
                              number(json_object_get(expected, "bytes")));
            json_array_foreach(json_object_get(each, "values"), i, value) {
                const std::string name = cell(json_array_get(value, 0));
                BOOST_CHECK_EQUAL(made.at.at(name),
                                  number(json_object_get(json_object_get(expected, "at"), name.c_str())));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_command_plans_programs_with_views_as_the_goldens_are) {
    if (!shared_data_is_here("data/allocators")) return;
    const document all = load("tpumlir_views.json");
    json_t *each, *expected;
    std::size_t c;
    const char *mode;
    json_array_foreach(json_object_get(all.get(), "cases"), c, each) {
        json_object_foreach(json_object_get(each, "expect"), mode, expected)
            BOOST_TEST_CONTEXT(json_string_value(json_object_get(each, "name")) << ", " << mode) {
            check_command(each, mode, true, expected);
            check_command(each, mode, false, json_object_get(expected, "repaired"));
        }
    }
}

// The values of the goldens lie one behind the other, as `stack` places them, and v is the beginning of in1. Those with
// a tag leave the plan in io_tag, so that others lie lower by their bytes. A tag takes v along, which is a view here.
BOOST_AUTO_TEST_CASE(the_command_places_inputs_and_outputs_as_the_goldens_do) {
    if (!shared_data_is_here("data/allocators")) return;
    const std::uint64_t planned_io = 24576;
    const document all = load("tpumlir_address_modes.json");
    json_t *each, *value, *address;
    const char *name;
    std::size_t c, i;
    json_array_foreach(json_object_get(all.get(), "cases"), c, each) {
        const std::string mode = cell(json_object_get(each, "mode"));
        const std::uint64_t start = number(json_object_get(each, "start")), below = mode == "io_tag" ? planned_io : 0;
        const json_t *io_start = json_object_get(each, "io_start");
        std::string table = "id,operands,size,view,io\n";
        json_array_foreach(json_object_get(each, "values"), i, value) {
            const std::string id = cell(json_array_get(value, 0)), kind = cell(json_array_get(value, 3));
            table += id + "," +
                     (kind == "in" ? ""
                      : id == "v"  ? "in1"
                                   : "in0") +
                     "," + cell(json_array_get(value, 2)) + "," + (id == "v" ? "slice" : "") + "," +
                     (kind.empty() ? "" : kind + "put") + "\n";
        }
        std::vector<std::string> options{"--method", "stack", "--align", "4096", "--address-mode", mode};
        if (!json_is_null(io_start)) {
            options.emplace_back("--io-start");
            options.push_back(std::to_string(number(io_start)));
        }
        const command_plan made(table, options);
        BOOST_TEST_CONTEXT(mode << ", case " << c) {
            const auto from_start = [start](std::uint64_t a) {
                return a < start || a >= start + start ? a : a - start;
            };
            json_object_foreach(json_array_get(json_object_get(each, "expect"), 0), name, address) {
                const std::string id = name;
                if (id == "v" && mode.find("tag") != std::string::npos)
                    BOOST_CHECK_EQUAL(made.at.at(id), made.at.at("in1"));
                else
                    BOOST_CHECK_EQUAL(made.at.at(id) + (id == "a" || id == "b" ? below : 0),
                                      from_start(number(address)));
            }
            const json_t *to_runtime = json_array_get(json_object_get(each, "expect"), 1),
                         *neuron = json_object_get(to_runtime, "neuron"), *io = json_object_get(to_runtime, "io");
            BOOST_CHECK_EQUAL(number(made.of_program("start")), from_start(number(json_array_get(neuron, 0))));
            BOOST_CHECK_EQUAL(number(made.of_program("bytes")) + below, number(json_array_get(neuron, 1)));
            BOOST_CHECK_EQUAL(number(made.of_program("io_bytes")), io ? number(json_array_get(io, 1)) : 0);
            if (io) BOOST_CHECK_EQUAL(number(made.of_program("io_start")), from_start(number(json_array_get(io, 0))));
        }
    }
}
