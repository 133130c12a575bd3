// Records a run's allocations as they happen: a trace for each memory, for `tlmalloc replay`.
#ifndef TLMALLOC_PLATFORM_RUN_RECORDING_HPP
#define TLMALLOC_PLATFORM_RUN_RECORDING_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/modules/npu.hpp"

#include <cstdio>
#include <map>
#include <string>

namespace tlmalloc {

// The trace of one memory: time_ns,op,id,bytes,references,format,stream,offset (trace/csv.c). Ids count its
// allocations. Times are those of commands' arrivals, and never go back.
class memory_record {
  public:
    memory_record(std::FILE *out, bool compacts);

    void decided(const tla_stack_deed &deed);
    // A command has left the block at an offset with this many references.
    void counted(std::uint64_t offset, bool one_more, std::uint64_t references, std::uint64_t at_ps);

  private:
    struct block {
        std::uint64_t id, nbytes, stream;
        std::uint32_t format;
    };
    void write(std::uint64_t at_ps, const char *what, const block &of, std::uint64_t references,
               const std::string &offset);

    std::FILE *out_;
    bool compacts_; // its controller chooses places beside the policy
    std::uint64_t ids_ = 0, last_ns_ = 0;
    std::map<std::uint64_t, block> live_; // by offset
};

// All memories of a platform.
class recording {
  public:
    // Makes the directory, but not its parents, and opens the files of all memories of the platform:
    // sip0.cube0.pe0.hbm.csv, .tcm.csv, sip0.cube0.sram.csv, .m_cpu.csv. They are outputs like others (output.h).
    tla_status open(const std::string &directory, const tla_config &config, tla_error *error);

    // Follows the controllers; call it before the first allocation. Without files it has no effect.
    void follow(npu &platform);

  private:
    void follow(memory_controller &controller, const std::string &place);

    bool compacts_ = false;
    std::map<std::string, std::FILE *> files_; // by the name of the memory
    std::map<std::string, memory_record> records_;
};

} // namespace tlmalloc
#endif
