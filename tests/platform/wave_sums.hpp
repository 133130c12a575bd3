// What the waveform of a run shows is what its report says.
#ifndef TLMALLOC_TESTS_PLATFORM_WAVE_SUMS_HPP
#define TLMALLOC_TESTS_PLATFORM_WAVE_SUMS_HPP

#include "platform/run_report.hpp"

#include <algorithm>
#include <map>
#include <sstream>

namespace wave_sums {

// Every signal by its name with its scopes.
struct wave {
    struct signal {
        std::uint64_t last = 0, most = 0, area = 0, since_ps = 0; // area: sum of value * ps
    };
    std::map<std::string, signal> signals;
    std::uint64_t end_ps = 0;

    explicit wave(const std::string &text) {
        std::map<std::string, std::string> names;
        std::string scope, line;
        for (std::istringstream lines(text); std::getline(lines, line);) {
            std::istringstream words(line);
            std::string word, kind, width, code, name;
            words >> word >> kind;
            if (word == "$scope") {
                words >> name;
                scope += name + ".";
            } else if (word == "$upscope") {
                scope.erase(scope.find_last_of('.', scope.size() - 2) + 1);
            } else if (word == "$var") {
                words >> width >> code >> name;
                names[code] = scope + name;
                signals[scope + name];
            } else if (word[0] == '#') {
                end_ps = std::stoull(word.substr(1));
            } else if (word[0] == 'b') {
                change(names.at(kind), std::stoull(word.substr(1), nullptr, 2));
            } else if (word[0] == '0' || word[0] == '1') {
                change(names.at(word.substr(1)), static_cast<std::uint64_t>(word[0] - '0'));
            }
        }
        for (auto &[name, s] : signals)
            s.area += s.last * (end_ps - s.since_ps);
    }

    const signal *find(const std::string &name) const {
        const auto found = signals.find(name);
        return found == signals.end() ? nullptr : &found->second;
    }

  private:
    void change(const std::string &name, std::uint64_t value) {
        signal &s = signals.at(name);
        s.area += s.last * (end_ps - s.since_ps);
        s = {value, std::max(s.most, value), s.area, end_ps};
    }
};

inline void check(const std::string &what, std::uint64_t shown, std::int64_t reported) {
    BOOST_CHECK_MESSAGE(shown == static_cast<std::uint64_t>(reported),
                        what << ": the waveform has " << shown << ", the report " << reported);
}

// What a module counts and shows has the same name in both; of a memory controller that is counted by channel.
inline void check_figures(const wave &w, const report &r) {
    std::map<std::string, std::int64_t> counts;
    std::size_t i = 0;
    json_t *row = nullptr, *value = nullptr;
    const char *list = nullptr, *key = nullptr;
    json_t *rows = nullptr;
    json_object_foreach(r.json.get(), list, rows) json_array_foreach(rows, i, row) {
        if (text_of(row, "name").rfind("npu.", 0) != 0) continue;
        const std::string module = text_of(row, "name") + ".", channel = text_of(row, "channel");
        json_object_foreach(row, key, value) {
            if (!json_is_integer(value)) continue;
            if (!channel.empty()) counts[module + channel + "_" + key] = json_integer_value(value);
            counts[module + key] += json_integer_value(value);
        }
    }
    std::size_t compared = 0;
    for (const auto &[name, count] : counts) {
        const wave::signal *const shown = w.find(name);
        if (!shown || contains(name, ".nodes_visited")) continue; // shown is the last command's
        compared++;
        check(name, shown->last, count);
        const std::size_t used = name.find("_used_bytes");
        if (used == std::string::npos) continue;
        const auto peak = counts.find(name.substr(0, used) + "_peak_used_bytes");
        if (peak != counts.end()) check(name + ", at most", shown->most, peak->second);
    }
    BOOST_CHECK_GT(compared, 20u);
}

// What begins ends, and takes as long as is reported.
inline void check_activity(const wave &w, const report &r) {
    for (const auto &[name, s] : w.signals)
        for (const char *what : {"_in_flight", "_active", ".computing", ".kernel_running", ".engine_busy",
                                 ".queue_depth", ".waits_for_", ".engines."})
            if (contains(name, what)) check(name + " in the end", s.last, 0);
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(r.list("kernels"), i, row) {
        const wave::signal *const running = w.find("npu." + text_of(row, "pe") + ".element.kernel_running");
        BOOST_REQUIRE(running);
        check("time of the kernel on " + text_of(row, "pe"), running->area,
              number(row, "end_ps") - number(row, "start_ps"));
    }
}

} // namespace wave_sums

#endif
