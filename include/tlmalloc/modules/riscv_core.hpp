// A processor that runs firmware: an initiator whose accesses outside its own memory leave by a socket.
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

// The hart of riscv_hart.h at a clock. Accesses outside its memory leave by `out`, by b_transport in the core's own
// thread. In WFI it waits for `interrupt` to be high, without any event until then. An instruction that cannot be
// executed is a warning /tlmalloc/riscv_core/fault, and the core stands still until a reset (resettable.hpp). The reset
// clears the registers and begins at the first address of the memory, which stays as the firmware has left it: call
// load() while the input is active for its initial data.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/memory/RISCV_CORE.md.
class riscv_core : public instrumented, public resettable {
  public:
    struct config {
        std::uint64_t memory_base = TLA_FIRMWARE_BASE, memory_bytes = TLA_FIRMWARE_MEMORY_BYTES; // riscv_hart.h
        tla_riscv_timing timing;       // instructions without cycles are refused
        std::uint64_t clock_ps = 1000; // period
        std::uint64_t ahead = 10000;   // instructions that are executed before SystemC's time follows

        config() { tla_riscv_timing_defaults(&timing); }
    };

    struct statistics {
        std::uint64_t instructions = 0, cycles = 0; // of those, without what answers took
        std::uint64_t reads = 0, writes = 0;        // outside the memory
        std::uint64_t interrupts = 0;               // that ended a WFI
    };

    initiator_socket<riscv_core> out{"out"};
    sc_core::sc_in<bool> interrupt{"interrupt"};

    riscv_core(sc_core::sc_module_name name, const config &settings);
    ~riscv_core() override;

    // Bytes into its memory, which begins to run at its first address. TLA_OUT_OF_RANGE, and nothing is written then.
    tla_status load(std::uint64_t address, const void *bytes, std::size_t nbytes);

    // To look at: registers, memory, the last fault.
    const tla_riscv_hart &hart() const { return *hart_; }

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

  private:
    struct outside { // an access that the hart has come to
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
    std::uint64_t followed_ = 0; // cycles that SystemC's time has seen
    sc_core::sc_event reset_began_, reset_over_;
    bool rests_ = true;     // the thread has not begun, or waits for the end of a reset
    statistics statistics_; // of instructions and cycles: those before the last reset
    figure awake_{*this, "awake", 1};
};

} // namespace tlmalloc
#endif
