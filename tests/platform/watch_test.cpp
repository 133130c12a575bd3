// `run --watch`: which changes run a kernel again, and what it tells an open page. tests/browser has the page itself.
#include "platform/command_line.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>

namespace {

const std::string small_platform = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

bool has_d3() {
    const bool here = std::filesystem::exists("/usr/share/javascript/d3/d3.min.js");
    if (!here) std::cout << "test skipped: the package libjs-d3 is not here" << std::endl;
    return here;
}

// A watch of a kernel with an include, in a folder whose name has a blank.
class watched {
  public:
    explicit watched(const scratch_directory &scratch, bool is_right = true)
        : folder(scratch.path("a b")), kernel(folder + "/k.c"), header(folder + "/size.h"), config(folder + "/c.yaml"),
          page(folder + "/p.html") {
        std::filesystem::create_directory(folder);
        write_text(header, "enum { SIZE = 1 };\n");
        write_text(config, read_text(small_platform));
        write_text(kernel, read_text(TLMALLOC_SOURCE_DIR "/platform/kernels/vector_add.c") +
                               "#include \"size.h\"\nconst int size = SIZE;\n" + (is_right ? "" : "wrong\n"));
        command = std::make_unique<running_command>(std::vector<std::string>{
            TLMALLOC_COMMAND, "run", config, "--kernel", kernel, "--watch", "-o", page, "--set", "mmu.walk=flat"});
    }

    // What the page has been told.
    std::string told() const {
        std::ifstream in(page + ".watch.js");
        std::string line;
        std::getline(in, line);
        return line;
    }

    std::string wait_for(unsigned number, const std::string &state) const {
        const std::string begin =
            "tlmallocWatched({\"page\":" + std::to_string(number) + ",\"state\":\"" + state + "\",";
        std::string line;
        for (int waited = 0; (line = told()).compare(0, begin.size(), begin) != 0; waited++) {
            BOOST_REQUIRE_MESSAGE(waited < 6000, "waited for " << begin << ", found " << line);
            usleep(10000);
        }
        return line;
    }

    command_result end(int number) const {
        command->send(number);
        return command->wait();
    }

    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto &entry : std::filesystem::directory_iterator(folder))
            found.push_back(entry.path().filename());
        std::sort(found.begin(), found.end());
        return found;
    }

    const std::string folder, kernel, header, config, page;
    std::unique_ptr<running_command> command;
};

void replace_by_rename(const std::string &path, const std::string &text) {
    write_text(path + "~", text);
    std::filesystem::rename(path + "~", path);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_change_of_each_kind_of_file_runs_the_kernel_again_and_nothing_else_does) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const std::string temporary = scratch.path("tmp");
    std::filesystem::create_directory(temporary);
    setenv("TMPDIR", temporary.c_str(), 1);
    const watched w(scratch);
    unsetenv("TMPDIR");
    w.wait_for(1, "done");
    const std::string first = read_text(w.page);
    BOOST_CHECK(contains(first, "const WATCH = {page: 1, script: \"p.html.watch.js\""));
    write_text(w.header, "enum { SIZE = 2 };\n");
    w.wait_for(2, "done");
    replace_by_rename(w.kernel, read_text(w.kernel) + "\n");
    w.wait_for(3, "done");
    // The same text at another time is a change; a file that no one reads is none.
    replace_by_rename(w.config, read_text(w.config));
    w.wait_for(4, "done");
    write_text(w.folder + "/other.yaml", "a: b\n");
    sleep(1);
    w.wait_for(4, "done");
    // A file that the configuration names from then on.
    write_text(w.folder + "/energy.yaml", read_text(TLMALLOC_SOURCE_DIR "/configs/energy/hbm3_ayna.yaml"));
    std::string config = read_text(w.config);
    config.insert(config.find("\nhbm:\n") + 6, "  timing: hbm3\n  energy: energy.yaml\n");
    replace_by_rename(w.config, config);
    w.wait_for(5, "done");
    write_text(w.folder + "/energy.yaml", "no: energy\n");
    BOOST_CHECK(contains(w.wait_for(5, "failed"), "energy.yaml"));
    const command_result ended = w.end(SIGINT);
    BOOST_CHECK_EQUAL(ended.status, 0);
    BOOST_CHECK(
        (w.names() == std::vector<std::string>{"c.yaml", "energy.yaml", "k.c", "other.yaml", "p.html", "size.h"}));
    for (const auto &entry : std::filesystem::directory_iterator(temporary)) // the test's own are there too
        BOOST_CHECK_MESSAGE(contains(entry.path().filename(), "tlmalloc-test"), "left: " << entry.path());
    const std::string last = read_text(w.page);
    BOOST_CHECK(!contains(last, "WATCH") && !contains(last, "file:") && contains(last, "tlmalloc-data"));
}

BOOST_AUTO_TEST_CASE(a_failure_is_told_with_its_message_and_the_next_change_is_seen) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const watched w(scratch, false);
    BOOST_CHECK(contains(w.wait_for(0, "failed"), "does not compile"));
    BOOST_CHECK(contains(read_text(w.page), "No run has succeeded yet."));
    const std::string text = read_text(w.kernel);
    write_text(w.kernel, text.substr(0, text.size() - 6));
    w.wait_for(1, "done");
    write_text(w.header, "#error \"</script>\"\n"); // an include
    BOOST_CHECK(contains(w.wait_for(1, "failed"), "#error"));
    std::filesystem::remove(w.header);
    for (int waited = 0; !contains(w.told(), "No such file") && waited < 6000; waited++)
        usleep(10000);
    BOOST_CHECK(contains(w.told(), "No such file"));
    write_text(w.header, "enum { SIZE = 1 };\n"); // it appears again
    w.wait_for(2, "done");
    replace_by_rename(w.config, read_text(small_platform) + "sistem: {}\n");
    BOOST_CHECK(contains(w.wait_for(2, "failed"), "sistem"));
    replace_by_rename(w.config, read_text(small_platform));
    w.wait_for(3, "done");
    BOOST_CHECK_EQUAL(w.end(SIGTERM).status, 0);
}

BOOST_AUTO_TEST_CASE(a_watch_that_ends_during_a_run_or_without_one_leaves_nothing) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const watched w(scratch, false);
    w.wait_for(0, "running");
    BOOST_CHECK_EQUAL(w.end(SIGINT).status, 0);
    BOOST_CHECK((w.names() == std::vector<std::string>{"c.yaml", "k.c", "size.h"}));
}

BOOST_AUTO_TEST_CASE(wrong_uses_of_watch_are_rejected) {
    scratch_directory scratch;
    const std::string kernel = TLMALLOC_SOURCE_DIR "/platform/kernels/vector_add.c", page = scratch.path("p.html");
    const auto rejected = [&](std::vector<std::string> words, const std::string &text) {
        words.insert(words.begin(), {"run", small_platform});
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    rejected({"--watch", "--kernel", kernel}, "--watch needs --output FILE.html");
    rejected({"--watch", "-o", page}, "--watch needs --kernel FILE.c");
    rejected({"--watch", "-o", page, "--kernel", "vector_add"}, "--watch needs --kernel FILE.c");
    rejected({"-o", page}, "--output needs --watch");
    rejected({"--watch", "-o", page, "--kernel", kernel, "--json", "r.json"}, "--watch excludes --json");
    rejected({"--watch", "-o", small_platform, "--kernel", kernel}, "is the input");
    rejected({"--watch", "-o", "-", "--kernel", kernel}, "expected a file for the page");
    BOOST_CHECK(!std::filesystem::exists(page));
}
