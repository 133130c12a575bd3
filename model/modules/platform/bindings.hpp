// The bindings of a platform's modules to its fabric.
#ifndef TLMALLOC_MODULES_PLATFORM_BINDINGS_HPP
#define TLMALLOC_MODULES_PLATFORM_BINDINGS_HPP

#include "tlmalloc/modules/npu.hpp"

#include <functional>

namespace tlmalloc {

using graph_ptr = std::unique_ptr<tla_topology, void (*)(tla_topology *)>;

unsigned cubes_of(const tla_config &config);                  // of a SIP
std::vector<pe_location> locations(const tla_config &config); // of every PE, in program order

// The modules of a platform, for its bindings.
struct platform_modules {
    interconnect &fabric;
    tlmalloc::host &host;
    va_manager &addresses;
    const std::vector<std::unique_ptr<command_processor>> &processors; // of each SIP: the IO_CPU, then the M_CPUs
    const std::vector<std::unique_ptr<end_point>> &end_points;         // of each SIP
    const std::vector<pe_unit *> &pes;                                 // in program order
    const std::vector<cube_memory *> &cube_memories;                   // as npu has them
    host_memory *memory_of_host;                                       // or null
};

// The fabric's links, and a row for each who hangs on it: the node, of a target the window that leads to it, and the
// binding. Initiators and targets are numbered by their rows, so that the order of rows decides ties.
class bindings {
  public:
    explicit bindings(const tla_config &config); // which must outlive it

    const interconnect::config &settings() const { return settings_; }
    graph_ptr take_graph() { return std::move(graph_); }
    void bind(platform_modules &parts) const;

  private:
    using binding = std::function<void(platform_modules &)>;

    std::uint32_t node(tla_node_kind kind, unsigned sip, unsigned cube, unsigned index) const;
    void initiator(std::uint32_t node, binding bind);
    void target(std::uint32_t node, tla_paddr base, std::uint64_t size, bool relative, binding bind);
    void add_graph();
    void add_groups();
    void add_host();
    void add_processors(unsigned sip);
    void add_processor(std::uint32_t place, tla_paddr control, std::size_t number);
    void add_pe(const pe_location &where, std::size_t number);
    void add_cube_memories();
    void add_host_memory();
    void add_addresses();
    void add_moves();

    const tla_config &config_;
    graph_ptr graph_;
    interconnect::config settings_;
    std::vector<binding> bindings_;
};

} // namespace tlmalloc
#endif
