// A module of one's own: a scratchpad whose pages are handed out by command, as a key-value cache wants them.
//
// It is a memory on a bus, and it accepts commands. memory_module has the common part of memories (four phases, errors,
// DMI, debug), control_window the common part of engines (ports, queue, completions), and the C core the decisions
// (buffer_pools.h). The rest is here: the time of an access, the effect of a command, and the statistics.
#ifndef KV_SCRATCHPAD_HPP
#define KV_SCRATCHPAD_HPP

#include "tlmalloc/base/timeline.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/memory_module.hpp"

#include <memory>
#include <vector>

// `in` accepts accesses by offset; each takes length / bandwidth. `control` accepts ALLOC of at most a page, whose
// value is the offset of a page, and FREE of such an offset. Pages rotate: the page that was freed first is allocated
// first. DMI pointers to a freed page are withdrawn.
class kv_scratchpad : public tlmalloc::memory_module, private tlmalloc::command_handler {
  public:
    struct config {
        std::uint64_t pages = 256, page_bytes = 4096;
        std::uint64_t bandwidth = std::uint64_t{128'000'000'000}; // bytes/s
        tla_cost_profile cost{};                                  // of a command; all zero: commands take no time
    };

    struct statistics : tlmalloc::command_counts {
        std::uint64_t allocs = 0, frees = 0; // commands, rejected ones included
    };

    tlmalloc::control_window control;

    kv_scratchpad(sc_core::sc_module_name name, const config &settings)
        : memory_module(name, "kv_scratchpad", memory_of(settings)),
          control("control", kind(), TLA_TARGET_MEMORY_CONTROLLER, 4, *this), config_(settings) {
        const tla_slot_pool_config pool{0, settings.pages * settings.page_bytes, settings.page_bytes, true, false};
        tla_slot_pool *made = nullptr;
        if (settings.bandwidth == 0 || tla_slot_pool_create(&pool, &made))
            refuse_config("bandwidth must be at least 1 byte/s, and the host must have memory for the pages");
        pool_.reset(made);
    }

    // For reports: the memory's own statistics, then those of this module.
    std::vector<tlmalloc::statistics_group> list_statistics() const override {
        tlmalloc::statistics_group all = list_accesses();
        all.statistics.push_back({"allocs", statistics_.allocs, "commands", "ALLOC, including failed commands"});
        all.statistics.push_back({"frees", statistics_.frees, "commands", "FREE, including rejected commands"});
        all.statistics.push_back({"failed", statistics_.failed, "commands", "failed or rejected"});
        all.statistics.push_back({"busy_ps", statistics_.busy_ps, "ps", "busy time of commands"});
        return {all};
    }

  private:
    static memory_config memory_of(const config &settings) { return {settings.pages * settings.page_bytes}; }

    // A legal access has arrived: moved, counted, and done after its time.
    std::uint64_t access(tlm::tlm_generic_payload &payload, std::uint64_t arrival_ps) override {
        return move(payload, arrival_ps + tla_transfer_ps(payload.get_data_length(), config_.bandwidth));
    }

    // The time of an access for DMI.
    std::uint64_t word_ps(bool) const override { return tla_transfer_ps(in.get_bus_width() / 8, config_.bandwidth); }

    // A well-formed command has arrived. The core decides, the price of its receipt is charged.
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override {
        tla_completion answer = tlmalloc::control_window::answer_to(command, TLA_BAD_COMMAND);
        tla_work work{};
        if (command.opcode == TLA_OP_ALLOC) answer.status = take(command.nbytes, answer.value, work);
        if (command.opcode == TLA_OP_FREE) answer.status = give_back(command.pa.value, work);
        const tla_slot_pool_stats pool = tla_slot_pool_get_stats(pool_.get());
        answer.nbytes = command.nbytes;
        answer.total_free = pool.free_slots * config_.page_bytes;
        answer.largest_free = pool.free_slots > 0 ? config_.page_bytes : 0;
        answer.service_ps = tla_cost_price(&config_.cost, &work);
        const tla_service service = control.finish(port, answer, arrival_ps, statistics_);
        pages_in_use_.set(service.done_ps, pool.slots - pool.free_slots);
        return service.accepted_ps;
    }

    tla_status take(std::uint64_t nbytes, std::uint64_t &offset, tla_work &work) {
        statistics_.allocs++;
        tla_slot slot{};
        const tla_status status = tla_slot_pool_alloc(pool_.get(), nbytes, &slot, &work);
        offset = slot.address;
        return status;
    }

    tla_status give_back(std::uint64_t offset, tla_work &work) {
        statistics_.frees++;
        if (offset % config_.page_bytes != 0) return TLA_NOT_ALLOCATED;
        const tla_status status = tla_slot_pool_free(pool_.get(), offset / config_.page_bytes, &work);
        if (!status) in.withdraw_dmi(offset, offset + config_.page_bytes - 1);
        return status;
    }

    const config config_;
    std::unique_ptr<tla_slot_pool, void (*)(tla_slot_pool *)> pool_{nullptr, tla_slot_pool_destroy};
    statistics statistics_;
    tlmalloc::figure pages_in_use_{*this, "pages_in_use", 32};
};

#endif
