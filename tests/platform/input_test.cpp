// Text files as editors, mail and other systems leave them, and files that are too large.
#include "platform/command_line.hpp"
#include "sanitized.hpp"

#include <functional>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string hbm2 = TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml";
const std::string mark = "\xef\xbb\xbf";
const int sanitized = is_sanitized() ? 2 : 1; // freed memory stays in quarantine

std::string with_carriage_returns(const std::string &text) {
    std::string out;
    for (char c : text)
        out += c == '\n' ? std::string("\r\n") : std::string(1, c);
    return out;
}

// A text, and what is done to it without a change of its meaning.
std::vector<std::string> variants_of(const std::string &text) {
    const std::string cut = text.substr(0, text.size() - 1); // no newline at the end
    return {mark + text,
            cut,
            text + "\n",
            text + "\n\n\n",
            text + "\r\n",
            with_carriage_returns(text),
            with_carriage_returns(text) + "\r\n",
            with_carriage_returns(cut) + "\r",
            mark + with_carriage_returns(cut),
            mark + with_carriage_returns(text) + "\n"};
}

// What a command prints or writes of a file does not depend on these.
void check_harmless(const std::string &text, const std::function<std::string(const std::string &)> &result_of) {
    scratch_directory scratch;
    const std::string path = scratch.path("input");
    write_text(path, text);
    const std::string expected = result_of(path);
    BOOST_CHECK(!expected.empty());
    std::size_t number = 0;
    for (const std::string &variant : variants_of(text)) {
        write_text(path, variant);
        BOOST_CHECK_MESSAGE(result_of(path) == expected, "variant " << number << " of " << text.substr(0, 40));
        number++;
    }
}

std::string out_of(const std::vector<std::string> &arguments) {
    const command_result run = run_tlmalloc(arguments);
    BOOST_CHECK_MESSAGE(run.status == 0, run.err);
    return run.out;
}

// A gzip file of a text and then many times 8 MiB of what a shell command writes.
std::string compressed(const scratch_directory &scratch, const std::string &first, const std::string &endless,
                       int times) {
    const std::string path = scratch.path("big.gz"), part = scratch.path("part.gz");
    const std::string line = "(printf '" + first + "' | gzip; (" + endless + ") | head -c 8388608 | gzip > '" + part +
                             "'; for i in $(seq " + std::to_string(times) + "); do cat '" + part + "'; done) > '" +
                             path + "'";
    BOOST_REQUIRE_EQUAL(std::system(line.c_str()), 0);
    return path;
}

} // namespace

BOOST_AUTO_TEST_CASE(marks_blank_ends_and_line_ends_are_harmless_in_every_reader) {
    const auto placements = [](const std::string &path) {
        return out_of({"replay", path, "--capacity", "1 KiB", "--placements", "-"});
    };
    check_harmless("time_ns,op,id,bytes\n1,alloc,1,8\n2,alloc,22,8\n3,free,1,8\n", placements);
    check_harmless("time_ns,op,id,bytes\n", placements);
    check_harmless("id,lower,upper,size\nb1,0,3,4\nb2,3,9,45\n", placements);
    const auto traffic = [](const std::string &path) {
        const std::string json = out_of({"traffic", hbm2, path, "--json", "-"});
        const std::size_t from = json.find("\"window\""), to = json.find("\"requests_per_host_s\"");
        return json.substr(from, to - from);
    };
    check_harmless("# window=3\ntime_ps,op,addr,bytes\n0,R,0,64\n0,W,64,64\n", traffic);
    check_harmless("time_ps,op,addr,bytes\n0,R,0,64\n10,R,64,64\n", traffic);
    check_harmless(read_text(npu_small), [](const std::string &path) { return out_of({"check", path}); });
    check_harmless(read_text(hbm2), [](const std::string &path) {
        const std::string json = out_of({"traffic", path, "--pattern", "chase", "--count", "100", "--json", "-"});
        const std::size_t from = json.find("\"map\""), to = json.find("\"requests_per_host_s\"");
        return json.substr(from, to - from);
    });
    check_harmless("name: s\nunit: GB/s\nworkload: stream\nwith: {bytes: 64 KiB}\n"
                   "set: {system.pes_per_cube: 1, mmu.walk: flat}\nrows:\n  - {label: a}\n",
                   [](const std::string &path) {
                       return out_of({"reproduce", path});
                   });
    scratch_directory scratch;
    const std::string trace =
        scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n2,alloc,2,8\n3,alloc,3,8\n4,free,2,8\n");
    const std::string aged = out_of({"age", trace, "--capacity", "1 KiB", "--output", "-"});
    check_harmless(aged, [&](const std::string &path) {
        return out_of({"replay", trace, "--from", path, "--placements", "-"});
    });
}

// A byte-order mark is no part of the first column.
BOOST_AUTO_TEST_CASE(places_are_those_of_the_text_after_the_mark) {
    scratch_directory scratch;
    const std::string path = scratch.write("t.csv", mark + "time,op,id,bytes\r\n");
    const command_result run = run_tlmalloc({"replay", path, "--capacity", "1 KiB"});
    BOOST_CHECK_MESSAGE(contains(run.err, "t.csv:1:1: found 'time,op,id,bytes', expected the header line"), run.err);
    const std::string only = scratch.write("m.csv", mark);
    BOOST_CHECK_EQUAL(run_tlmalloc({"replay", only, "--capacity", "1 KiB"}).status, 2);
}

BOOST_AUTO_TEST_CASE(the_longest_line_is_read_and_a_longer_line_is_rejected_at_its_place) {
    scratch_directory scratch;
    const std::string head = "time_ps,op,addr,bytes\n", tail = ",R,0,64\n";
    const std::string longest = std::string(4096 - tail.size() + 1, '0') + tail;
    for (const std::string end : {"", "\r"}) {
        std::string text = head + longest;
        text.insert(text.size() - 1, end);
        const command_result fits = run_tlmalloc({"traffic", hbm2, scratch.write("a.csv", text)});
        BOOST_CHECK_MESSAGE(fits.status == 0, fits.err);
    }
    const command_result longer = run_tlmalloc({"traffic", hbm2, scratch.write("a.csv", head + "0" + longest)});
    BOOST_CHECK_EQUAL(longer.status, 2);
    BOOST_CHECK_MESSAGE(contains(longer.err, "a.csv:2:4097: line longer than the limit of 4096 bytes"), longer.err);
    const command_result comment =
        run_tlmalloc({"traffic", hbm2, scratch.write("a.csv", "#" + std::string(4096, ' ') + "\n" + head)});
    BOOST_CHECK_EQUAL(comment.status, 2);
    BOOST_CHECK_MESSAGE(contains(comment.err, "a.csv:1:4097: line longer"), comment.err);
}

// 100 MB of text in less than 2 MB: a line without an end, lines that are no events, blank lines, comments.
BOOST_AUTO_TEST_CASE(a_small_file_that_is_large_inside_is_read_in_bounded_memory) {
    scratch_directory scratch;
    const int times = 12; // 100 MB
    const std::string head = "time_ns,op,id,bytes\\n";
    struct bomb {
        std::string first, endless, message;
        int status;
    };
    const bomb bombs[] = {
        {head, "tr '\\0' 1 < /dev/zero", ":2:4097: line longer than", 2},
        {"", "tr '\\0' '\\n' < /dev/zero", ":1:1: found '', expected the header line", 2},
        {head, "yes 1,alloc,1", ":2:10: found 3 columns", 2},
        {head, "tr '\\0' '\\n' < /dev/zero", "", 0},
        {"id,lower,upper,size\\n", "yes $(printf %4000s | tr ' ' b),0,1,8", "an id of at most 255", 2},
    };
    const long plain =
        run_tlmalloc({"replay", scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n"), "--capacity", "1 KiB"})
            .max_rss_kib;
    for (const bomb &b : bombs) {
        const std::string path = compressed(scratch, b.first, b.endless, times);
        BOOST_CHECK_LT(std::filesystem::file_size(path), 2'000'000u);
        const command_result run = run_tlmalloc({"replay", path, "--capacity", "1 KiB"});
        BOOST_CHECK_EQUAL(run.status, b.status);
        BOOST_CHECK_MESSAGE(contains(run.err, b.message), run.err);
        BOOST_CHECK_MESSAGE(run.max_rss_kib < plain + 8 * 1024, run.max_rss_kib << " KiB for " << b.endless);
    }
    const std::string comments = compressed(scratch, "", "yes '# nothing'", times);
    const command_result run = run_tlmalloc({"traffic", hbm2, comments});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(run.max_rss_kib < plain + 8 * 1024, run.max_rss_kib << " KiB");
}

// A damaged file is told as such, and not by what its wreckage says.
BOOST_AUTO_TEST_CASE(damage_after_an_error_of_the_text_is_reported_as_damage) {
    scratch_directory scratch;
    const std::string path = compressed(scratch, "time_ns,op,id,bytes\\n", "yes 1,alloc,1", 1);
    std::string whole = read_text(path);
    whole[whole.size() - 6] = static_cast<char>(whole[whole.size() - 6] ^ 1); // its checksum
    const command_result run = run_tlmalloc({"replay", scratch.write("d.csv.gz", whole), "--capacity", "1 KiB"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "d.csv.gz: not valid gzip"), run.err);
}

// As `gzip -d` reads them; every length of the parts, so that they end at every place of a buffer.
BOOST_AUTO_TEST_CASE(members_of_gzip_are_one_text_zeros_after_them_are_padding_and_nothing_else_is) {
    scratch_directory scratch;
    const std::string all = scratch.path("all.gz"), plain = scratch.path("all.csv"), part = scratch.path("part");
    std::string text = "time_ns,op,id,bytes\n";
    for (int i = 0; i < 3000; i++)
        text += std::to_string(i) + ",alloc," + std::to_string(i) + ",8\n";
    write_text(plain, text);
    const command_result made =
        run_shell("cd '" + scratch.path("") + "'; head -c 5 all.csv | gzip > all.gz; " +
                  "tail -c +6 all.csv | head -c 30000 | gzip -1 >> all.gz; : | gzip >> all.gz; "
                  "tail -c +30006 all.csv | gzip --name >> all.gz; zcat all.gz | cmp - all.csv");
    BOOST_REQUIRE_MESSAGE(made.status == 0, made.err);
    const std::string members = read_text(all);
    const auto replay = [&](const std::string &bytes) {
        write_text(all, bytes);
        return run_tlmalloc({"replay", all, "--capacity", "1 MiB", "--placements", part});
    };
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"replay", plain, "--capacity", "1 MiB", "--placements", part}).status, 0);
    const std::string placements = read_text(part);
    for (const std::size_t zeros : {0u, 1u, 2u, 511u, 100000u}) {
        const command_result run = replay(members + std::string(zeros, '\0'));
        BOOST_CHECK_MESSAGE(run.status == 0, run.err);
        BOOST_CHECK(read_text(part) == placements);
    }
    for (const std::string &rest : {std::string("x"), std::string("\n"), text, std::string("\x1f"),
                                    std::string("\0\0\0x", 4), std::string(70000, '\0') + "\x1f\x8b"}) {
        const command_result run = replay(members + rest);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, "all.gz: found data after the end of the compressed data, byte " +
                                                  std::to_string(members.size()) + " of the file"),
                            run.err);
    }
    const command_result cut = replay(members + members.substr(0, 40));
    BOOST_CHECK_EQUAL(cut.status, 2);
    BOOST_CHECK_MESSAGE(contains(cut.err, "all.gz: the compressed data end early, after "), cut.err);
    std::string damaged = members;
    damaged[damaged.size() - 8] = static_cast<char>(damaged[damaged.size() - 8] ^ 1); // the last checksum
    const command_result bad = replay(damaged);
    BOOST_CHECK_EQUAL(bad.err, "tlmalloc replay: " + all + ": not valid gzip after " + std::to_string(text.size()) +
                                   " bytes of text: incorrect data check\n");
}

BOOST_AUTO_TEST_CASE(files_that_are_read_whole_have_a_limit) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n");
    const auto check = [](const std::vector<std::string> &arguments, const std::string &message, int status) {
        const command_result run = run_tlmalloc(arguments);
        BOOST_CHECK_EQUAL(run.status, status);
        BOOST_CHECK_MESSAGE(contains(run.err, message), run.err);
    };
    check({"replay", trace, "--from", "/dev/zero"}, "/dev/zero: larger than the limit of 268435456 bytes", 2);
    check({"run", npu_small, "--from", "/dev/zero"}, "/dev/zero: larger than the limit of 268435456 bytes", 2);
    check({"check", "/dev/zero"}, "File too large", 1);
    check({"reproduce", "/dev/zero"}, "/dev/zero: larger than the limit of 1048576 bytes", 2);
    const std::string most = "# " + std::string((1 << 20) - 3, '-') + "\n";
    const command_result fits = run_tlmalloc({"reproduce", scratch.write("most.yaml", most)});
    BOOST_CHECK_MESSAGE(fits.status == 2 && !contains(fits.err, "limit"), fits.err);
    check({"reproduce", scratch.write("more.yaml", most + "\n")}, "larger than the limit of 1048576 bytes", 2);
}

BOOST_AUTO_TEST_CASE(files_without_text_are_rejected_and_cause_no_other_error) {
    scratch_directory scratch;
    const std::string nul(1, '\0');
    for (const std::string &text : {nul, "hbm:" + nul, nul + "\n", "a: 1\n" + nul + ":\n", std::string("\xff\xfe"),
                                    std::string("\r"), std::string("\n\n"), std::string("\r\n"), mark}) {
        const std::string path = scratch.write("input", text);
        for (const std::vector<std::string> &arguments :
             std::vector<std::vector<std::string>>{{"check", path},
                                                   {"run", path, "--kernel", "dma_read"},
                                                   {"traffic", path, "--pattern", "chase", "--count", "100"},
                                                   {"traffic", hbm2, path},
                                                   {"replay", path, "--capacity", "1 KiB"},
                                                   {"replay", path, "--from", path},
                                                   {"reproduce", path},
                                                   {"age", path, "--capacity", "1 KiB", "--output", "/dev/null"}}) {
            const int status = run_tlmalloc(arguments).status;
            BOOST_CHECK_MESSAGE(status == 0 || status == 2, arguments[0] << ": " << status);
        }
    }
}

// Every input is read once, from its beginning to its end.
BOOST_AUTO_TEST_CASE(an_input_may_be_a_pipe) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n2,alloc,2,8\n");
    const std::string aged = scratch.path("aged"), pipe = scratch.path("pipe");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", trace, "--capacity", "1 KiB", "--output", aged}).status, 0);
    BOOST_REQUIRE_EQUAL(std::system(("mkfifo '" + pipe + "'").c_str()), 0);
    const std::vector<std::pair<std::string, std::string>> lines{
        {"check PIPE", npu_small},
        {"run PIPE --kernel dma_read --json /dev/null", npu_small},
        {"replay PIPE --capacity 1024 --placements -", trace},
        {"replay '" + trace + "' --from PIPE --placements -", aged},
        {"replay '" + trace + "' --config PIPE --placements -", npu_small},
        {"age PIPE --capacity 1024 --output -", trace},
        {"traffic PIPE --pattern chase --count 100", hbm2},
        {"traffic PIPE --pattern seq_rd --count 100", npu_small},
        {"reproduce PIPE.yaml", TLMALLOC_SOURCE_DIR "/configs/experiments/vattention_spike.yaml"}};
    BOOST_REQUIRE_EQUAL(std::system(("ln -s pipe '" + pipe + ".yaml'").c_str()), 0);
    for (const auto &[line, input] : lines) {
        std::string command = line;
        command.replace(command.find("PIPE"), 4, pipe);
        const command_result run = run_shell("cat '" + input + "' > '" + pipe + "' & \"$tlmalloc\" " + command);
        BOOST_CHECK_MESSAGE(run.status == 0, line << ": " << run.err);
    }
}

// One byte makes a value, which takes 56 bytes.
BOOST_AUTO_TEST_CASE(a_pickle_with_too_many_values_is_rejected_before_it_exhausts_memory) {
    scratch_directory scratch;
    const std::string path = compressed(scratch, "\\200\\004](", "tr '\\0' N < /dev/zero", 1);
    const command_result run = run_tlmalloc({"replay", path, "--capacity", "1 KiB"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "the values need more than the limit of 218103"),
                        run.err); // 2^24 + 24 * (2^23 + 4)
    BOOST_CHECK_LT(run.max_rss_kib, sanitized * 400 * 1024);
}

// Two bytes make a value and its place in a list, which take 40.
BOOST_AUTO_TEST_CASE(a_value_of_json_is_read_in_bounded_memory) {
    scratch_directory scratch;
    const std::string path = compressed(scratch, "{\"device_traces\": [[{\"action\": [1", "yes ,1 | tr -d '\\n'", 1);
    const command_result run = run_tlmalloc({"replay", path, "--as-recorded"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "found the end of the file, expected ',' or ']': truncated"), run.err);
    BOOST_CHECK_LT(run.max_rss_kib, sanitized * 300 * 1024);
}

// A pickle may mention one value many times; what is copied out of it counts each time.
BOOST_AUTO_TEST_CASE(a_pickle_that_mentions_the_same_values_many_times_is_read_in_bounded_memory) {
    const auto text = [](const std::string &of) { return "\x8c" + std::string(1, static_cast<char>(of.size())) + of; };
    const std::string memo_0("q\0", 2), memo_1("q\1", 2), get_0("h\0", 2), get_1("h\1", 2);
    const std::string entry = "}(" + text("action") + text("alloc") + text("addr") + "K\1" + text("size") + "K\1u",
                      unknown = "}(" + text("action") + text("grab") + "u",
                      block = "}(" + text("size") + "K\1" + text("state") + text("inactive") + "u";
    const auto segment = [&](const std::string &blocks) {
        return "}(" + text("address") + "K\1" + text("total_size") + "K\1" + text("blocks") + blocks + "u";
    };
    // The first mention puts the value into the memo; the others get it.
    const auto traces = [&](const std::string &first) {
        std::string trace = "](" + first + memo_0;
        for (int i = 0; i < 50000; i++)
            trace += get_0;
        std::string all = "](" + trace + "e" + memo_1;
        for (int i = 0; i < 2000; i++)
            all += get_1;
        return "}" + text("device_traces") + all + "es.";
    };
    std::string blocks = "](" + block + memo_0, segments = "](";
    for (int i = 0; i < 50000; i++)
        blocks += get_0;
    segments += segment(blocks + "e" + memo_1);
    for (int i = 0; i < 2000; i++)
        segments += segment(get_1);
    scratch_directory scratch;
    for (const std::string &rest : {traces(entry), traces(unknown), "}" + text("segments") + segments + "es."}) {
        const std::string path = scratch.write("t.pickle", "\x80\x04" + rest);
        const command_result run = run_tlmalloc({"replay", path, "--as-recorded"});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, "the entries, segments and blocks need more than"), run.err);
        BOOST_CHECK_MESSAGE(run.max_rss_kib < sanitized * 200 * 1024, run.max_rss_kib << " KiB");
    }
}

// More than 2^30 bytes that begin as a pickle does: refused before anything is made of them.
BOOST_AUTO_TEST_CASE(a_pickle_that_is_too_large_is_rejected) {
    scratch_directory scratch;
    const std::string path = scratch.write("big", "\x80\x04");
    std::filesystem::resize_file(path, (std::uintmax_t{1} << 30) + 1); // takes no room on the disk
    const command_result run = run_tlmalloc({"replay", path, "--capacity", "1 KiB"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "larger than the limit of 1073741824 bytes"), run.err);
}
