// The units of a PE that work on composites: a thread for each, which follows the schedule of the core.
#ifndef TLMALLOC_MODULES_PE_STAGE_UNITS_HPP
#define TLMALLOC_MODULES_PE_STAGE_UNITS_HPP

#include "composite.hpp"

#include <memory>

namespace tlmalloc {

class processing_element::stage_units {
  public:
    // Its threads come into being with it.
    explicit stage_units(processing_element &element);

    // Behind the others, from at_ps on. TLA_NO_HOST_MEMORY: it is not there.
    tla_status add(composite &what, std::uint64_t at_ps);

    // Waits until nothing of it is left to do or being done; from when to when units have worked on it.
    void wait_for(const composite &what, std::uint64_t &begin_ps, std::uint64_t &end_ps);

    // Returns whether composites are in flight, or not waited for yet.
    bool has_composites() const { return !composites_.empty(); }

    // Begins no further stage of the composites in flight.
    void drop_all();

  private:
    void serve(tla_stage_unit unit);
    tla_status perform(composite &what, const tla_tile_task &task, sc_core::sc_time &delay,
                       std::vector<tla_time_part> *went);
    static void note_stage(composite &what, const tla_tile_task &task, composite::done_stage stage);
    tla_status move(composite &what, pe_dma::direction way, const tl_operand &matrix,
                    const std::vector<tl_tile> &buffers, const composite::place &where, std::uint64_t index,
                    sc_core::sc_time &delay, std::vector<tla_time_part> *went);
    tla_status fetch(composite &what, const tla_tile_step &step, std::uint64_t index, sc_core::sc_time &delay);
    void multiply(composite &what, const tla_tile_step &step, std::uint64_t index, sc_core::sc_time &delay);
    void compute(composite &what, const tla_tile_step &step, sc_core::sc_time &delay);
    tla_status store(composite &what, const tla_tile_step &step, sc_core::sc_time &delay);

    processing_element &element_;
    std::unique_ptr<tla_tile_schedule, void (*)(tla_tile_schedule *)> schedule_;
    std::map<std::uint64_t, composite *> composites_; // by their numbers
    sc_core::sc_event changed_;
};

} // namespace tlmalloc
#endif
