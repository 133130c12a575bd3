// `--vcd FILE.fst`: the FST has our VCD, and is whole or not there.
#include "platform/command_line.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <sys/stat.h>

namespace {

const std::string small_platform = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

// Whether a test runs, which needs the programs of the package gtkwave.
bool has_gtkwave() {
    if (std::system("command -v vcd2fst >/dev/null && command -v fst2vcd >/dev/null") == 0) return true;
    BOOST_TEST_MESSAGE("test skipped: vcd2fst and fst2vcd are not here: install the package gtkwave");
    return false;
}

// What a VCD holds, however it names its signals and orders the changes of one time.
struct waves {
    std::vector<std::string> signals;   // scope, name, bits, as declared
    std::multiset<std::string> changes; // "time signal value"
    std::string last_time;

    bool operator==(const waves &other) const {
        return signals == other.signals && changes == other.changes && last_time == other.last_time;
    }
};

waves read_waves(const std::string &path) {
    waves all;
    std::map<std::string, std::size_t> numbers;
    std::string scope, line;
    for (std::ifstream in(path); std::getline(in, line);) {
        std::istringstream words(line);
        std::string word, kind, bits, id, name;
        words >> word;
        if (word == "$scope") {
            words >> kind >> name;
            scope += name + ".";
        } else if (word == "$upscope") {
            scope.erase(scope.size() < 2 ? 0 : scope.rfind('.', scope.size() - 2) + 1);
        } else if (word == "$var") {
            words >> kind >> bits >> id >> name;
            numbers[id] = all.signals.size();
            all.signals.push_back(scope + name + " " + bits);
        } else if (word[0] == '#') {
            all.last_time = word;
        } else if (!word.empty() && std::string("01b").find(word[0]) != std::string::npos && !numbers.empty()) {
            const bool is_bit = word[0] != 'b';
            if (is_bit)
                id = word.substr(1);
            else
                words >> id;
            std::string value = is_bit ? word.substr(0, 1) : word.substr(1);
            value.erase(0, std::min(value.find_first_not_of('0'), value.size() - 1));
            all.changes.insert(all.last_time + " " + std::to_string(numbers.at(id)) + " " + value);
        }
    }
    return all;
}

waves read_fst(const scratch_directory &scratch, const std::string &path) {
    const std::string back = scratch.path("back.vcd");
    const command_result read = run_shell("fst2vcd -f '" + path + "' >'" + back + "'");
    BOOST_REQUIRE_MESSAGE(read.status == 0, read.err);
    return read_waves(back);
}

std::vector<std::string> names_in(const std::string &folder) {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

// A run whose PATH begins with a vcd2fst of this text; $real is the real one.
command_result run_with(const scratch_directory &scratch, const std::string &text, const std::string &fst) {
    const std::string folder = scratch.path("bin"), program = folder + "/vcd2fst";
    std::filesystem::create_directories(folder);
    std::ofstream(program) << "#!/bin/sh\nreal=$(PATH=${PATH#*:} command -v vcd2fst)\n" << text << "\n";
    chmod(program.c_str(), 0755);
    return run_shell("PATH='" + folder + "':$PATH\nexec \"$tlmalloc\" run '" + small_platform +
                     "' --kernel vector_add --vcd '" + fst + "'");
}

} // namespace

BOOST_AUTO_TEST_CASE(an_fst_of_a_run_has_the_changes_of_its_vcd) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string vcd = scratch.path("a.vcd"), fst = scratch.path("with a blank, and -v.fst");
    for (const char *const kernel : {"qkv_gemm", "all_reduce"}) {
        BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", small_platform, "--kernel", kernel, "--vcd", vcd}).status, 0);
        const command_result run = run_tlmalloc({"run", small_platform, "--kernel", kernel, "--vcd", fst});
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        BOOST_CHECK_EQUAL(run.err, "");
        const waves expected = read_waves(vcd);
        BOOST_CHECK_GT(expected.changes.size(), 1000u);
        BOOST_CHECK(read_fst(scratch, fst) == expected);
        BOOST_CHECK_LT(std::filesystem::file_size(fst), std::filesystem::file_size(vcd) / 2);
    }
    // One signal alone, and a name that an option could be.
    BOOST_REQUIRE_EQUAL(
        run_tlmalloc({"run", small_platform, "--vcd", vcd, "--vcd-scope", "*pe1*kernel_running"}).status, 0);
    const command_result in_folder = run_shell("cd '" + scratch.path("") + "' && \"$tlmalloc\" run '" + small_platform +
                                               "' --vcd=-o.fst --vcd-scope '*pe1*kernel_running'");
    BOOST_REQUIRE_MESSAGE(in_folder.status == 0, in_folder.err);
    const waves one = read_fst(scratch, scratch.path("-o.fst"));
    BOOST_CHECK_EQUAL(one.signals.size(), 1u);
    BOOST_CHECK(one == read_waves(vcd));
}

BOOST_AUTO_TEST_CASE(an_fst_of_a_replay_and_of_a_kernel_in_a_file_has_the_changes_of_the_vcd) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n2,alloc,2,8\n3,free,1,8\n");
    const std::string vcd = scratch.path("a.vcd"), fst = scratch.path("a.fst");
    const std::vector<std::vector<std::string>> commands{
        {"replay", trace, "--config", small_platform, "--vcd"},
        {"run", small_platform, "--kernel", TLMALLOC_SOURCE_DIR "/platform/kernels/vector_add.c", "--vcd"}};
    for (std::vector<std::string> words : commands) {
        words.push_back(vcd);
        BOOST_REQUIRE_EQUAL(run_tlmalloc(words).status, 0);
        words.back() = fst;
        const command_result made = run_tlmalloc(words);
        BOOST_REQUIRE_MESSAGE(made.status == 0, made.err);
        BOOST_CHECK(read_fst(scratch, fst) == read_waves(vcd));
    }
}

BOOST_AUTO_TEST_CASE(runs_beside_one_another_write_their_own_fsts) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string folder = scratch.path("out");
    std::filesystem::create_directory(folder);
    const command_result all = run_shell(
        "cd '" + folder + "'\nfor n in 256 512 768 1024; do \"$tlmalloc\" run '" + small_platform +
        "' --kernel vector_add --set workload.elements_per_pe=$n --vcd $n.fst >/dev/null & done\nwait\n"
        "for n in 256 512 768 1024; do \"$tlmalloc\" run '" +
        small_platform + "' --kernel vector_add --set workload.elements_per_pe=$n --vcd ../$n.vcd >/dev/null; done");
    BOOST_CHECK_EQUAL(all.err, "");
    BOOST_CHECK((names_in(folder) == std::vector<std::string>{"1024.fst", "256.fst", "512.fst", "768.fst"}));
    for (const std::string n : {"256", "512", "768", "1024"})
        BOOST_CHECK(read_fst(scratch, folder + "/" + n + ".fst") == read_waves(scratch.path(n + ".vcd")));
}

BOOST_AUTO_TEST_CASE(an_fst_keeps_the_mode_and_the_link_of_a_file) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string target = scratch.write("target", "old"), link = scratch.path("link.fst");
    std::filesystem::create_symlink("target", link);
    chmod(target.c_str(), 0640);
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", small_platform, "--vcd", link}).status, 0);
    struct stat found {};
    BOOST_REQUIRE_EQUAL(stat(target.c_str(), &found), 0);
    BOOST_CHECK_EQUAL(found.st_mode & 07777, 0640u);
    BOOST_CHECK(std::filesystem::is_symlink(link));
    BOOST_CHECK_GT(read_fst(scratch, link).signals.size(), 100u);
}

BOOST_AUTO_TEST_CASE(an_fst_that_cannot_be_written_whole_is_not_there) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string folder = scratch.path("out"), fst = folder + "/a.fst";
    std::filesystem::create_directory(folder);
    const auto fails = [&](const std::string &program, const std::string &text) {
        const command_result run = run_with(scratch, program, fst);
        BOOST_CHECK_EQUAL(run.status, 1);
        BOOST_CHECK_MESSAGE(contains(run.err, "tlmalloc run: " + fst + ": cannot write: " + text), run.err);
        BOOST_CHECK_EQUAL(names_in(folder).size(), 0u);
    };
    fails("kill -9 $$", "vcd2fst was ended by signal 9 (Killed)");
    fails("head -c 5000 >/dev/null; echo hier >\"$4.hier\"; kill -9 $$", "vcd2fst was ended by signal 9 (Killed)");
    fails("cat >/dev/null; echo 'no room here' >&2; exit 3", "vcd2fst failed with exit status 3: no room here");
    // As on a full disk: the program ends with 0, and its file is cut; or a change is missing.
    const std::string other = "the file of vcd2fst does not have the waveform of the run";
    fails("\"$real\" \"$@\"; truncate -s 4096 \"$4\"", other);
    fails("sed '/^#6[0-9]*$/,$d' | \"$real\" \"$@\"", other);
    fails("grep -v '^1' | \"$real\" \"$@\"", other);
    fails("cat >/dev/null; : >\"$4\"", other);
    fails("cat >/dev/null; rm \"$4\"", other);
    // A file that exists stays as it was.
    std::ofstream(fst) << "old";
    BOOST_CHECK_EQUAL(run_with(scratch, "kill -9 $$", fst).status, 1);
    BOOST_CHECK_EQUAL(read_text(fst), "old");
    std::filesystem::remove(fst);

    const command_result limited =
        run_shell("ulimit -f 8; \"$tlmalloc\" run '" + small_platform + "' --vcd '" + fst + "'");
    BOOST_CHECK_EQUAL(limited.status, 1);
    BOOST_CHECK_MESSAGE(contains(limited.err, "vcd2fst was ended by signal 25"), limited.err);
    BOOST_CHECK_EQUAL(names_in(folder).size(), 0u);
}

BOOST_AUTO_TEST_CASE(a_failed_or_ended_run_leaves_no_fst) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string folder = scratch.path("out"), fst = folder + "/a.fst";
    std::filesystem::create_directory(folder);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small_platform, "--vcd", fst, "--vcd-scope", "none"}).status, 2);
    BOOST_CHECK_EQUAL(names_in(folder).size(), 0u);
    for (const int number : {SIGINT, SIGTERM}) {
        const running_command run({TLMALLOC_COMMAND, "run", TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml", "--kernel",
                                   "transformer_block", "--vcd", fst});
        while (names_in(folder).size() < 2) // the file, and the scratch file of vcd2fst
            usleep(1000);
        run.send(number);
        BOOST_CHECK_EQUAL(run.wait().status, 1000 + number);
        BOOST_CHECK_EQUAL(names_in(folder).size(), 0u);
    }
    const std::string crash = scratch.write(
        "crash.c", "#include \"tlmalloc/kernel.h\"\nstatic tla_status run(tl_context *tl) {\n"
                   "    *(volatile int *)(uintptr_t)tl_program_id(tl, TL_ALL) = 1;\n    return TLA_OK;\n}\n"
                   "TL_KERNEL(.name = \"crash\", .description = \"ends by a signal\", .run = run);\n");
    const command_result run = run_tlmalloc({"run", small_platform, "--kernel", crash, "--vcd", fst});
    BOOST_CHECK_NE(run.status, 0);
    BOOST_CHECK_EQUAL(names_in(folder).size(), 1u); // it shows where the kernel was
    BOOST_CHECK_GT(read_fst(scratch, fst).signals.size(), 100u);
}

BOOST_AUTO_TEST_CASE(a_missing_vcd2fst_is_named_with_its_package_before_the_run) {
    scratch_directory scratch;
    const std::string fst = scratch.path("a.fst");
    const command_result run =
        run_shell("PATH='" + scratch.path("") + "'\n\"$tlmalloc\" run '" + small_platform + "' --vcd '" + fst + "'");
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_EQUAL(run.out, "");
    BOOST_CHECK_EQUAL(run.err, "tlmalloc run: " + fst +
                                   ": an FST needs the program vcd2fst: install Debian's package gtkwave, or name a "
                                   "file .vcd\n");
    BOOST_CHECK(!std::filesystem::exists(fst));
}

BOOST_AUTO_TEST_CASE(the_name_of_an_fst_may_be_in_capital_letters) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string vcd = scratch.path("a.vcd"), fst = scratch.path("a.FST");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", small_platform, "--vcd", vcd}).status, 0);
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", small_platform, "--vcd", fst}).status, 0);
    BOOST_CHECK(read_fst(scratch, fst) == read_waves(vcd));
}

// A shell that waits for no child ignores SIGCHLD, nohup ignores SIGHUP, and what ignores them starts tlmalloc.
BOOST_AUTO_TEST_CASE(an_fst_is_written_whatever_signals_are_ignored) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string fst = scratch.path("a.fst");
    std::signal(SIGCHLD, SIG_IGN);
    const running_command run({TLMALLOC_COMMAND, "run", small_platform, "--vcd", fst});
    const running_command own({TLMALLOC_COMMAND, "run", small_platform, "--kernel",
                               TLMALLOC_SOURCE_DIR "/platform/kernels/vector_add.c", "--vcd", scratch.path("b.fst")});
    std::signal(SIGCHLD, SIG_DFL);
    for (const running_command *const each : {&run, &own}) {
        const command_result ended = each->wait();
        BOOST_CHECK_MESSAGE(ended.status == 0, ended.err);
    }
    std::signal(SIGHUP, SIG_IGN);
    const command_result hung_up = run_with(scratch, "kill -HUP $$\nexec \"$real\" \"$@\"", scratch.path("c.fst"));
    std::signal(SIGHUP, SIG_DFL);
    BOOST_CHECK_MESSAGE(hung_up.status == 0, hung_up.err);
    for (const char *const name : {"b.fst", "c.fst"})
        BOOST_CHECK_GT(read_fst(scratch, scratch.path(name)).signals.size(), 100u);
    BOOST_CHECK_GT(read_fst(scratch, fst).signals.size(), 100u);
}

BOOST_AUTO_TEST_CASE(a_signal_while_the_fst_is_read_back_ends_the_reader_too) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string folder = scratch.path("bin"), program = folder + "/fst2vcd", number = scratch.path("number"),
                      fst = scratch.path("a.fst");
    std::filesystem::create_directories(folder);
    std::ofstream(program) << "#!/bin/sh\necho $$ >'" << number << "~'\nmv '" << number << "~' '" << number
                           << "'\nexec sleep 1000\n";
    chmod(program.c_str(), 0755);
    const std::string path = getenv("PATH");
    setenv("PATH", (folder + ":" + path).c_str(), 1);
    const running_command run({TLMALLOC_COMMAND, "run", small_platform, "--vcd", fst});
    setenv("PATH", path.c_str(), 1);
    while (!std::filesystem::exists(number))
        usleep(1000);
    run.send(SIGTERM);
    BOOST_CHECK_EQUAL(run.wait().status, 1000 + SIGTERM);
    BOOST_CHECK(!std::filesystem::exists(fst));
    BOOST_CHECK_NE(kill(std::stoi(read_text(number)), 0), 0);
}

BOOST_AUTO_TEST_CASE(an_fst_is_a_regular_file) {
    if (!has_gtkwave()) return;
    scratch_directory scratch;
    const std::string pipe = scratch.path("pipe.fst"), link = scratch.path("out.fst");
    BOOST_REQUIRE_EQUAL(mkfifo(pipe.c_str(), 0600), 0);
    std::filesystem::create_symlink("/dev/stdout", link);
    for (const std::string &path : {pipe, link}) {
        const command_result run = run_tlmalloc({"run", small_platform, "--vcd", path});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, "is no regular file, which an FST needs"), run.err);
    }
}
