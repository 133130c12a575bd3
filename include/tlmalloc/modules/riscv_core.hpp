// A processor that runs firmware: an initiator whose accesses outside its own memory leave through a socket.
#ifndef TLMALLOC_MODULES_RISCV_CORE_HPP
#define TLMALLOC_MODULES_RISCV_CORE_HPP

#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/riscv/mailbox.h"
#include "tlmalloc/riscv/riscv_hart.h"

#include <cstdint>
#include <memory>

namespace tlmalloc {

// The core is the hart of riscv_hart.h at a clock. Accesses outside its memory leave through `out`, by b_transport in
// the core's own thread. In WFI the core waits until `interrupt` is high, without any event until then. An instruction
// that the core cannot execute is a warning /tlmalloc/riscv_core/fault. The core then stops until a reset
// (resettable.hpp). The reset clears the registers and restarts at the first address of the memory. The memory stays as
// the firmware has left it: call load() while the input is active for its initial data.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/memory/RISCV_CORE.md.
class riscv_core : public instrumented, public resettable {
  public:
    struct config {
        std::uint64_t memory_base = TLA_FIRMWARE_BASE, memory_bytes = TLA_FIRMWARE_MEMORY_BYTES; // riscv_hart.h
        tla_riscv_timing timing;       // at least 1 cycle for an instruction
        std::uint64_t clock_ps = 1000; // period, at least 1
        std::uint64_t ahead = 10000;   // instructions executed before SystemC's time follows, at least 1

        config() { tla_riscv_timing_defaults(&timing); }
    };

    struct statistics {
        std::uint64_t instructions = 0, cycles = 0; // cycles of the instructions, without the time of answers
        std::uint64_t reads = 0, writes = 0;        // outside the memory
        std::uint64_t interrupts = 0;               // interrupts that ended a WFI
    };

    initiator_socket<riscv_core> out{"out"};
    sc_core::sc_in<bool> interrupt{"interrupt"};

    // Reports an error /tlmalloc/riscv_core/config for a member out of its range, and for a memory that
    // tla_riscv_create rejects.
    riscv_core(sc_core::sc_module_name name, const config &settings);
    ~riscv_core() override;

    // Copies bytes into the core's memory, whose first address is the entry point. Returns TLA_OUT_OF_RANGE, and writes
    // nothing, if bytes lie outside the memory.
    tla_status load(std::uint64_t address, const void *bytes, std::size_t nbytes);

    // For inspection: registers, memory, the last fault.
    const tla_riscv_hart &hart() const { return *hart_; }

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

  private:
    struct outside { // an access that the hart has reached
        std::uint64_t address = 0, data = 0;
        unsigned nbytes = 0;
        bool write = false, answered = false;
        tla_status status = TLA_OK;
    };

    static tla_status access(void *core, std::uint64_t address, void *data, unsigned nbytes, bool write);
    void run();
    void serve_access();
    void wait_for_interrupt();
    void tell_fault();
    void follow(std::uint64_t cycles);
    void to_edge();
    void rest();
    void begin_reset() override { reset_began_.notify(); }
    void make_new() override;
    void end_reset() override { reset_over_.notify(sc_core::SC_ZERO_TIME); }
    bool is_busy() const override { return !rests_; }

    const config config_;
    std::unique_ptr<tla_riscv_hart, void (*)(tla_riscv_hart *)> hart_{nullptr, tla_riscv_destroy};
    outside outside_;
    std::uint64_t followed_ = 0; // cycles that SystemC's time has followed
    sc_core::sc_event reset_began_, reset_over_;
    bool rests_ = true;     // the thread has not begun, or waits for the end of a reset
    statistics statistics_; // instructions and cycles: counts before the last reset
    figure awake_{*this, "awake", 1};
};

} // namespace tlmalloc
#endif
