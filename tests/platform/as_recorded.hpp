// `tlmalloc replay --as-recorded` on a recording, and what its report says.
#ifndef TLMALLOC_TESTS_PLATFORM_AS_RECORDED_HPP
#define TLMALLOC_TESTS_PLATFORM_AS_RECORDED_HPP

#include "platform/command_line.hpp"
#include "tests/torch/recording.hpp"

#include <cstdlib>

namespace naive_torch {

struct outcome {
    int status;
    std::string report, out, err;
    u64 number(const std::string &key) const {
        std::size_t at = report.find("\"" + key + "\": ");
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << key << " in " << report << err);
        return std::strtoull(report.c_str() + at + key.size() + 4, nullptr, 10);
    }
    bool equal() const {
        return status == 0 && contains(report, "\"first_difference\": null") &&
               !contains(report, "\"end_state_equal\": false");
    }
};

inline outcome replay(const std::string &recording, std::vector<std::string> more = {}) {
    scratch_directory scratch;
    std::vector<std::string> arguments{"replay", scratch.write("recording", recording), "--as-recorded", "--json",
                                       scratch.path("report.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    command_result run = run_tlmalloc(arguments);
    std::string report = run.status < 2 ? read_text(scratch.path("report.json")) : "";
    return {run.status, report, run.out, run.err};
}

inline u64 comparable(const allocator &a, std::size_t keep = ~std::size_t{0}) {
    u64 count = 0;
    for (std::size_t i = a.trace.size() > keep ? a.trace.size() - keep : 0; i < a.trace.size(); i++)
        count += a.trace[i].action != "snapshot";
    return count;
}

} // namespace naive_torch

#endif
