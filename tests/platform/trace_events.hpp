// Traces read by the tests' own, simplest means.
#ifndef TLMALLOC_TESTS_PLATFORM_TRACE_EVENTS_HPP
#define TLMALLOC_TESTS_PLATFORM_TRACE_EVENTS_HPP

#include "platform/command_line.hpp"

#include <cstdint>

struct event {
    bool is_free;
    std::uint64_t id, nbytes;
};

inline std::string gunzip(const std::string &path, const scratch_directory &scratch) {
    std::string plain = scratch.path("plain.csv");
    BOOST_REQUIRE_EQUAL(std::system(("gzip -dc '" + path + "' > '" + plain + "'").c_str()), 0);
    return read_text(plain);
}

// Events of a trace text.
inline std::vector<event> read_events(const std::string &text) {
    std::vector<event> events;
    std::istringstream in(text);
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
        std::istringstream fields(line);
        std::string time, op, id, nbytes;
        std::getline(fields, time, ',');
        std::getline(fields, op, ',');
        std::getline(fields, id, ',');
        std::getline(fields, nbytes, ',');
        events.push_back({op == "free", std::stoull(id), std::stoull(nbytes)});
    }
    return events;
}

#endif
