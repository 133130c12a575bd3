// Runs the built `tlmalloc` as a user would and keeps what it said; files for it live in a directory of the test's own.
#ifndef TLMALLOC_TESTS_PLATFORM_COMMAND_LINE_HPP
#define TLMALLOC_TESTS_PLATFORM_COMMAND_LINE_HPP

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

inline std::string read_text(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    BOOST_REQUIRE_MESSAGE(in, "cannot read " << path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

inline void write_text(const std::string &path, const std::string &text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    BOOST_REQUIRE_MESSAGE(out.flush(), "cannot write " << path);
}

// A new empty directory, removed at the end.
class scratch_directory {
  public:
    scratch_directory() {
        std::string name = (std::filesystem::temp_directory_path() / "tlmalloc-test-XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(name.data()));
        root = name;
    }
    ~scratch_directory() { std::filesystem::remove_all(root); }
    scratch_directory(const scratch_directory &) = delete;
    scratch_directory &operator=(const scratch_directory &) = delete;

    std::string path(const std::string &name) const { return root + "/" + name; }

    std::string write(const std::string &name, const std::string &text) const {
        write_text(path(name), text);
        return path(name);
    }

    std::size_t file_count() const {
        std::size_t count = 0;
        for (const auto &entry : std::filesystem::directory_iterator(root))
            count += entry.is_regular_file();
        return count;
    }

  private:
    std::string root;
};

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

inline bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

#endif
