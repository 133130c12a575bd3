// Files of a test, in a directory of its own.
#ifndef TLMALLOC_TESTS_SCRATCH_DIRECTORY_HPP
#define TLMALLOC_TESTS_SCRATCH_DIRECTORY_HPP

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

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

#endif
