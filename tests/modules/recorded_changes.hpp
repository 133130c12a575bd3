// The changes that a VCD shows.
#ifndef TLMALLOC_TESTS_MODULES_RECORDED_CHANGES_HPP
#define TLMALLOC_TESTS_MODULES_RECORDED_CHANGES_HPP

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace recorded_changes {

using changes = std::vector<std::pair<std::uint64_t, std::uint64_t>>; // time in ps, value

// Changes of every signal of a VCD by its name without the scope; the initial value and what is set at time 0 are one.
inline std::map<std::string, changes> read_vcd(const std::string &path) {
    std::ifstream file(path);
    BOOST_REQUIRE(file);
    std::map<std::string, std::string> names;
    std::map<std::string, changes> result;
    std::string line;
    std::uint64_t at = 0;
    const auto change = [&](const std::string &signal, std::uint64_t value) {
        changes &list = result[signal];
        if (!list.empty() && list.back().first == at)
            list.back().second = value;
        else
            list.push_back({at, value});
    };
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string first, type, width, code, name;
        words >> first;
        if (first == "$var") {
            words >> type >> width >> code >> name;
            names[code] = name;
        } else if (first.rfind("#", 0) == 0) {
            at = std::stoull(first.substr(1));
        } else if (first.rfind("b", 0) == 0) {
            words >> code;
            change(names[code], std::stoull(first.substr(1), nullptr, 2));
        } else if (first.size() > 1 && (first[0] == '0' || first[0] == '1')) {
            change(names[first.substr(1)], static_cast<std::uint64_t>(first[0] - '0'));
        }
    }
    return result;
}

} // namespace recorded_changes

#endif
