// A hart at a clock.
//
// The hart never stops in the middle of an access. Its run ends when it needs an access outside, which then fails as
// busy. The core makes the access, and the next run, which begins with the same instruction, receives the answer.
#include "tlmalloc/modules/riscv_core.hpp"

#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <cstring>
#include <sstream>

namespace tlmalloc {

riscv_core::riscv_core(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "riscv_core"), config_(settings) {
    require_ps_resolution();
    if (settings.timing.instruction == 0 || settings.clock_ps == 0 || settings.ahead == 0)
        refuse_config("timing.instruction, clock_ps and ahead must be above 0");
    const tla_riscv_config of_hart{settings.memory_base, settings.memory_bytes, settings.timing, access, this};
    tla_riscv_hart *hart = nullptr;
    if (const tla_status status = tla_riscv_create(&of_hart, &hart))
        refuse_config(std::string("a memory of ") + std::to_string(settings.memory_bytes) +
                      " bytes: " + tla_status_text(status));
    hart_.reset(hart);
    TLMALLOC_HAS_PROCESS(riscv_core);
    SC_THREAD(run);
}

riscv_core::~riscv_core() = default;

tla_status riscv_core::load(std::uint64_t address, const void *bytes, std::size_t nbytes) {
    return tla_riscv_write(hart_.get(), address, bytes, nbytes);
}

// Gives the hart the answer of an access, if it has arrived; otherwise TLA_BUSY.
tla_status riscv_core::access(void *core, std::uint64_t address, void *data, unsigned nbytes, bool write) {
    outside &o = static_cast<riscv_core *>(core)->outside_;
    if (o.answered) {
        o.answered = false;
        if (!write && o.status == TLA_OK) std::memcpy(data, &o.data, nbytes);
        return o.status;
    }
    o = {};
    o.address = address;
    o.nbytes = nbytes;
    o.write = write;
    if (write) std::memcpy(&o.data, data, nbytes);
    return TLA_BUSY;
}

void riscv_core::run() {
    rests_ = false;
    awake_.set(to_ps(sc_core::sc_time_stamp()), 1);
    for (;;) {
        if (in_reset()) {
            rest();
            continue;
        }
        const tla_riscv_stop stop = tla_riscv_run(hart_.get(), config_.ahead);
        follow(tla_riscv_cycles(hart_.get()));
        if (stop == TLA_RISCV_SPENT) continue;
        if (stop == TLA_RISCV_WAITS)
            wait_for_interrupt();
        else if (tla_riscv_last_fault(hart_.get()).status == TLA_BUSY)
            serve_access();
        else {
            tell_fault();
            rest();
        }
    }
}

// Until a reset is over, which has begun or is yet to come.
void riscv_core::rest() {
    awake_.set(to_ps(sc_core::sc_time_stamp()), 0);
    rests_ = true;
    may_be_idle();
    do
        wait(reset_over_);
    while (in_reset());
    rests_ = false;
    awake_.set(to_ps(sc_core::sc_time_stamp()), 1);
    to_edge();
}

void riscv_core::make_new() {
    statistics_.instructions += tla_riscv_instructions(hart_.get());
    statistics_.cycles += tla_riscv_cycles(hart_.get());
    tla_riscv_reset(hart_.get(), config_.memory_base);
    outside_ = {};
    followed_ = 0;
}

void riscv_core::serve_access() {
    outside &o = outside_;
    const tla_riscv_timing &timing = config_.timing;
    follow(tla_riscv_cycles(hart_.get()) + timing.instruction + (o.write ? timing.store : timing.load));
    if (in_reset()) return;
    ++(o.write ? statistics_.writes : statistics_.reads);
    sc_core::sc_time delay;
    const bool done = tlmalloc::access(out, o.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, o.address,
                                       &o.data, o.nbytes, delay);
    if (delay != sc_core::SC_ZERO_TIME) wait(delay);
    to_edge();
    o.status = done ? TLA_OK : TLA_BUS_ERROR;
    o.answered = true;
}

void riscv_core::wait_for_interrupt() {
    wait(sc_core::SC_ZERO_TIME); // the effect of the last access on the signal must be visible
    if (in_reset()) return;
    if (!interrupt.read()) {
        awake_.set(to_ps(sc_core::sc_time_stamp()), 0);
        wait(interrupt.posedge_event() | reset_began_);
        if (in_reset()) return;
        to_edge();
        awake_.set(to_ps(sc_core::sc_time_stamp()), 1);
    }
    statistics_.interrupts++;
    tla_riscv_set_interrupt(hart_.get(), true);
    tla_riscv_run(hart_.get(), 1);
    tla_riscv_set_interrupt(hart_.get(), false);
}

void riscv_core::tell_fault() {
    const tla_riscv_fault fault = tla_riscv_last_fault(hart_.get());
    std::ostringstream text;
    text << name() << ": " << tla_status_name(fault.status) << " at pc 0x" << std::hex << fault.pc << ", instruction 0x"
         << fault.instruction;
    if (fault.address != fault.pc) text << ", address 0x" << fault.address;
    SC_REPORT_WARNING("/tlmalloc/riscv_core/fault", text.str().c_str());
}

// Waits until SystemC's time is that of the hart after so many cycles, or until a reset begins.
void riscv_core::follow(std::uint64_t cycles) {
    if (cycles > followed_) wait(from_ps((cycles - followed_) * config_.clock_ps), reset_began_);
    followed_ = cycles;
}

void riscv_core::to_edge() {
    const std::uint64_t past = to_ps(sc_core::sc_time_stamp()) % config_.clock_ps;
    if (past) wait(from_ps(config_.clock_ps - past));
}

riscv_core::statistics riscv_core::get_statistics() const {
    statistics result = statistics_;
    result.instructions += tla_riscv_instructions(hart_.get());
    result.cycles += tla_riscv_cycles(hart_.get());
    return result;
}

std::vector<statistics_group> riscv_core::list_statistics() const {
    const statistics s = get_statistics();
    return {{{{"instructions", s.instructions, "instructions", "executed"},
              {"cycles", s.cycles, "cycles", "of the core, without time spent waiting for responses"},
              {"reads", s.reads, "accesses", "outside the core's memory"},
              {"writes", s.writes, "accesses", "outside the core's memory"},
              {"interrupts", s.interrupts, "interrupts", "that ended a WFI"}}}};
}

} // namespace tlmalloc
