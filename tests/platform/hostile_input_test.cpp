// Inputs that are made to take long: endless files, small files that are large inside, errors without number.
#include "platform/command_line.hpp"
#include "today.hpp"

#include <zlib.h>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string hbm2 = TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml";

// Every command that reads a file, which may be compressed, with the file's place.
struct reader {
    std::vector<std::string> before, after;
};

std::vector<reader> readers_of_gzip(const scratch_directory &scratch) {
    const std::string settings = TLMALLOC_SOURCE_DIR "/configs/serving/small.yaml", report = scratch.path("r.json");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--json", report}).status, 0);
    return {{{"replay"}, {"--capacity", "1 KiB"}},
            {{"replay"}, {"--as-recorded"}},
            {{"age"}, {"--capacity", "1 KiB", "--output", "/dev/null"}},
            {{"explain"}, {}},
            {{"plan"}, {"--capacity", "1 KiB"}},
            {{"serve"}, {"--settings", settings, "--step-time", "fixed 2 ms + 20 us/token"}},
            {{"traffic", hbm2}, {}},
            {{"report", report, "--output", "/dev/null", "--events"}, {}}};
}

std::vector<std::string> line_of(const reader &r, const std::string &path) {
    std::vector<std::string> words = r.before;
    words.push_back(path);
    words.insert(words.end(), r.after.begin(), r.after.end());
    return words;
}

// Of a process, in seconds of its own, which other processes do not lengthen; it is ended where it takes more.
command_result run_within(unsigned seconds, const std::vector<std::string> &words) {
    std::string line = "ulimit -t " + std::to_string(seconds) + "; exec \"$tlmalloc\"";
    for (const std::string &word : words)
        line += " '" + word + "'";
    return run_shell(line);
}

// `first` and then many times a part, in about a thousandth of its bytes.
std::string compressed(const std::string &path, const std::string &first, const std::string &part, std::size_t bytes) {
    const gzFile file = gzopen(path.c_str(), "wb9");
    BOOST_REQUIRE(file);
    BOOST_REQUIRE_EQUAL(gzwrite(file, first.data(), static_cast<unsigned>(first.size())),
                        static_cast<int>(first.size()));
    std::string many;
    while (many.size() < (1 << 20))
        many += part;
    for (std::size_t written = 0; written < bytes; written += many.size())
        BOOST_REQUIRE_EQUAL(gzwrite(file, many.data(), static_cast<unsigned>(many.size())),
                            static_cast<int>(many.size()));
    BOOST_REQUIRE_EQUAL(gzclose(file), Z_OK);
    return path;
}

} // namespace

BOOST_AUTO_TEST_CASE(no_reader_waits_for_the_end_of_an_endless_file) {
    scratch_directory scratch;
    std::vector<reader> readers = readers_of_gzip(scratch);
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n");
    for (const std::vector<std::string> &more :
         std::vector<std::vector<std::string>>{{"check"},
                                               {"run"},
                                               {"topology"},
                                               {"probe"},
                                               {"reproduce"},
                                               {"study"},
                                               {"report"},
                                               {"traffic"},
                                               {"explain"},
                                               {"run", npu_small, "--from"},
                                               {"run", npu_small, "--kernel"},
                                               {"replay", trace, "--config"},
                                               {"replay", trace, "--from"},
                                               {"topology", npu_small, "--load"},
                                               {"serve", trace, "--settings"},
                                               {"sweep", "--output", scratch.path("r.sqlite")}})
        readers.push_back({more, {}});
    for (const reader &r : some_of_today(readers, 3)) {
        const command_result run = run_within(60, line_of(r, "/dev/zero"));
        BOOST_CHECK_MESSAGE(run.status == 1 || run.status == 2,
                            r.before[0] << " " << r.before.back() << ": " << run.status << " " << run.err);
    }
}

// 300 MiB in 300 KB: more than the 256 MiB that may be in any file.
BOOST_AUTO_TEST_CASE(a_small_file_that_is_very_large_inside_is_rejected_by_every_reader) {
    scratch_directory scratch;
    const std::size_t bytes = std::size_t{300} << 20;
    const std::vector<reader> readers = readers_of_gzip(scratch);
    const std::string table = "time_ns,op,id,bytes\n";
    // The check is below all readers: each gets one kind of text, and the first all kinds; a kind every day.
    struct kind {
        std::string first, part;
        std::size_t number;
    };
    const std::vector<kind> kinds{
        {"{\"device_traces\": [[", " ", 0}, {table, "\n", 1}, {"\x80\x04", std::string(1, '\0'), 2}};
    for (const auto &[first, part, number] : some_of_today(kinds, 3)) {
        const std::string path = compressed(scratch.path("bomb.gz"), first, part, bytes);
        BOOST_CHECK_LT(std::filesystem::file_size(path), 500'000u);
        for (std::size_t i = 1 + number; i < readers.size(); i += 3) {
            const command_result run = run_within(60, line_of(readers[i], path));
            BOOST_CHECK_MESSAGE(run.status == 2, readers[i].before[0] << ": " << run.status << " " << run.err);
        }
        const command_result replay = run_within(60, line_of(readers[0], path));
        BOOST_CHECK_EQUAL(replay.status, 2);
        BOOST_CHECK_MESSAGE(contains(replay.err, "exceed the limit of 500 times as many: decompress the file"),
                            replay.err);
    }
}

BOOST_AUTO_TEST_CASE(an_event_log_has_lines_of_a_limit_and_an_end_whatever_bytes_come) {
    scratch_directory scratch;
    const std::string report = scratch.path("r.json"), log = scratch.path("log");
    BOOST_REQUIRE_EQUAL(
        run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--json", report, "--events", log}).status, 0);
    const std::string whole = read_text(log), header = whole.substr(0, whole.find('\n') + 1);
    const auto read = [&](const std::string &text) {
        return run_within(
            60, {"report", report, "--events", scratch.write("changed", text), "--output", scratch.path("page")});
    };
    for (const char byte : some_of_today<char>({'\0', ' ', '1'}, 3)) {
        const command_result run = read(header + std::string((64 << 20) + 10, byte) + "\n");
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, ":2: line longer than the limit of 67108864 bytes"), run.err);
    }
    std::string nul = whole;
    nul[nul.find("\n") + 5] = '\0'; // in the middle of the second line
    BOOST_CHECK_MESSAGE(contains(read(nul).err, "changed:2: found no list that begins with its kind"), read(nul).err);
    BOOST_CHECK_EQUAL(read(whole + "\n\n").status, 0);
    BOOST_CHECK_MESSAGE(contains(read(whole + std::string(2000, '\n')).err, "found more than 1000 blank lines after"),
                        "blank lines");
}

BOOST_AUTO_TEST_CASE(errors_are_reported_up_to_a_stated_number_and_then_reading_ends) {
    scratch_directory scratch;
    const int count = 20000;
    std::string unknown, twice = "hbm:\n", odd, rows = "name: p\ncommand: plan\ninput: b.csv\nkeys:\n",
                         pairs = "name: p\ncommand: run\nplatform: " + npu_small + "\nset:\n";
    for (int i = 0; i < count; i++) {
        const std::string number = std::to_string(i);
        unknown += "key" + number + ": 1\n";
        twice += "  burst: 64 B\n";
        odd += "[a]: 1\n";
        rows += "  - {kee: " + number + "}\n";
        pairs += "  k" + number + ": 1\n";
    }
    const std::string results = scratch.path("r.sqlite");
    const std::vector<std::pair<std::string, std::vector<std::string>>> files{
        {unknown, {"check"}},
        {twice, {"check"}},
        {odd, {"check"}},
        {unknown, {"run"}},
        {unknown, {"traffic", "--pattern", "chase"}},
        {unknown, {"reproduce"}},
        {unknown, {"sweep", "--output", results}},
        {rows, {"sweep", "--output", results}},
        {pairs, {"sweep", "--output", results}}};
    for (const auto &[text, line] : files) {
        const std::string path = scratch.write("f.yaml", text);
        std::vector<std::string> words = line;
        words.push_back(path);
        const command_result run = run_within(60, words);
        const auto lines = std::count(run.err.begin(), run.err.end(), '\n');
        BOOST_TEST_CONTEXT(line[0] << " of " << text.substr(0, 60)) {
            BOOST_CHECK_EQUAL(run.status, 2);
            BOOST_CHECK_LE(lines, 102);
            if (lines > 2)
                BOOST_CHECK_MESSAGE(
                    contains(run.err, "error: more than 100 errors: the rest of the file is not read\n"),
                    run.err.substr(0, 300));
        }
    }
}

// The keys of a recording that the reader knows are read as they come, before the object is whole.
BOOST_AUTO_TEST_CASE(a_repeated_key_of_a_recording_is_rejected_at_its_place) {
    const scratch_directory scratch;
    const std::string trace = "\"device_traces\": [[{\"action\": \"alloc\", \"addr\": 4096, \"size\": 512, "
                              "\"stream\": 0}]]";
    for (const std::string &again :
         std::vector<std::string>{trace, std::string("\"device_traces\": []"), std::string("\"segments\": []"),
                                  std::string("\"allocator_settings\": {}"), std::string("\"traceEvents\": []")}) {
        const std::string head =
            "{" + (contains(again, "device_traces") ? "\"other\": 1" : trace) + ",\n" + again + ",\n";
        const std::string file = scratch.write("s.json", head + "\"between\": [{\"segments\": 2}],\n" + again + "}");
        for (const std::vector<std::string> &line :
             std::vector<std::vector<std::string>>{{"explain", file}, {"replay", file, "--capacity", "1 MiB"}}) {
            const command_result run = run_tlmalloc(line);
            BOOST_CHECK_EQUAL(run.status, 2);
            BOOST_CHECK_EQUAL(run.out, "");
            BOOST_CHECK_MESSAGE(contains(run.err, "s.json:4:1: ") &&
                                    contains(run.err, "expected a key that the object does not have already"),
                                again << ": " << run.err);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_repeated_key_of_json_is_rejected_by_every_reader) {
    scratch_directory scratch;
    const std::string report = scratch.path("r.json"), log = scratch.path("log");
    BOOST_REQUIRE_EQUAL(
        run_tlmalloc({"run", npu_small, "--kernel", "dma_read", "--json", report, "--events", log}).status, 0);
    const std::string text = read_text(report), events = read_text(log);
    const std::string again = scratch.write("again.json", "{\"version\": \"0\"," + text.substr(1));
    const std::string log_again = scratch.write("again.log", "{\"version\": 1," + events.substr(1));
    const std::string recording = scratch.write("s.json", "{\"device_traces\": [[]], \"device_traces\": [[]]}");
    const std::string entry =
        scratch.write("e.json", "{\"device_traces\": [[{\"action\": \"oom\", \"action\": \"x\"}]]}");
    const std::string requests =
        scratch.write("q.jsonl", "{\"id\":0,\"arrival_s\":0,\"input\":20,\"input\":2,\"output\":2,\"blocks\":[0,1]}\n");
    const std::string settings = TLMALLOC_SOURCE_DIR "/configs/serving/small.yaml";
    for (const std::vector<std::string> &line : std::vector<std::vector<std::string>>{
             {"report", again, "--output", scratch.path("p")},
             {"report", report, "--events", log_again, "--output", scratch.path("p")},
             {"explain", again},
             {"topology", npu_small, "--svg", scratch.path("t.svg"), "--load", again},
             {"explain", recording},
             {"replay", entry, "--as-recorded"},
             {"serve", requests, "--settings", settings, "--step-time", "fixed 2 ms + 20 us/token"}}) {
        const command_result run = run_tlmalloc(line);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(!run.err.empty(), line[0]);
    }
    BOOST_CHECK_MESSAGE(contains(run_tlmalloc({"explain", recording}).err, "s.json:1:"), "a place");
}

BOOST_AUTO_TEST_CASE(an_empty_name_of_an_experiment_runs_nothing) {
    const command_result run = run_tlmalloc({"reproduce", ""});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "found an empty NAME, expected an experiment"), run.err);
    BOOST_CHECK_EQUAL(run.out, "");
}

// Neither an expression nor the number of points makes a constraint take long.
BOOST_AUTO_TEST_CASE(constraints_end_whatever_they_say) {
    scratch_directory scratch;
    scratch.write("b.csv", "id,lower,upper,size\nb1,0,3,4\n");
    const auto sweep = [&](const std::string &constraint, const std::string &sizes) {
        const std::string file = scratch.write("s.yaml", "name: p\ncommand: run\nplatform: " + npu_small +
                                                             "\nset: {--kernel: dma_read}\nlimit: 2000000\nkeys:\n"
                                                             "  - {key: controller.cost.node, values: [" +
                                                             sizes +
                                                             "]}\n"
                                                             "  - {key: mmu.cost.fixed, values: [" +
                                                             sizes +
                                                             "]}\n"
                                                             "constraints: [\"" +
                                                             constraint + "\"]\nfigures: {end: sim_time_ps}\n");
        return run_within(60, {"sweep", file, "--output", scratch.path("r.sqlite"), "--resume"});
    };
    for (const std::string endless :
         {"(with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t) > 1",
          "exists (select 1)", "controller.cost.node in (select 1)", "'aaaa' like '%a%a%a%a%b'", "'a' glob '*a*'",
          "length(hex(zeroblob(1000000000))) > 1", "length(printf('%.1000000000d', 1)) > 1",
          "randomblob(1000000000) is null", "load_extension('x')"}) {
        const command_result run = sweep(endless, "1 ns");
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, "expected an expression over keys: "), endless << ": " << run.err);
    }
    std::string thousand;
    for (int i = 1; i <= 1000; i++)
        thousand += (i > 1 ? ", " : "") + std::to_string(i) + " ps";
    for (const std::string &never :
         some_of_today<std::string>({"1 = 2", "controller.cost.node > mmu.cost.fixed + 1 ms"}, 2)) {
        const command_result run = sweep(never, thousand);
        BOOST_CHECK_MESSAGE(run.status == 0, never << ": " << run.status << run.err);
        BOOST_CHECK_MESSAGE(contains(run.out, "1000000 skipped by constraints"), run.out);
        std::filesystem::remove(scratch.path("r.sqlite"));
    }
}
