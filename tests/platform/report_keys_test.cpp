// platform/report_keys.md: all commands that write JSON, in all their modes, against the table.
#include "platform/command_line.hpp"
#include "tests/torch/recording.hpp"

#include <jansson.h>
#include <map>
#include <set>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";

using keys = std::set<std::string>;
using table = std::map<std::pair<std::string, std::string>, keys>; // (report, where in it) -> keys

// Keys of an object, and of what lies in it. `config` of a platform holds the keys of configs/keys.md.
void collect(const std::string &report, const std::string &where, json_t *object, table &into) {
    const char *key;
    json_t *value;
    keys &here = into[{report, where}];
    json_object_foreach(object, key, value) {
        here.insert(key);
        const std::string below = (where.empty() ? "" : where + ".") + key;
        const bool of_platform = std::string(key) == "config" && json_object_get(value, "hbm");
        if (json_is_object(value) && !of_platform) collect(report, below, value, into);
        std::size_t i;
        json_t *item;
        json_array_foreach(value, i, item) {
            if (json_is_object(item)) collect(report, below + "[]", item, into);
        }
    }
}

// Runs a command, which writes its report, and adds the report's keys.
void play(const std::string &report, std::vector<std::string> arguments, table &into, int status = 0) {
    scratch_directory scratch;
    arguments.insert(arguments.end(), {"--json", scratch.path("report.json")});
    const command_result run = run_tlmalloc(arguments);
    BOOST_REQUIRE_MESSAGE(run.status == status, report << ": " << run.err);
    json_t *json = json_load_file(scratch.path("report.json").c_str(), 0, nullptr);
    BOOST_REQUIRE(json);
    collect(report, "", json, into);
    json_decref(json);
}

std::vector<std::string> quoted_words(const std::string &cell) {
    std::vector<std::string> words;
    for (std::size_t begin = cell.find('`'); begin != std::string::npos;) {
        const std::size_t end = cell.find('`', begin + 1);
        if (end == std::string::npos) break;
        words.push_back(cell.substr(begin + 1, end - begin - 1));
        begin = cell.find('`', end + 1);
    }
    return words;
}

// Rows of three columns: report, where in it, keys.
table table_of_the_page() {
    table read;
    std::string line;
    for (std::istringstream page(read_text(source + "platform/report_keys.md")); std::getline(page, line);) {
        if (line.rfind("| `", 0) != 0) continue;
        std::vector<std::string> cells;
        std::istringstream in(line.substr(1));
        for (std::string cell; std::getline(in, cell, '|');)
            cells.push_back(cell);
        BOOST_REQUIRE_MESSAGE(cells.size() == 3, line);
        const std::vector<std::string> where = quoted_words(cells[1]), names = quoted_words(cells[2]);
        for (const std::string &report : quoted_words(cells[0]))
            for (const std::string &place : where.empty() ? std::vector<std::string>{""} : where) {
                keys &here = read[{report, place}];
                BOOST_CHECK_MESSAGE(here.empty(), report << " " << place << " stands there twice");
                here.insert(names.begin(), names.end());
                BOOST_CHECK_MESSAGE(here.size() == names.size(), "a key stands there twice: " << line);
            }
    }
    return read;
}

std::string row(const std::pair<std::string, std::string> &place, const keys &names) {
    std::string text = "| `" + place.first + "` | " + (place.second.empty() ? "" : "`" + place.second + "`") + " |";
    const char *between = " ";
    for (const std::string &name : names) {
        text += between + ("`" + name + "`");
        between = ", ";
    }
    return text + " |";
}

} // namespace

BOOST_AUTO_TEST_CASE(every_key_of_the_reports_is_in_the_page_and_no_other) {
    const std::string platform = source + "configs/npu_small.yaml", trace = source + "tests/data/lm_train.csv.gz";
    scratch_directory scratch;
    const std::string aged = scratch.path("aged"), bursts = scratch.write("b.csv", "time_ps,op,addr,bytes\n0,R,0,64\n");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", trace, "--capacity", "1 GiB", "--events", "100", "--output", aged}).status,
                        0);
    naive_torch::settings expandable;
    expandable.expandable = true;
    naive_torch::allocator torch(expandable);
    naive_torch::run(torch, {}, 9);
    const std::string recording = scratch.write("recording", naive_torch::to_json(naive_torch::snapshot_of({&torch})));
    table found;
    play("run", {"run", platform}, found);
    play("run",
         {"run", platform, "--kernel", "dma_read", "--set", "hbm.timing=hbm3", "--set", "mmu.walk=memory", "--set",
          "mmu.ranges=4", "--set", "controller.guard=report", "--set", "controller.free_list=hbm"},
         found);
    play("run", {"run", platform, "--kernel", "dma_read", "--set", "controller.hbm_policy=caching_pool"}, found);
    play("run", {"run", platform, "--kernel", "ring"}, found);
    play("run", {"run", platform, "--set", "mmu.unmapped=demand", "--set", "mmu.fault_handler=controller"}, found);
    play("run",
         {"run", platform, "--kernel", "dma_read", "--set", "controller.hbm_policy=lazy", "--set",
          "controller.pin_wait=1 us"},
         found);
    play("run", {"run", platform, "--kernel", "dma_read", "--set", "controller.partition=hbm"}, found);
    play("run", {"run", platform, "--kernel", "dma_read", "--set", "controller.hbm_policy=offset_bins"}, found);
    play("run", {"run", platform, "--kernel", "dma_read", "--set", "controller.move=stop"}, found);
    play("run",
         {"run", platform, "--kernel", "dma_read", "--set", "host.driver=serial", "--set", "host.pool=caching_pool"},
         found);
    play("run", {"run", platform, "--kernel", "dma_read", "--set", "host_memory.capacity=1 MiB"}, found);
    play("run",
         {"run", platform, "--set", "host_memory.capacity=64 MiB", "--set", "mmu.unmapped=demand", "--set",
          "mmu.eviction=clock"},
         found);
    for (const char *policy : {"first_fit", "segment_cache"})
        play("replay", {"replay", trace, "--capacity", "1 GiB", "--policy", policy}, found);
    play("replay", {"replay", trace, "--from", aged}, found);
    play("replay --config", {"replay", trace, "--config", platform}, found);
    play("replay --compare", {"replay", trace, "--capacity", "1 GiB", "--compare", "first_fit,segment_cache"}, found);
    play("replay", {"replay", recording, "--capacity", "80 GiB", "--policy", "segment_cache"}, found);
    play("replay --as-recorded", {"replay", recording, "--as-recorded"}, found);
    play("replay --as-recorded", {"replay", recording, "--as-recorded", "--settings", "expandable_segments:False"},
         found, 1);
    play("explain", {"explain", source + "platform/examples/fragmented.json"}, found);
    naive_torch::value state = naive_torch::snapshot_of({&torch});
    state.erase("device_traces");
    play("explain STATE", {"explain", scratch.write("state", naive_torch::to_json(state))}, found);
    const std::string ran = scratch.path("ran.json");
    const std::vector<std::string> with_energy{"run",   platform,
                                               "--set", "hbm.timing=hbm4",
                                               "--set", "hbm.energy=hbm4_ayna",
                                               "--set", "system.energy=published"};
    play("run", with_energy, found);
    std::vector<std::string> written = with_energy;
    written.insert(written.end(), {"--json", ran});
    BOOST_REQUIRE_EQUAL(run_tlmalloc(written).status, 0);
    play("explain REPORT", {"explain", ran}, found);
    play("explain --request", {"explain", aged, "--request", "1 TiB"}, found);
    play("plan", {"plan", trace, "--method", "best"}, found);
    const std::string program = scratch.write("program.csv", "id,operands,size,view\nx,,1,\na,x,2,\nb,x,4,\n"
                                                             "s,b,4,slice\nk,a b,6,concat\ny,k,3,\nz,y,5,\nw,z s,7,\n");
    play("plan", {"plan", program, "--method", "size_order", "--literal"}, found);
    play("traffic", {"traffic", source + "configs/timing/hbm2.yaml", "--pattern", "seq_rd", "--count", "1000"}, found);
    play("traffic",
         {"traffic", source + "configs/timing/hbm2.yaml", "--pattern", "seq_rd", "--count", "1000", "--energy",
          "hbm2_ayna"},
         found);
    play("traffic", {"traffic", platform, bursts}, found);
    play("serve",
         {"serve", source + "configs/serving/small_requests.jsonl", "--settings", source + "configs/serving/small.yaml",
          "--set", "host_blocks=100", "--step-time", "fixed 1 ms", "--skip-unservable"},
         found);
    const std::string one = scratch.write("requests.csv", "input,output\n20,2\n");
    const std::string with_host_memory =
        scratch.write("npu.yaml", read_text(platform) + "\nhost_memory: {capacity: 16 MiB}\n");
    play("serve",
         {"serve", one, "--settings", source + "configs/serving/small.yaml", "--set", "attention=dma", "--set",
          "host_blocks=8", "--step-time", "platform " + with_host_memory + " + fixed 1 ms"},
         found);
    play("probe", {"probe", platform, "--set", "system.pes_per_cube=1"}, found);
    play("reproduce", {"reproduce", "vattention_spike", "--from", source + "configs/experiments"}, found);

    scratch.write("buffers.csv", "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n");
    const std::string sweep = scratch.write("s.yaml", "name: s\ncommand: plan\ninput: buffers.csv\nset: {--method: "
                                                      "best}\nkeys:\n  - {key: --method, values: [best, stack]}\n  - "
                                                      "{key: --capacity, values: [8 B, 9 B]}\nfigures: {h: height}\n");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"sweep", sweep, "-o", scratch.path("s.sqlite")}).status, 0);
    play("study", {"study", scratch.path("s.sqlite"), "--pareto", "h"}, found);

    // No command that writes a report is missing above.
    std::istringstream help(run_tlmalloc({"--help"}).out);
    std::string line;
    while (std::getline(help, line) && line != "Commands:")
        continue;
    while (std::getline(help, line) && !line.empty()) {
        std::string command;
        std::istringstream(line) >> command;
        if (contains(run_tlmalloc({command, "--help"}).out, "--json"))
            BOOST_CHECK_MESSAGE(found.count({command, ""}), command << " writes a report and is not played here");
    }

    const table told = table_of_the_page();
    for (const auto &[place, names] : found)
        BOOST_CHECK_MESSAGE(told.count(place) && told.at(place) == names,
                            "platform/report_keys.md: " << (told.count(place) ? row(place, told.at(place)) : "no row")
                                                        << "; expected\n"
                                                        << row(place, names));
    for (const auto &[place, names] : told)
        BOOST_CHECK_MESSAGE(found.count(place), "platform/report_keys.md: no report has " << row(place, names));
}
