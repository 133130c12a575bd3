// Runs the built `tlmalloc` as a user would and keeps what it said.
#ifndef TLMALLOC_TESTS_PLATFORM_COMMAND_LINE_HPP
#define TLMALLOC_TESTS_PLATFORM_COMMAND_LINE_HPP

#include "scratch_directory.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

struct command_result {
    int status; // exit status; 1000 + signal when a signal ended it
    std::string out, err;
    long max_rss_kib; // the most memory that it occupied
};

// A program that runs. Without SystemC's environment variable: the command must be silent about SystemC by itself.
class running_command {
  public:
    explicit running_command(const std::vector<std::string> &words)
        : out(captured.path("out")), err(captured.path("err")) {
        std::vector<std::string> copies = words;
        std::vector<char *> argv;
        for (std::string &word : copies)
            argv.push_back(word.data());
        argv.push_back(nullptr);
        child = fork();
        BOOST_REQUIRE(child >= 0);
        if (child == 0) {
            unsetenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE");
            int out_file = open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600),
                err_file = open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            if (out_file < 0 || err_file < 0 || dup2(out_file, 1) < 0 || dup2(err_file, 2) < 0) _exit(126);
            execv(argv[0], argv.data());
            _exit(127);
        }
    }

    void send(int signal) const { BOOST_REQUIRE_EQUAL(kill(child, signal), 0); }

    command_result wait() const {
        int status = 0;
        rusage usage{};
        BOOST_REQUIRE_EQUAL(wait4(child, &status, 0, &usage), child);
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        return {code, read_text(out), read_text(err), usage.ru_maxrss};
    }

  private:
    scratch_directory captured;
    std::string out, err;
    pid_t child = 0;
};

inline command_result run_tlmalloc(const std::vector<std::string> &arguments) {
    std::vector<std::string> words{TLMALLOC_COMMAND};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return running_command(words).wait();
}

// A line for the shell, in which $tlmalloc is the command.
inline command_result run_shell(const std::string &line) {
    return running_command({"/bin/sh", "-c", "tlmalloc='" TLMALLOC_COMMAND "'\n" + line}).wait();
}

// The kernels of the platform by name, in the order in which they are listed.
inline std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(TLMALLOC_SOURCE_DIR "/platform/kernels"))
        if (entry.path().extension() == ".c") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

// As messages list them: " a b c".
inline std::string listed_kernels() {
    std::string list;
    for (const std::string &name : kernel_names())
        list += " " + name;
    return list;
}

inline bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

#endif
