// Names and contents that would steer a terminal or break a report's encoding: what is shown of them, and in which
// form.
#include "platform/command_line.hpp"

#include <jansson.h>
#include <memory>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string hbm2 = TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml";

// A red bell that is no UTF-8; as a name of a file, too.
const std::string hostile = "\x1b[31m\a\xff", shown = "\\x1b[31m\\x07\\xff";

// Lines of printable text.
void check_harmless(const command_result &run) {
    for (const std::string &text : {run.out, run.err})
        for (const char c : text)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '\xff')
                BOOST_REQUIRE_MESSAGE(c == '\n' || c == '\t', "byte " << int(c) << " in " << text);
}

std::shared_ptr<json_t> parse(const std::string &path) {
    json_error_t error;
    std::shared_ptr<json_t> json(json_load_file(path.c_str(), 0, &error), json_decref);
    BOOST_REQUIRE_MESSAGE(json, error.text);
    return json;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_path_that_is_no_utf8_stands_escaped_in_the_report) {
    scratch_directory scratch;
    const std::string csv = scratch.write(hostile + ".csv", "time_ns,op,id,bytes\n1,alloc,1,8\n2,free,1,8\n");
    const std::string addresses = scratch.write("a" + hostile, "time_ps,op,addr,bytes\n0,R,0,64\n");
    const std::string timing = scratch.write("t" + hostile, read_text(hbm2)), json = scratch.path("r.json");
    const std::string heap = scratch.path("h" + hostile), map = scratch.path("m.svg");
    const std::string text_of_heap = scratch.path("h" + shown);
    const command_result aged = run_tlmalloc({"age", csv, "--capacity", "1 KiB", "--output", heap});
    BOOST_REQUIRE_MESSAGE(aged.status == 0, aged.err);
    const std::vector<std::tuple<std::vector<std::string>, const char *, std::string>> cases{
        {{"replay", csv, "--capacity", "1 KiB"}, "trace", scratch.path(shown + ".csv")},
        {{"replay", csv, "--from", heap}, "from", text_of_heap},
        {{"replay", csv, "--capacity", "1 KiB", "--compare", "all"}, "trace", scratch.path(shown + ".csv")},
        {{"traffic", timing, addresses}, "trace", scratch.path("a" + shown)},
        {{"traffic", timing, addresses}, "config", scratch.path("t" + shown)},
        {{"explain", heap, "--request", "2 KiB"}, "arena", text_of_heap}};
    for (const auto &[words, key, expected] : cases) {
        std::vector<std::string> arguments = words;
        arguments.insert(arguments.end(), {"--json", json});
        const command_result run = run_tlmalloc(arguments);
        BOOST_CHECK_MESSAGE(run.status == 0, run.err);
        check_harmless(run);
        const auto report = parse(json);
        BOOST_CHECK_EQUAL(json_string_value(json_object_get(report.get(), key)), expected);
    }
    // A path that is UTF-8 stands as it is, a control character as JSON writes it.
    const std::string german = scratch.write("Gr\xc3\xb6\xc3\x9f"
                                             "e\x1b.csv",
                                             read_text(csv));
    BOOST_CHECK_EQUAL(run_tlmalloc({"replay", german, "--capacity", "1 KiB", "--json", json}).status, 0);
    BOOST_CHECK_EQUAL(json_string_value(json_object_get(parse(json).get(), "trace")), german);
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"replay", csv, "--capacity", "1 KiB", "--map", map}).status, 0);
    BOOST_CHECK(contains(read_text(map), ">" + shown + ".csv: first_fit<"));
}

BOOST_AUTO_TEST_CASE(messages_quote_names_arguments_and_contents_escaped) {
    scratch_directory scratch;
    const std::string csv = scratch.write("x" + hostile, "time_ns,op,id,bytes\n1," + hostile + ",1,8\n");
    const std::string yaml = scratch.write("y" + hostile, "hbm: {" + std::string("\"a\\eb\"") + ": 1}\n");
    const std::string heap = scratch.write("z" + hostile, "tlmalloc arena 1\npolicy " + hostile + "\n");
    const std::string rows = scratch.write("e" + hostile + ".yaml", "name: \"\\e[31m\"\nworkload: \"\\e\"\n");
    const std::vector<std::vector<std::string>> bad{
        {hostile},
        {"help", "run", hostile},
        {"--" + hostile},
        {"replay", csv, "--capacity", "1 KiB"},
        {"replay", csv + "none", "--capacity", "1 KiB"},
        {"replay", csv, csv, "--capacity", "1 KiB"},
        {"replay", csv, "--" + hostile},
        {"replay", csv, "--capacity", hostile},
        {"replay", csv, "--capacity", "1 KiB", "--policy", hostile},
        {"replay", csv, "--capacity", "1 KiB", "--compare", hostile},
        {"replay", csv, "--capacity", "1 KiB", "--json", scratch.path(hostile + "/none")},
        {"replay", csv, "--config", yaml},
        {"replay", csv, "--from", heap},
        {"age", csv, "--capacity", "1 KiB", "--output", csv},
        {"age", csv, "--capacity", "1 KiB", "--policy", hostile, "--output", "no"},
        {"traffic", yaml, csv},
        {"traffic", hbm2, csv},
        {"traffic", hbm2, "--pattern", hostile},
        {"traffic", hbm2, csv, "--map", hostile},
        {"run", yaml},
        {"run", npu_small, "--kernel", hostile},
        {"run", npu_small, "--from", heap},
        {"run", npu_small, "--set", "hbm." + hostile + "=1"},
        {"run", npu_small, "--set", "hbm.timing=" + hostile + ".yaml"},
        {"check", yaml},
        {"check", scratch.path(hostile + "none")},
        {"explain", csv},
        {"explain", csv + "none"},
        {"explain", heap, "--request", "1 KiB"},
        {"reproduce", rows},
        {"reproduce", hostile},
        {"reproduce", "--from", scratch.path(hostile)}};
    for (const std::vector<std::string> &words : bad) {
        const command_result run = run_tlmalloc(words);
        BOOST_TEST_CONTEXT(words[0] << ": " << run.err) {
            BOOST_CHECK(run.status == 1 || run.status == 2);
            BOOST_CHECK(!run.err.empty());
            check_harmless(run);
        }
    }
}
