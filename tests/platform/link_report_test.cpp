// Links in the report of `tlmalloc run`, and in the picture that `tlmalloc topology --load` draws of it.
#include "platform/run_report.hpp"

#include <map>
#include <regex>
#include <sstream>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";
const std::string small = source + "configs/npu_small.yaml";

using ends = std::pair<std::string, std::string>; // names of two nodes

std::string text(const json_t *row, const char *key) {
    const char *const found = json_string_value(json_object_get(row, key));
    BOOST_REQUIRE_MESSAGE(found, key << " is no text");
    return found;
}

std::map<ends, json_t *> rows_of(const report &r) {
    std::map<ends, json_t *> rows;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(r.list("links"), i, row) rows[{text(row, "from"), text(row, "to")}] = row;
    BOOST_CHECK_EQUAL(rows.size(), json_array_size(r.list("links")));
    return rows;
}

// The links of `tlmalloc topology --yaml`, both directions, by their numbers.
std::vector<ends> links_of(const std::string &config) {
    std::vector<ends> links;
    std::istringstream page(run_tlmalloc({"topology", config, "--yaml"}).out);
    std::smatch found;
    for (std::string line; std::getline(page, line);)
        if (std::regex_search(line, found, std::regex("between: ([^ ,]+) ([^ ,]+)"))) {
            links.push_back({found[1], found[2]});
            links.push_back({found[2], found[1]});
        }
    BOOST_REQUIRE(!links.empty());
    return links;
}

std::string write_report(const scratch_directory &scratch, const json_t *json) {
    char *const dumped = json_dumps(json, JSON_INDENT(1));
    const std::string path = scratch.write("report.json", dumped);
    std::free(dumped);
    return path;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_bytes_of_every_slice_are_on_its_links) {
    const report r = run(small, {"--kernel", "dma_read"});
    BOOST_CHECK_EQUAL(r.run.status, 0);
    const std::map<ends, json_t *> rows = rows_of(r);
    // Each PE reads 16 KiB from its own slice, and the host has written them; its commands and their completions of 64
    // bytes take the same links.
    const std::map<std::string, std::string> routers{
        {"pe0", "r0c0"}, {"pe1", "r1c4"}, {"pe2", "r4c0"}, {"pe3", "r5c4"}};
    for (const auto &[pe, router] : routers) {
        const std::string cube = "sip0.cube0.", slice = cube + "hbm_ctrl." + pe, at = cube + router;
        BOOST_CHECK_EQUAL(number(rows.at({slice, at}), "bytes"), 16 * 1024 + 2 * 64);
        BOOST_CHECK_EQUAL(number(rows.at({at, slice}), "bytes"), 16 * 1024 + 2 * 32);
        BOOST_CHECK_EQUAL(number(rows.at({at, slice}), "busy_ps"), (16 * 1024 + 2 * 32) * 1000 / 256);
        BOOST_CHECK_GE(number(rows.at({at, cube + pe}), "bytes"), 16 * 1024);
        BOOST_CHECK_EQUAL(text(rows.at({slice, at}), "kind"), "hbm_ctrl_to_router");
    }
    BOOST_CHECK_EQUAL(rows.count({"sip0.cube0.r3c0", "sip0.cube0.sram"}), 0u); // nothing went there
}

BOOST_AUTO_TEST_CASE(rows_of_links_say_which_and_kinds_are_their_sums) {
    const report r = run(small, {});
    const std::vector<ends> links = links_of(small);
    const double run_ps = static_cast<double>(r.number("sim_time_ps"));
    std::map<std::string, std::map<std::string, std::int64_t>> sums;
    std::size_t i = 0;
    json_t *row = nullptr;
    std::int64_t last = -1;
    json_array_foreach(r.list("links"), i, row) {
        const std::int64_t link = number(row, "link");
        BOOST_REQUIRE_LT(link, static_cast<std::int64_t>(links.size()));
        BOOST_CHECK_GT(link, last);
        last = link;
        BOOST_CHECK_EQUAL(text(row, "from"), links[static_cast<std::size_t>(link)].first);
        BOOST_CHECK_EQUAL(text(row, "to"), links[static_cast<std::size_t>(link)].second);
        BOOST_CHECK_GT(number(row, "messages"), 0);
        const double share = json_real_value(json_object_get(row, "utilisation_pct"));
        BOOST_CHECK_CLOSE_FRACTION(share + 1, 1 + 100 * static_cast<double>(number(row, "busy_ps")) / run_ps, 1e-9);
        for (const char *key : {"bytes", "messages", "busy_ps", "waited_ps"})
            sums[text(row, "kind")][key] += number(row, key);
    }
    std::int64_t counted = 0;
    json_array_foreach(r.list("link_kinds"), i, row) {
        const std::string kind = text(row, "kind");
        counted += number(row, "links");
        for (const char *key : {"bytes", "messages", "busy_ps", "waited_ps"})
            BOOST_CHECK_EQUAL(number(row, key), sums[kind][key]);
        const double mean =
            100 * static_cast<double>(number(row, "busy_ps")) / run_ps / static_cast<double>(number(row, "links"));
        BOOST_CHECK_CLOSE_FRACTION(json_real_value(json_object_get(row, "utilisation_pct")) + 1, 1 + mean, 1e-9);
        sums.erase(kind);
    }
    BOOST_CHECK(sums.empty());
    BOOST_CHECK_EQUAL(counted, static_cast<std::int64_t>(links.size()));
    // What the host has sent has left by every link of the way that all of it takes.
    const std::map<ends, json_t *> rows = rows_of(r);
    BOOST_CHECK_EQUAL(number(rows.at({"host", "sip0.pcie_ep"}), "bytes"),
                      number(rows.at({"sip0.pcie_ep", "sip0.io_noc"}), "bytes"));
}

BOOST_AUTO_TEST_CASE(the_table_names_what_is_busy_and_what_is_waited_for) {
    const report r = run(small, {});
    BOOST_CHECK_MESSAGE(std::regex_search(r.run.out, std::regex("\nbusiest links: host -> sip0.pcie_ep [0-9]+ %")),
                        r.run.out);
    BOOST_CHECK_MESSAGE(
        std::regex_search(r.run.out,
                          std::regex("\n[0-9.]+ flits wait for links on average: host -> sip0.pcie_ep [0-9]+ %")),
        r.run.out);
    BOOST_CHECK_EQUAL(run(small, {}).run.out.substr(0, 400), r.run.out.substr(0, 400));
    // Where links are fast and nobody waits for anybody, there is nothing to say.
    std::vector<std::string> fast;
    for (const char *key : {"router", "pe", "hbm", "sram", "connection", "port", "ucie", "pcie", "host"})
        fast.insert(fast.end(), {"--set", std::string("links.") + key + "_bandwidth=1000 TB/s"});
    fast.insert(fast.end(), {"--set", "io_chiplet.bandwidth=1000 TB/s", "--set", "system.pes_per_cube=1"});
    const command_result quiet = run(small, fast).run;
    BOOST_CHECK_MESSAGE(!contains(quiet.out, "busiest links"), quiet.out);
}

BOOST_AUTO_TEST_CASE(a_picture_shows_load_by_colour_and_waiting_by_width) {
    if (run_shell("command -v neato >/dev/null").status != 0) return;
    scratch_directory scratch;
    const report r = run(small, {});
    const std::string file = write_report(scratch, r.json.get()), svg = scratch.path("f.svg"),
                      again = scratch.path("g.svg");
    for (const std::string &path : {svg, again}) {
        const command_result drawn = run_tlmalloc({"topology", small, "--svg", path, "--load", file});
        BOOST_CHECK_EQUAL(drawn.status, 0);
        BOOST_CHECK_EQUAL(drawn.err, "");
    }
    BOOST_CHECK(read_text(svg) == read_text(again));
    const std::string picture = read_text(svg);

    // Every link of the report is told with its bytes, every other one is grey.
    const std::vector<ends> links = links_of(small);
    const std::map<ends, json_t *> rows = rows_of(r);
    std::map<std::string, std::string> drawn; // the path of every edge, by its title
    const std::regex edge(
        "<title>([^<]*)&#45;&#45;([^<]*)</title>\\s*(?:<g[^>]*><a xlink:title=\"([^\"]*)\">\\s*)?<path ([^>]*)>");
    std::size_t grey = 0, told = 0;
    std::map<std::string, std::int64_t> least_busy, most_busy; // of every colour
    for (std::sregex_iterator i(picture.begin(), picture.end(), edge), end; i != end; ++i) {
        const auto unescaped = [](const std::string &name) {
            return std::regex_replace(name, std::regex("&#45;"), "-");
        };
        const ends there{unescaped((*i)[1]), unescaped((*i)[2])}, back{there.second, there.first};
        std::smatch stroke;
        const std::string path = (*i)[4];
        BOOST_REQUIRE(std::regex_search(path, stroke, std::regex("stroke=\"(#[0-9a-f]+)\"")));
        const std::string colour = stroke[1];
        if (!rows.count(there) && !rows.count(back)) {
            grey++;
            BOOST_CHECK_EQUAL(colour, "#d9d9d9");
            continue;
        }
        told++;
        std::int64_t busy = 0;
        for (const ends &direction : {there, back}) {
            if (!rows.count(direction)) continue;
            const std::string says = direction.first + " to " + direction.second + ": " +
                                     std::to_string(number(rows.at(direction), "bytes")) + " bytes";
            BOOST_CHECK_MESSAGE(contains(unescaped((*i)[3]), says), (*i)[3] << " without " << says);
            busy = std::max(busy, number(rows.at(direction), "busy_ps"));
        }
        if (!least_busy.count(colour)) least_busy[colour] = most_busy[colour] = busy;
        least_busy[colour] = std::min(least_busy[colour], busy);
        most_busy[colour] = std::max(most_busy[colour], busy);
    }
    BOOST_CHECK_EQUAL(grey + told, links.size() / 2);
    BOOST_CHECK_GE(least_busy.size(), 4u);

    // Darker is busier: sorted by brightness, the loads of no two colours overlap.
    const auto brightness = [](const std::string &colour) {
        const auto part = [&](std::size_t at) { return std::stoi(colour.substr(at, 2), nullptr, 16); };
        return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
    };
    std::map<double, std::string> by_brightness;
    for (const auto &[colour, busy] : least_busy)
        by_brightness[brightness(colour)] = colour;
    std::int64_t lowest = INT64_MAX;
    double before = -20;
    for (const auto &[bright, colour] : by_brightness) {
        BOOST_CHECK_GT(bright, before + 10); // of 255
        BOOST_CHECK_LT(most_busy[colour], lowest);
        lowest = least_busy[colour];
        before = bright;
    }
    for (const char *says :
         {"Load: busy, of 7.", "no traffic", "Waiting: flits in the queue, on average", "1 and more"})
        BOOST_CHECK_MESSAGE(contains(picture, says), says);
    BOOST_CHECK(contains(picture, "stroke-width=\"5\"")); // the host's link
}

BOOST_AUTO_TEST_CASE(a_report_that_does_not_fit_is_rejected_and_nothing_is_drawn) {
    scratch_directory scratch;
    const report r = run(small, {"--kernel", "dma_read"});
    const std::string svg = scratch.path("f.svg"), whole = read_text(write_report(scratch, r.json.get()));
    std::string file;
    const auto refused = [&](const std::string &content, const std::string &says, std::vector<std::string> more = {}) {
        file = scratch.write("bad.json", content);
        more.insert(more.begin(), {"topology", small, "--svg", svg, "--load", file});
        const command_result run = run_tlmalloc(more);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_EQUAL(run.out, "");
        BOOST_CHECK_EQUAL(run.err, "tlmalloc topology: --load: " + file + says + "\n");
        BOOST_CHECK(!std::filesystem::exists(svg));
    };
    const auto with = [&](const std::function<void(json_t *)> &change) {
        const std::shared_ptr<json_t> copy(json_deep_copy(r.json.get()), json_decref);
        change(copy.get());
        char *const dumped = json_dumps(copy.get(), 0);
        const std::string result = dumped;
        std::free(dumped);
        return result;
    };
    const auto row = [](json_t *json, std::size_t i) { return json_array_get(json_object_get(json, "links"), i); };
    const auto set = [](json_t *object, const char *key, json_t *value) { json_object_set_new(object, key, value); };

    const std::string name = "\"from\": \"sip"; // in which it is cut, somewhere in the middle
    const std::string half = whole.substr(0, whole.find(name, whole.size() / 2) + name.size());
    const std::size_t lines = static_cast<std::size_t>(std::count(half.begin(), half.end(), '\n'));
    file = scratch.write("bad.json", half);
    const command_result cut = run_tlmalloc({"topology", small, "--svg", svg, "--load", file});
    BOOST_CHECK_EQUAL(cut.status, 2);
    BOOST_CHECK_MESSAGE(
        cut.err.rfind("tlmalloc topology: --load: " + file + ":" + std::to_string(lines + 1) + ":", 0) == 0 &&
            contains(cut.err, ": not JSON: "),
        cut.err);
    BOOST_CHECK(!std::filesystem::exists(svg));
    refused("", ":1:0: not JSON: '[' or '{' expected near end of file");
    refused("[1]", ": found no \"config\", expected a report of `tlmalloc run --json'");
    refused(with([&](json_t *j) { json_object_del(j, "links"); }),
            ": found no \"links\", expected a report of `tlmalloc run --json'");
    refused(with([&](json_t *j) { set(j, "sim_time_ps", json_integer(0)); }),
            ": sim_time_ps: found 0, expected a time above 0");
    refused(with([&](json_t *j) { json_object_del(row(j, 2), "waited_ps"); }),
            ": links[2].waited_ps: found nothing, expected a number");
    refused(with([&](json_t *j) { set(row(j, 1), "busy_ps", json_integer(-1)); }),
            ": links[1].busy_ps: found -1, expected a number");
    refused(with([&](json_t *j) { set(row(j, 1), "link", json_string("a")); }),
            ": links[1].link: found \"a\", expected a number");
    refused(with([&](json_t *j) { set(row(j, 1), "link", json_integer(206)); }),
            ": links[1].link: found 206, expected less than 206");
    refused(with([&](json_t *j) { json_array_append(json_object_get(j, "links"), row(j, 0)); }),
            ": links[" + std::to_string(json_array_size(r.list("links"))) + "].link: found " +
                std::to_string(number(json_array_get(r.list("links"), 0), "link")) + " again, expected it once");
    refused(with([&](json_t *j) { set(row(j, 0), "to", json_string("host")); }),
            ": links[0].to: found \"host\", expected \"" + text(json_array_get(r.list("links"), 0), "to") +
                "\": the run was on another fabric");
    refused(with([&](json_t *j) { json_array_set_new(json_object_get(j, "links"), 0, json_null()); }),
            ": links[0].link: found nothing, expected a number");
    refused(whole, ": config.system.pes_per_cube: found 4, expected 3 as in CONFIG: the run was on another platform",
            {"--set", "system.pes_per_cube=3"});
    refused(
        whole,
        ": config.links.pe_bandwidth: found \"256 GB/s\", expected \"128 GB/s\" as in CONFIG: the run was on another "
        "platform",
        {"--set", "links.pe_bandwidth=128 GB/s"});

    // A report of another command; no file; the picture over its own input; options that go together.
    const command_result none = run_tlmalloc({"topology", small, "--svg", svg, "--load", "/no/such/report"});
    BOOST_CHECK_EQUAL(none.status, 1);
    BOOST_CHECK_MESSAGE(contains(none.err, "/no/such/report"), none.err);
    const std::string good = scratch.write("good.json", whole);
    BOOST_CHECK_EQUAL(run_tlmalloc({"topology", small, "--svg", good, "--load", good}).status, 2);
    BOOST_CHECK(read_text(good) == whole);
    const command_result alone = run_tlmalloc({"topology", small, "--load", good});
    BOOST_CHECK_EQUAL(alone.status, 2);
    BOOST_CHECK_MESSAGE(contains(alone.err, "--load needs --svg"), alone.err);
    const command_result both =
        run_tlmalloc({"topology", small, "--svg", svg, "--load", good, "--path", "host", "sip0.pcie_ep"});
    BOOST_CHECK_EQUAL(both.status, 2);
    BOOST_CHECK_MESSAGE(contains(both.err, "--load and --path exclude each other"), both.err);
    BOOST_CHECK(!std::filesystem::exists(svg));
}
