// The compiler of a kernel's file: how long it may take, the words of CC, and paths that could be taken for options.
#include "platform/doubling_kernel.hpp"
#include "platform/programs/kernel_file.h"
#include "platform/run_report.hpp"

#include <csignal>
#include <cstdlib>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string headers = TLMALLOC_SOURCE_DIR "/include", kernels = TLMALLOC_SOURCE_DIR "/platform/kernels";

// An environment variable, for as long as this lives.
class environment {
  public:
    environment(const char *name, const std::string &value) : name_(name) {
        if (const char *const before = std::getenv(name)) before_ = before, had_ = true;
        setenv(name, value.c_str(), 1);
    }
    ~environment() {
        if (had_)
            setenv(name_, before_.c_str(), 1);
        else
            unsetenv(name_);
    }
    environment(const environment &) = delete;
    environment &operator=(const environment &) = delete;

  private:
    const char *const name_;
    std::string before_;
    bool had_ = false;
};

std::string script(const scratch_directory &scratch, const std::string &name, const std::string &lines) {
    const std::string path = scratch.write(name, "#!/bin/sh\n" + lines);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
}

// Whether a process goes on: one that has been killed and that nobody has waited for does not.
bool is_running(const std::string &pid) {
    std::ifstream in("/proc/" + pid + "/stat");
    std::string number, name, state;
    return in >> number >> name >> state && state != "Z" && state != "X";
}

} // namespace

// It has started a process of its own, which ends with it.
BOOST_AUTO_TEST_CASE(a_compiler_that_does_not_end_is_killed_with_all_that_it_has_started) {
    const scratch_directory scratch, made;
    const std::string kernel = scratch.write("k.c", doubling("", "")), pid = scratch.path("pid");
    const environment cc("CC", script(scratch, "sleeps", "sleep 3600 &\necho $! >'" + pid + "'\nwait\n")),
        temporary("TMPDIR", made.path("."));
    tl_kernel_file file;
    tla_error error{};
    BOOST_CHECK_EQUAL(tl_kernel_file_prepare(kernel.c_str(), headers.c_str(), kernels.c_str(), 2000, &file, &error),
                      TLA_TIMEOUT);
    BOOST_CHECK_MESSAGE(contains(error.text, kernel + ": the C compiler '") &&
                            contains(error.text, "sleeps' did not finish in 2 s and was killed: name another compiler "
                                                 "in CC, or compile the kernel elsewhere and pass its .so"),
                        error.text);
    std::string started = read_text(pid);
    started.pop_back();
    BOOST_REQUIRE(!started.empty());
    for (int i = 0; i < 1000 && is_running(started); i++)
        usleep(10'000); // until the system has done what SIGKILL says
    BOOST_CHECK(!is_running(started));
    BOOST_CHECK(std::filesystem::is_empty(made.path(".")));
    // The next compilation has its own time.
    const environment good("CC", "cc");
    BOOST_CHECK_EQUAL(tl_kernel_file_prepare(kernel.c_str(), headers.c_str(), kernels.c_str(), 600'000, &file, &error),
                      TLA_OK);
    tl_kernel_file_remove_scratch();
    BOOST_CHECK(std::filesystem::is_empty(made.path(".")));
}

// As in the package of the command alone.
BOOST_AUTO_TEST_CASE(without_the_headers_the_package_that_has_them_is_named) {
    const scratch_directory scratch;
    const std::string kernel = scratch.write("k.c", doubling("", ""));
    tl_kernel_file file;
    tla_error error{};
    BOOST_CHECK_EQUAL(tl_kernel_file_prepare(kernel.c_str(), "/no/such/include", kernels.c_str(), 2000, &file, &error),
                      TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(error.text, kernel + ": kernels in C need the headers of tlmalloc, and "
                                           "'/no/such/include/tlmalloc/kernel.h' cannot be read: install Debian's "
                                           "libtlmalloc-dev");
}

BOOST_AUTO_TEST_CASE(every_word_of_cc_reaches_the_compiler_in_its_place) {
    const scratch_directory scratch;
    const std::string kernel = scratch.write("k.c", doubling("", "")), words = scratch.path("words");
    // Both compiling and linking: 1 to 200 words of the user's, then what is to be done.
    const std::string counts =
        script(scratch, "counts",
               "echo \"$@\" >>'" + words + "'\nwhile [ \"${1#-Dw}\" != \"$1\" ]; do shift; done\nexec cc \"$@\"\n");
    for (const int count : {0, 1, 7, 8, 9, 200}) {
        std::string given = "\t " + counts, expected;
        for (int i = 0; i < count; i++) {
            const std::string word = "-Dw" + std::to_string(i);
            given += (i % 3 ? "  " : " \t") + word;
            expected += word + " ";
        }
        const environment cc("CC", given + " ");
        std::filesystem::remove(words);
        const command_result result = run_tlmalloc({"run", npu_small, "--kernel", kernel});
        BOOST_CHECK_MESSAGE(result.status == 0, count << " words: " << result.err);
        const std::string seen = read_text(words);
        const std::size_t second = seen.find('\n') + 1;
        BOOST_CHECK_EQUAL(seen.compare(0, expected.size() + 5, expected + "-std="), 0);
        BOOST_CHECK_EQUAL(seen.compare(second, expected.size() + 7, expected + "-shared"), 0);
    }
}

BOOST_AUTO_TEST_CASE(paths_that_begin_with_a_dash_or_an_at_sign_are_files_and_no_options) {
    const scratch_directory scratch;
    const std::string kernel = doubling("", "");
    std::filesystem::create_directory(scratch.path("-folder"));
    std::filesystem::create_directory(scratch.path("@folder"));
    std::filesystem::create_directory(scratch.path("-tmp"));
    std::filesystem::create_directory(scratch.path("@tmp"));
    const auto in_scratch = [&scratch](const std::string &line) {
        return run_shell("cd '" + scratch.path(".") + "' && " + line);
    };
    for (const std::string &name :
         std::vector<std::string>{"-o.c", "--help.c", "-.c", "-E.c", "@list.c", "@.c", "-folder/k.c", "@folder/k.c"}) {
        scratch.write(name, kernel);
        const std::string temporary = name[0] == '-' ? "TMPDIR=-tmp " : "TMPDIR=@tmp ";
        const command_result run = in_scratch(temporary + "\"$tlmalloc\" run '" + npu_small + "' --kernel " + name);
        BOOST_CHECK_MESSAGE(run.status == 0 && contains(run.out, "result verified"), name << ": " << run.err);
        const std::string object = name.substr(0, name.size() - 1) + "so";
        const command_result made =
            in_scratch("cc -std=c17 -shared -fPIC -I'" + headers + "' ./" + name + " -o ./" + object + " -lm");
        BOOST_REQUIRE_MESSAGE(made.status == 0, made.err);
        const command_result result = in_scratch("\"$tlmalloc\" run '" + npu_small + "' --kernel " + object);
        BOOST_CHECK_MESSAGE(result.status == 0, object << ": " << result.err);
    }
    // What is said of such a file has its name, as the user has written it.
    scratch.write("-wrong.c", "int x = ;\n");
    const command_result wrong = in_scratch("\"$tlmalloc\" run '" + npu_small + "' --kernel -wrong.c");
    BOOST_CHECK_EQUAL(wrong.status, 2);
    BOOST_CHECK_MESSAGE(contains(wrong.err, "-wrong.c: does not compile"), wrong.err);
}
