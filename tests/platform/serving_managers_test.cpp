// `tlmalloc reproduce serving_managers`: the page has the figures that come out, so has its picture, and what must hold
// between managers of memory does.
#include "platform/command_line.hpp"
#include "shared_data.hpp"

#include <jansson.h>
#include <map>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";

std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, value >= 1e4 ? "%.0f" : "%.4g", value);
    return text;
}

// Of each row, each figure; and the rows as lines of the page's table.
struct figures {
    std::map<std::string, std::map<std::string, double>> of;
    std::vector<std::string> labels;
    std::map<std::string, std::string> lines;
    explicit figures(const std::string &name) {
        scratch_directory scratch;
        const command_result run = run_tlmalloc(
            {"reproduce", source + "configs/experiments/" + name + ".yaml", "--json", scratch.path("r.json")});
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr), *row;
        std::size_t i;
        json_array_foreach(json_object_get(json_array_get(json_object_get(report, "experiments"), 0), "rows"), i, row) {
            const std::string label = json_string_value(json_object_get(row, "label"));
            const double model = json_number_value(json_object_get(row, "model"));
            if (lines[label].empty()) {
                labels.push_back(label);
                lines[label] = "| " + label + " |";
            }
            lines[label] += " " + text_of(model) + " |";
            of[label][json_string_value(json_object_get(row, "figure"))] = model;
        }
        json_decref(report);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_every_figure_of_the_measured_trace_over_every_manager) {
    if (!shared_data_is_here("data/serving")) return;
    const figures found("serving_managers");
    const std::string page = read_text(source + "configs/experiments/README.md"),
                      picture = read_text(source + "waveforms/serving_managers.svg");
    BOOST_CHECK_EQUAL(found.labels.size(), 40u);
    for (const std::string &label : found.labels) {
        BOOST_CHECK_MESSAGE(contains(page, "\n" + found.lines.at(label) + "\n"), found.lines.at(label));
        BOOST_CHECK_MESSAGE(contains(picture, ">" + text_of(found.of.at(label).at("ttft")) + "<"), label);
    }
}

// Of whatever trace: who decides the same with other prices takes longer, and regions are what they are.
BOOST_AUTO_TEST_CASE(managers_and_prices_are_in_the_order_that_follows_from_what_they_do) {
    const figures found("serving_managers_small");
    BOOST_CHECK_EQUAL(found.labels.size(), 40u);
    const auto at = [&](const std::string &label, const char *figure) { return found.of.at(label).at(figure); };
    for (const char *manager : {"blocks", "blocks and host", "paged", "maximum", "power of two", "oracle", "first fit",
                                "mapped 4 KiB", "mapped 64 KiB", "mapped 2 MiB"}) {
        const std::string name = manager;
        const bool region = at(name + ", ideal", "preemptions") == 0 && name.find("mapped") == std::string::npos;
        for (const char *figure : {"allocation", "mapping"})
            BOOST_CHECK_EQUAL(at(name + ", ideal", figure), 0);
        BOOST_CHECK_GT(at(name + ", hardware", "allocation"), 0);
        BOOST_CHECK_GT(at(name + ", firmware", "allocation"), at(name + ", hardware", "allocation"));
        BOOST_CHECK_GT(at(name + ", driver", "ttft"), at(name + ", ideal", "ttft"));
        BOOST_CHECK_EQUAL(at(name + ", ideal", "fragmented") > 0, region && name != "maximum");
        BOOST_CHECK_EQUAL(at(name + ", ideal", "transfer") > 0, name == "blocks and host");
    }
    BOOST_CHECK_LT(at("maximum, ideal", "throughput"), at("power of two, ideal", "throughput"));
    BOOST_CHECK_LT(at("power of two, ideal", "throughput"), at("oracle, ideal", "throughput"));
    BOOST_CHECK_LT(at("oracle, ideal", "throughput"), at("first fit, ideal", "throughput"));
    BOOST_CHECK_LT(at("first fit, ideal", "throughput"), at("paged, ideal", "throughput"));
    BOOST_CHECK_LT(at("paged, ideal", "throughput"), at("blocks, ideal", "throughput"));
    BOOST_CHECK_LT(at("blocks, ideal", "throughput"), at("blocks and host, ideal", "throughput"));
    BOOST_CHECK_LT(at("mapped 4 KiB, ideal", "internal"), at("mapped 64 KiB, ideal", "internal"));
    BOOST_CHECK_LT(at("mapped 64 KiB, ideal", "internal"), at("mapped 2 MiB, ideal", "internal"));
    BOOST_CHECK_GT(at("mapped 4 KiB, driver", "mapping"), 10 * at("mapped 64 KiB, driver", "mapping"));
}
