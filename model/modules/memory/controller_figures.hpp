// The waveforms of a memory controller.
#ifndef TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_FIGURES_HPP
#define TLMALLOC_MODEL_MODULES_MEMORY_CONTROLLER_FIGURES_HPP

#include "tlmalloc/modules/memory_controller.hpp"

#include <deque>
#include <string>

namespace tlmalloc {

class memory_controller::figures {
  public:
    explicit figures(memory_controller &of);
    figures(const figures &) = delete;
    figures &operator=(const figures &) = delete;

    // A command, or work without a command, waits for the engine and begins there.
    void begin(const tla_service &service);

    // It is done: the memory that it was about, and how many nodes of its list were visited.
    void end(tla_memory_kind kind, const tla_service &service, const tla_arena_stats &stats, std::uint64_t nodes);

    void show(tla_memory_kind kind, const tla_arena_stats &stats, std::uint64_t at_ps);
    void show_objects(tla_memory_kind kind, std::uint64_t at_ps);
    void show_l1(std::uint64_t at_ps); // the border of the memory in two parts

    figure &moves_in_flight() { return *moves_in_flight_; }
    figure &move_stops() { return *move_stops_; }
    figure &faults_in_service() { return *faults_in_service_; }
    figure &fault_pool_bytes() { return *fault_pool_bytes_; }

  private:
    struct of_memory {
        figure *used, *largest_free, *free_blocks, *fragmentation, *held, *committed;
        figure *references, *pins, *cached, *evicted, *l1, *l1_used;
        bool has_front, grows, is_divided;
    };
    figure *add(tla_memory_kind kind, const char *name, unsigned bits, bool shown);

    memory_controller &of_;
    std::deque<std::string> names_;
    std::deque<figure> figures_;
    of_memory memories_[TLA_MEMORY_KIND_COUNT]{};
    figure *queue_depth_, *busy_, *nodes_visited_, *moves_in_flight_, *move_stops_, *faults_in_service_,
        *fault_pool_bytes_;
};

} // namespace tlmalloc
#endif
