// Traces of the allocations of a run.
#include "run/recording.hpp"

#include "cli/output.h"

#include <algorithm>
#include <sys/resource.h>

namespace tlmalloc {

namespace {

// sip0.cube1.pe2.hbm, host
std::string name_of(const std::string &place, tla_memory_kind kind) {
    return (place.empty() ? "" : place + ".") + tla_memory_kind_name(kind);
}

// sip0.cube1
std::string cube_name(unsigned sip, unsigned cube) {
    return "sip" + std::to_string(sip) + ".cube" + std::to_string(cube);
}

std::vector<std::string> names_of(const tla_config &c) {
    std::vector<std::string> names;
    for (unsigned sip = 0; sip < c.system.sips; sip++)
        for (unsigned cube = 0; cube < c.system.cube_mesh_width * c.system.cube_mesh_height; cube++) {
            for (unsigned pe = 0; pe < c.system.pes_per_cube; pe++)
                for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM})
                    names.push_back(name_of(to_string(pe_location{sip, cube, pe}), kind));
            for (const tla_memory_kind kind : {TLA_SRAM, TLA_M_CPU_MEMORY})
                names.push_back(name_of(cube_name(sip, cube), kind));
        }
    if (c.host_memory.capacity > 0) names.push_back(name_of("", TLA_HOST_MEMORY));
    return names;
}

// A file each is open until the end.
void allow_open_files(std::size_t count) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= count + 64) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count + 64);
    setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace

memory_record::memory_record(std::FILE *out, bool compacts) : out_(out), compacts_(compacts) {
    std::fputs("time_ns,op,id,bytes,references,format,stream,offset\n", out_);
}

void memory_record::write(std::uint64_t at_ps, const char *what, const block &of, std::uint64_t references,
                          const std::string &offset) {
    last_ns_ = std::max(last_ns_, at_ps / 1000);
    std::fprintf(out_, "%llu,%s,%llu,%llu,%llu,%u,%llu,%s\n", static_cast<unsigned long long>(last_ns_), what,
                 static_cast<unsigned long long>(of.id), static_cast<unsigned long long>(of.nbytes),
                 static_cast<unsigned long long>(references), of.format, static_cast<unsigned long long>(of.stream),
                 offset.c_str());
}

void memory_record::decided(const tla_stack_deed &deed) {
    const std::uint64_t offset = deed.block.offset;
    if (!deed.is_free) {
        const block made{ids_++, deed.request.nbytes, deed.request.stream,
                         static_cast<std::uint32_t>(deed.request.format)};
        write(deed.owner.time, deed.is_reserve && compacts_ ? "place" : "alloc", made, deed.status ? 0 : 1,
              deed.status ? "-" : std::to_string(offset));
        if (!deed.status) live_[offset] = made;
        return;
    }
    const auto found = live_.find(offset);
    if (found == live_.end()) return; // it lived before the run
    write(deed.owner.time, "free", found->second, 0, std::to_string(offset));
    live_.erase(found);
}

void memory_record::counted(std::uint64_t offset, bool one_more, std::uint64_t references, std::uint64_t at_ps) {
    const auto found = live_.find(offset);
    if (found != live_.end())
        write(at_ps, one_more ? "ref" : "unref", found->second, references, std::to_string(offset));
}

tla_status recording::open(const std::string &directory, const tla_config &config, tla_error *error) {
    if (const tla_status status = output_make_directory(directory.c_str(), error)) return status;
    const std::vector<std::string> names = names_of(config);
    allow_open_files(names.size());
    compacts_ = config.controller.compaction.mode != TLA_COMPACTION_OFF;
    for (const std::string &name : names)
        if (const tla_status status =
                output_open("--record", (directory + "/" + name + ".csv").c_str(), &files_[name], error))
            return status;
    return TLA_OK;
}

void recording::follow(memory_controller &controller, const std::string &place) {
    for (const tla_memory_kind kind : controller.memory_kinds())
        records_.try_emplace(name_of(place, kind), files_.at(name_of(place, kind)), compacts_);
    const auto record_of = [this, place](tla_memory_kind kind) -> memory_record & {
        return records_.at(name_of(place, kind));
    };
    controller.set_watch(
        {[record_of](tla_memory_kind kind, const tla_stack_deed &deed) { record_of(kind).decided(deed); },
         [record_of](tla_memory_kind kind, std::uint64_t offset, bool one_more, std::uint64_t references,
                     std::uint64_t at_ps) { record_of(kind).counted(offset, one_more, references, at_ps); }});
}

void recording::follow(npu &platform) {
    if (files_.empty()) return;
    for (pe_unit *pe : platform.pes())
        follow(pe->controller, to_string(pe->where));
    for (cube_memory *memory : platform.cube_memories())
        follow(memory->controller, cube_name(memory->sip, memory->cube));
    if (platform.memory_of_host()) follow(platform.memory_of_host()->controller, "");
}

} // namespace tlmalloc
