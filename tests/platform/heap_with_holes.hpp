// A heap for runs in which compaction moves blocks: holes of 128 KiB between blocks of 4 KiB.
#ifndef TLMALLOC_TESTS_HEAP_WITH_HOLES_HPP
#define TLMALLOC_TESTS_HEAP_WITH_HOLES_HPP

#include "platform/command_line.hpp"

// Returns the path of the aged heap, of a capacity of 4 MiB.
inline std::string write_heap_with_holes(const scratch_directory &scratch) {
    std::string text = "time_ns,op,id,bytes\n";
    for (int id = 1; id <= 24; id++)
        text += "0,alloc," + std::to_string(id) + (id % 2 ? ",131072\n" : ",4096\n");
    for (int id = 1; id <= 24; id += 2)
        text += "1,free," + std::to_string(id) + ",131072\n";
    const std::string trace = scratch.write("t.csv", text), aged = scratch.path("aged");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"age", trace, "--capacity", "4 MiB", "--output", aged}).status, 0);
    return aged;
}

#endif
