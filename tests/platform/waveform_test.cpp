// The golden waveform: a small run writes the same VCD, byte for byte, as the one in waveforms/.
#include "platform/command_line.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    BOOST_REQUIRE_MESSAGE(file, path << " cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

// Exit status of make_view of a waveform; `view` gets what it prints, errors too.
int make_view(const std::string &vcd, const std::string &pe, const std::string &view) {
    const std::string command =
        "'" TLMALLOC_SOURCE_DIR "/waveforms/make_view' '" + vcd + "' " + pe + " >'" + view + "' 2>&1";
    return WEXITSTATUS(std::system(command.c_str()));
}

// A view without its zoom, which goes with the length of the run.
std::string without_zoom(const std::string &view) {
    const std::size_t at = view.find("\n*"), end = view.find('\n', at + 1);
    BOOST_REQUIRE(at != std::string::npos && end != std::string::npos);
    return view.substr(0, at) + view.substr(end);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_small_run_writes_the_golden_waveform) {
    const std::string source = TLMALLOC_SOURCE_DIR, vcd = TLMALLOC_BINARY_DIR "/golden_check.vcd";
    // The command that waveforms/README.md gives for making it anew.
    const command_result run =
        run_tlmalloc({"run", source + "/configs/npu_small.yaml", "--kernel", "vector_add", "--set",
                      "system.pes_per_cube=2", "--set", "workload.elements_per_pe=256", "--vcd", vcd});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    const std::string golden = contents(source + "/waveforms/vector_add.vcd"), written = contents(vcd);
    if (written == golden) return;
    std::size_t line = 1, at = 0;
    while (at < written.size() && at < golden.size() && written[at] == golden[at])
        line += golden[at++] == '\n';
    BOOST_ERROR(vcd << " differs from waveforms/vector_add.vcd in line " << line);
}

BOOST_AUTO_TEST_CASE(a_view_of_any_PE_shows_the_whole_run_in_named_groups) {
    scratch_directory scratch;
    const std::string vcd = scratch.path("run.vcd"), view = scratch.path("view.gtkw");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--kernel", "vector_add",
                                      "--set", "mmu.walk=flat", "--vcd", vcd})
                            .status,
                        0);
    BOOST_REQUIRE_EQUAL(make_view(vcd, "sip0.cube0.pe2", view), 0);

    // Full names of all signals, as GTKWave writes them, and the time of the last change.
    std::set<std::string> signals;
    std::string scope, line;
    double end = 0;
    for (std::istringstream in(read_text(vcd)); std::getline(in, line);) {
        std::istringstream words(line);
        std::string word, kind, bits, id, name, range;
        words >> word >> kind;
        if (word == "$scope") {
            words >> name;
            scope += name + ".";
        } else if (word == "$upscope")
            scope.erase(scope.rfind('.', scope.size() - 2) + 1);
        else if (word == "$var") {
            words >> bits >> id >> name >> range;
            signals.insert(scope + name + (range == "$end" ? "" : range));
        } else if (word[0] == '#')
            end = std::stod(word.substr(1));
    }
    std::set<std::string> shown;
    std::size_t groups = 0;
    for (std::istringstream in(read_text(view)); std::getline(in, line);) {
        groups += line == "@800200";
        if (line[0] == '*') // 200 of about 960 pixels are 2^-zoom
            BOOST_CHECK_GE(std::exp2(-std::stod(line.substr(1))) * 960 / 200, 0.999 * end);
        if (line[0] != '+') continue;
        const std::size_t close = line.find('}');
        BOOST_CHECK_MESSAGE(shown.insert(line.substr(0, close)).second, line << " stands there twice");
        BOOST_CHECK_MESSAGE(signals.count(line.substr(close + 2)), line << " is not in the waveform");
        BOOST_CHECK_MESSAGE(
            contains(line, ".pe2.") || contains(line, "va_manager") || contains(line, "npu.fabric.sip0.cube0."), line);
    }
    BOOST_CHECK_EQUAL(groups, 5u);
    for (const char *alias : {"+{va_manager/maps_in_flight", "+{mmu/maps_in_flight", "+{mmu/walks_in_flight",
                              "+{dma/bytes_read", "+{slice/bytes_read", "+{element/computing",
                              "+{links/hbm_ctrl_to_router_busy_ps", "+{links/router_to_router_waited_ps"})
        BOOST_CHECK_MESSAGE(shown.count(alias), alias);

    BOOST_CHECK_EQUAL(make_view(vcd, "sip0.cube0.pe9", view), 2);
    BOOST_CHECK_EQUAL(read_text(view), "make_view: found \"sip0.cube0.pe9\", expected one of: sip0.cube0.pe0 "
                                       "sip0.cube0.pe1 sip0.cube0.pe2 sip0.cube0.pe3\n");
    BOOST_CHECK_EQUAL(make_view("/dev/null", "", view), 1);
}

BOOST_AUTO_TEST_CASE(selected_scopes_of_a_run_are_shown_and_an_unknown_scope_is_rejected) {
    scratch_directory scratch;
    const std::string vcd = scratch.path("part.vcd");
    const auto run = [&](std::initializer_list<std::string> patterns) {
        std::vector<std::string> words{
            "run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--kernel", "vector_add", "--vcd", vcd};
        for (const std::string &pattern : patterns)
            words.insert(words.end(), {"--vcd-scope", pattern});
        return run_tlmalloc(words);
    };
    const auto count = [](const std::string &text, const std::string &word) {
        std::size_t n = 0;
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
            n++;
        return n;
    };
    BOOST_REQUIRE_EQUAL(run({}).status, 0);
    const std::string whole = contents(vcd);
    BOOST_REQUIRE_EQUAL(run({"sip0.cube0.pe2", "*.hbm_used_bytes"}).status, 0);
    const std::string part = contents(vcd);
    BOOST_CHECK_EQUAL(count(part, " hbm_used_bytes "), count(whole, " hbm_used_bytes "));
    BOOST_CHECK_EQUAL(count(part, " kernel_running "), 1u);
    BOOST_CHECK_EQUAL(count(part, "module pe2 "), 1u);
    BOOST_CHECK_LT(part.size(), whole.size());

    const command_result mistyped = run({"sip0.cube0.pe2", "sip0.cub0"});
    BOOST_CHECK_EQUAL(mistyped.status, 2);
    BOOST_CHECK_EQUAL(mistyped.err, "tlmalloc run: --vcd-scope: 'sip0.cub0' matches no scope or signal of the "
                                    "platform: name one such as sip0.cube0.pe0 or '*.hbm_used_bytes'\n");
    BOOST_CHECK(contents(vcd) == part); // as it was
    BOOST_CHECK(contains(run({""}).err, "--vcd-scope is empty"));
    const command_result alone =
        run_tlmalloc({"run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--vcd-scope", "*"});
    BOOST_CHECK(contains(alone.err, "--vcd-scope needs --vcd"));
}

BOOST_AUTO_TEST_CASE(the_view_of_npu_small_is_what_make_view_writes) {
    scratch_directory scratch;
    const std::string vcd = scratch.path("run.vcd"), view = scratch.path("view.gtkw");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--vcd", vcd}).status, 0);
    BOOST_REQUIRE_EQUAL(make_view(vcd, "", view), 0);
    BOOST_CHECK_EQUAL(without_zoom(read_text(view)),
                      without_zoom(read_text(TLMALLOC_SOURCE_DIR "/waveforms/npu_small.gtkw")));
}

BOOST_AUTO_TEST_CASE(the_view_of_npu_small_for_surfer_names_the_signals_of_the_other_view) {
    scratch_directory scratch;
    const std::string vcd = scratch.path("run.vcd"), view = scratch.path("view.sucl");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--vcd", vcd}).status, 0);
    BOOST_REQUIRE_EQUAL(make_view("--surfer' '" + vcd, "", view), 0);
    const std::string shipped = read_text(TLMALLOC_SOURCE_DIR "/waveforms/npu_small.sucl");
    BOOST_CHECK_EQUAL(read_text(view), shipped);
    std::vector<std::string> surfer, gtkwave;
    std::string line;
    std::size_t groups = 0;
    for (std::istringstream in(shipped); std::getline(in, line);) {
        std::istringstream words(line);
        std::string command, name, more;
        words >> command >> name >> more;
        BOOST_CHECK_EQUAL(more, ""); // a name of a group is one word
        groups += command == "divider_add";
        if (command == "variable_add")
            surfer.push_back(name);
        else
            BOOST_CHECK_MESSAGE(command == "divider_add" || line == "zoom_fit", line);
    }
    for (std::istringstream in(read_text(TLMALLOC_SOURCE_DIR "/waveforms/npu_small.gtkw")); std::getline(in, line);)
        if (line[0] == '+') {
            const std::string name = line.substr(line.find('}') + 2);
            gtkwave.push_back(name.substr(0, name.find('[')));
        }
    BOOST_CHECK_EQUAL(groups, 5u);
    BOOST_CHECK_GT(surfer.size(), 20u);
    BOOST_CHECK_EQUAL_COLLECTIONS(surfer.begin(), surfer.end(), gtkwave.begin(), gtkwave.end());
}

// That of the views which the waveform has, and the FST of the same run, which a viewer opens in its place.
BOOST_AUTO_TEST_CASE(every_signal_of_the_views_of_npu_small_is_in_its_vcd_and_in_its_fst) {
    scratch_directory scratch;
    const std::string vcd = scratch.path("run.vcd"), fst = scratch.path("run.fst"), back = scratch.path("back.vcd");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--vcd", vcd}).status, 0);
    std::vector<std::string> files{vcd};
    if (std::system("command -v vcd2fst >/dev/null") == 0) {
        BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--vcd", fst}).status,
                            0);
        BOOST_REQUIRE_EQUAL(run_shell("fst2vcd '" + fst + "' >'" + back + "'").status, 0);
        files.push_back(back);
    }
    for (const std::string &file : files) {
        std::set<std::string> signals;
        std::string scope, line;
        for (std::istringstream in(read_text(file)); std::getline(in, line);) {
            std::istringstream words(line);
            std::string word, kind, bits, id, name;
            words >> word >> kind >> bits;
            if (word == "$scope") scope += bits + ".";
            if (word == "$upscope") scope.erase(scope.rfind('.', scope.size() - 2) + 1);
            if (word == "$var" && words >> id >> name) signals.insert(scope + name);
        }
        for (std::istringstream in(read_text(TLMALLOC_SOURCE_DIR "/waveforms/npu_small.sucl")); std::getline(in, line);)
            if (line.compare(0, 13, "variable_add ") == 0)
                BOOST_CHECK_MESSAGE(signals.count(line.substr(13)), file << ": " << line);
    }
}
