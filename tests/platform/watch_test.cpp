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
    explicit watched(const scratch_directory &scratch, bool is_right = true, const std::string &remark = "")
        : folder(scratch.path("a b")), kernel(folder + "/k.c"), header(folder + "/size.h"), config(folder + "/c.yaml"),
          page(folder + "/p.html") {
        std::filesystem::create_directories(folder);
        write_text(header, "enum { SIZE = 1 };\n");
        write_text(config, read_text(small_platform));
        write_text(kernel, remark + read_text(TLMALLOC_SOURCE_DIR "/platform/kernels/vector_add.c") +
                               "#include \"size.h\"\nconst int size = SIZE;\n" + (is_right ? "" : "wrong\n"));
        begin();
    }

    void begin() {
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

// A watch whose temporary files are in a folder of their own.
class watched_apart {
  public:
    explicit watched_apart(const scratch_directory &scratch) : temporary(scratch.path("tmp")) {
        std::filesystem::create_directory(temporary);
        setenv("TMPDIR", temporary.c_str(), 1);
        watch = std::make_unique<watched>(scratch);
        unsetenv("TMPDIR");
    }

    // The folders of watches; the test's own are there too.
    std::vector<std::string> folders() const {
        std::vector<std::string> found;
        for (const auto &entry : std::filesystem::directory_iterator(temporary))
            if (contains(entry.path().filename(), "tlmalloc-watch")) found.push_back(entry.path());
        return found;
    }

    const std::string temporary;
    std::unique_ptr<watched> watch;
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

BOOST_AUTO_TEST_CASE(a_watch_without_a_run_leaves_the_file_that_was_there_before) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const std::string folder = scratch.path("a b"), target = folder + "/target", page = folder + "/p.html";
    std::filesystem::create_directory(folder);
    const std::string bytes("no page, \0 and a byte after it", 30);
    std::ofstream(target, std::ios::binary) << bytes;
    std::filesystem::permissions(target, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::filesystem::create_symlink("target", page);
    watched w(scratch, false);
    w.wait_for(0, "failed");
    BOOST_CHECK(contains(read_text(page), "No run has succeeded yet."));
    BOOST_CHECK_EQUAL(w.end(SIGINT).status, 0);
    std::ifstream in(target, std::ios::binary);
    BOOST_CHECK_EQUAL(std::string(std::istreambuf_iterator<char>(in), {}), bytes);
    // A page: it is shown until a run succeeds.
    const std::string text = read_text(w.kernel);
    write_text(w.kernel, text.substr(0, text.size() - 6));
    w.begin();
    w.wait_for(1, "done");
    BOOST_CHECK_EQUAL(w.end(SIGINT).status, 0);
    const std::string first = read_text(target);
    BOOST_CHECK(std::filesystem::is_symlink(page) && contains(first, "tlmalloc-data") && !contains(first, "WATCH"));
    BOOST_CHECK(std::filesystem::status(target).permissions() ==
                (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    write_text(w.kernel, text);
    for (const int number : {SIGKILL, SIGTERM}) { // a killed watch leaves its own page
        w.begin();
        w.wait_for(0, "failed");
        const std::string shown = read_text(page);
        BOOST_CHECK(contains(shown, "const WATCH = {page: 0,") && contains(shown, "tlmalloc-data"));
        BOOST_CHECK_EQUAL(shown.find("const WATCH ="), shown.rfind("const WATCH ="));
        w.end(number);
        if (number == SIGKILL) std::filesystem::remove(page + ".watch.js");
    }
    BOOST_CHECK(read_text(target) == first);
}

BOOST_AUTO_TEST_CASE(a_page_has_one_watch) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const watched w(scratch);
    w.wait_for(1, "done");
    const command_result second = run_tlmalloc({"run", w.config, "--kernel", w.kernel, "--watch", "-o", w.page});
    BOOST_CHECK_EQUAL(second.status, 1);
    BOOST_CHECK_MESSAGE(contains(second.err, "another watch writes this page"), second.err);
    write_text(w.header, "enum { SIZE = 2 };\n");
    w.wait_for(2, "done");
    // A script that a killed watch has left is no watch.
    w.end(SIGKILL);
    BOOST_CHECK(std::filesystem::exists(w.page + ".watch.js"));
    running_command third({TLMALLOC_COMMAND, "run", w.config, "--kernel", w.kernel, "--watch", "-o", w.page});
    w.wait_for(1, "done");
    third.send(SIGTERM);
    BOOST_CHECK_EQUAL(third.wait().status, 0);
    BOOST_CHECK((w.names() == std::vector<std::string>{"c.yaml", "k.c", "p.html", "size.h"}));
}

BOOST_AUTO_TEST_CASE(a_page_is_no_file_that_the_run_reads_and_a_remark_may_name_it) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const watched w(scratch, true, "// tlmalloc run c.yaml --kernel k.c --watch -o p.html: p.html.watch.js\n");
    w.wait_for(1, "done");
    sleep(1);
    w.wait_for(1, "done");
    BOOST_CHECK_EQUAL(w.end(SIGINT).status, 0);
    for (const std::string &input : {w.header, w.config, w.kernel}) {
        const std::string before = read_text(input);
        const command_result run = run_tlmalloc({"run", w.config, "--kernel", w.kernel, "--watch", "-o", input});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, "name another file"), run.err);
        BOOST_CHECK_EQUAL(read_text(input), before);
    }
}

BOOST_AUTO_TEST_CASE(a_kernel_that_names_more_files_than_a_list_takes_has_its_includes_watched) {
    if (!has_d3()) return;
    scratch_directory scratch;
    std::string remark = "/*";
    for (int i = 0; i < 5000; i++)
        remark += " a" + std::to_string(i) + ".b";
    const watched w(scratch, true, remark + " */\n");
    w.wait_for(1, "done");
    write_text(w.header, "enum { SIZE = 2 };\n");
    w.wait_for(2, "done");
    BOOST_CHECK_EQUAL(w.end(SIGINT).status, 0);
}

BOOST_AUTO_TEST_CASE(every_signal_leaves_nothing_and_an_ignored_one_stays_ignored) {
    if (!has_d3()) return;
    for (const int number : {SIGQUIT, SIGPIPE, SIGUSR1, SIGHUP}) {
        scratch_directory scratch;
        const watched_apart w(scratch);
        w.watch->wait_for(1, "done");
        BOOST_CHECK_EQUAL(w.folders().size(), 1u);
        BOOST_CHECK_EQUAL(w.watch->end(number).status, number == SIGHUP ? 0 : 1000 + number);
        BOOST_CHECK_EQUAL(w.folders().size(), 0u);
        BOOST_CHECK((w.watch->names() == std::vector<std::string>{"c.yaml", "k.c", "p.html", "size.h"}));
    }
    scratch_directory scratch;
    std::signal(SIGHUP, SIG_IGN); // as nohup does
    const watched w(scratch);
    std::signal(SIGHUP, SIG_DFL);
    w.wait_for(1, "done");
    w.command->send(SIGHUP);
    write_text(w.header, "enum { SIZE = 2 };\n");
    w.wait_for(2, "done");
    BOOST_CHECK_EQUAL(w.end(SIGINT).status, 0);
}

BOOST_AUTO_TEST_CASE(a_long_message_keeps_its_begin_and_its_end) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const watched w(scratch, false);
    w.wait_for(0, "failed");
    write_text(w.kernel, "#include \"tlmalloc/kernel.h\"\n#include <stdio.h>\nstatic tla_status run(tl_context *tl) {\n"
                         "    fputs(\"the begin\\n\", stderr);\n"
                         "    for (int i = 0; i < 300000 && tl; i++)\n        fputs(\"again\\n\", stderr);\n"
                         "    return TLA_INVALID_ARGUMENT;\n}\n"
                         "TL_KERNEL(.name = \"long\", .description = \"prints\", .run = run);\n");
    for (int waited = 0; !contains(w.told(), "out of range") && waited < 6000; waited++)
        usleep(10000);
    const std::string told = w.told();
    BOOST_CHECK(contains(told, "the begin\\nagain\\n") && contains(told, "bytes left out ..."));
    BOOST_CHECK(contains(told, "TLA_INVALID_ARGUMENT"));
    BOOST_CHECK_LT(told.size(), 20000u);
    const command_result ended = w.end(SIGINT);
    BOOST_CHECK_EQUAL(ended.status, 0);
    BOOST_CHECK_GT(ended.err.size(), 1800000u); // all of it is on standard error
}

BOOST_AUTO_TEST_CASE(temporary_files_that_were_removed_are_made_again) {
    if (!has_d3()) return;
    scratch_directory scratch;
    const watched_apart w(scratch);
    w.watch->wait_for(1, "done");
    std::filesystem::remove_all(w.folders().at(0));
    write_text(w.watch->header, "enum { SIZE = 2 };\n");
    w.watch->wait_for(2, "done");
    std::filesystem::remove_all(w.folders().at(0));
    BOOST_CHECK_EQUAL(w.watch->end(SIGINT).status, 0);
    BOOST_CHECK_EQUAL(w.folders().size(), 0u);
    const std::string last = read_text(w.watch->page);
    BOOST_CHECK(contains(last, "tlmalloc-data") && !contains(last, "WATCH"));
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
    const command_result piped = run_shell("cat '" + small_platform + "' | \"$tlmalloc\" run /dev/stdin --kernel '" +
                                           kernel + "' --watch -o '" + page + "'");
    BOOST_CHECK_EQUAL(piped.status, 2);
    BOOST_CHECK_MESSAGE(contains(piped.err, "cannot be read again"), piped.err);
    const command_result longer =
        run_tlmalloc({"run", small_platform, "--watch", "-o", scratch.path(std::string(250, 'x')), "--kernel", kernel});
    BOOST_CHECK_EQUAL(longer.status, 1);
    BOOST_CHECK_MESSAGE(contains(longer.err, "File name too long"), longer.err);
    write_text(page + ".watch.js", "let mine;\n");
    const command_result foreign = run_tlmalloc({"run", small_platform, "--watch", "-o", page, "--kernel", kernel});
    BOOST_CHECK_EQUAL(foreign.status, 1);
    BOOST_CHECK_MESSAGE(contains(foreign.err, "is not of a watch"), foreign.err);
    BOOST_CHECK_EQUAL(read_text(page + ".watch.js"), "let mine;\n");
}
