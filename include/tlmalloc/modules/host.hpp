// The host as a module: the runtime, which sends everything by transactions.
#ifndef TLMALLOC_MODULES_HOST_HPP
#define TLMALLOC_MODULES_HOST_HPP

#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/host_driver.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/runtime.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include "tlmalloc/vm/pauses.h"

#include <functional>
#include <map>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace tlmalloc {

// Every call of the runtime blocks its thread (`main`) until the simulated work is done; make calls from `main` only.
// `out` leads into the fabric, `va` to va_manager.control. The transactions name initiator 0 as requester, trusted, for
// the address space of its tensors (extensions.hpp).
//
// A reset (resettable.hpp) drops everything that the host holds, and numbers commands from 1 again. Devices keep
// everything that they received unless they are reset too. A call in progress or during the reset returns TLA_RESET.
// `main` continues: wait_for_reset() returns when `main` can begin again. Tensors from before the reset are invalid.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/HOST.md.
class host : public sc_core::sc_module,
             public runtime,
             public resettable,
             private access_target,
             private command_handler {
  public:
    struct config : runtime::config {
        using runtime::config::config;

        unsigned outstanding = 1024; // accesses in flight that move data, at least 1; far more than links hold
        unsigned ports = 16;         // of `tables`
    };

    tlm_utils::simple_initiator_socket<host> out{"out"};
    tlm_utils::simple_initiator_socket<host> va{"va"};

    // Page faults (pe_mmu.hpp) of the MMUs, bound in the order of config::pes. The host answers a fault with OK when
    // the memory exists. It serves one fault at a time, in the order of arrival. A fault takes fault_latency_ps, then
    // the time of ALLOC and MAP. If the page is already in progress, the host answers when the page exists. If the
    // tensor is mapped, but not visible yet to the MMU, the host answers after fault_latency_ps. The MMU then waits for
    // the mapping that was sent to it.
    // With config::delegates, memory controllers are bound instead of the MMUs, and also write notices of pages that
    // they have given. The host accepts a notice if it has the tensor.
    target_socket<0, sc_core::SC_ZERO_OR_MORE_BOUND> faults;

    // With config::moves, the window in which the VA manager tells which blocks of tensors move (command.h: PAUSE,
    // REMAP, RESUME, TAKE_BACK, for TLA_TARGET_HOST), or null. A transfer of a tensor waits while one of its blocks is
    // paused, and a PAUSE waits for transfers that have begun. REMAP changes the physical addresses of shards. Mappings
    // of other owners are ignored.
    control_window *tables() { return tables_.get(); }

    // The host's program; it runs once, as a SystemC thread from time 0. Set it before the simulation runs; may be
    // empty.
    std::function<void()> main;

    // Reports an error /tlmalloc/host/config for a dma_chunk of 0, and for a PE that the address map does not include.
    // The same error reports, at the start of the simulation, more bound MMUs than PEs. A driver reports its own errors
    // (host_driver.hpp).
    host(sc_core::sc_module_name name, config settings);

    // Move all bytes of a tensor over the fabric, by physical address (KernBench ADR-0016). A write goes to every copy,
    // a read uses the first copy. For a tensor on demand, a read returns the existing pages and leaves the other bytes
    // of `bytes` unchanged; a write returns TLA_UNSUPPORTED and moves nothing. With config::eviction both work, page
    // faults wait meanwhile, and pages that are not in memory are written to the host's memory and read from there.
    // `bytes` holds the size of the tensor.
    // Both return TLA_BUS_ERROR if a memory answers an access with an error, and TLA_RESET if a reset ends the call.
    // Accesses that had begun by then have moved their bytes: repeat the whole transfer. A call that begins during a
    // reset returns TLA_RESET, and moves nothing.
    tla_status write_tensor(const tensor &to, const std::uint8_t *bytes, tla_error *error);
    tla_status read_tensor(const tensor &from, std::uint8_t *bytes, tla_error *error);

    // Access memory by physical address, without a processor on the way (KernBench's MemoryWriteMsg and MemoryReadMsg).
    // One transaction makes accesses of host.dma_chunk bytes; the bytes lie in one memory. Both return TLA_BUS_ERROR if
    // a memory answers an access with an error, and TLA_RESET as write_tensor does. Accesses that had begun by then
    // have moved their bytes. Unless it is null, *done receives the ids, the status, the start (value) and the duration
    // (service_ps) in ps, and the bytes (nbytes), 0 after TLA_BUS_ERROR. After TLA_RESET *done is unchanged.
    tla_status write_memory(tla_paddr pa, const std::uint8_t *bytes, std::uint64_t nbytes, tla_error *error,
                            tla_completion *done = nullptr);
    tla_status read_memory(tla_paddr pa, std::uint8_t *bytes, std::uint64_t nbytes, tla_error *error,
                           tla_completion *done = nullptr);

    // The driver of the process (host.driver), or null.
    host_driver *driver() { return driver_.get(); }

    // Sum of the latencies in ps of all chunks that the host moved.
    std::uint64_t transfer_latency_ps() const { return transfer_latency_ps_; }

  private:
    void run();
    void begin_reset() override;
    void make_new() override;
    void call_begins() override { begun(); }
    void call_ends() override { ended(); }
    bool ends_calls() const override { return in_reset(); }
    static void wait_for_answers(std::uint64_t at_ps);
    void start_of_simulation() override;
    std::uint64_t now_ps() const override;
    void wait_for_ps(std::uint64_t duration_ps) override;
    void post(way to, const std::vector<tla_sent_command *> &commands) override;
    void send_and_gather(way to, const std::vector<tla_sent_command *> &commands);
    tla_status send(way to, std::uint64_t port_address, const tla_command &command, tla_completion &completion,
                    std::uint64_t &at_ps) override;
    tla_status move_pages(bool write, const std::vector<page_bytes> &pieces, std::uint64_t &at_ps) override;
    void between_faults(const std::function<void()> &change) override;
    tla_status in_driver(std::uint32_t sip, tla_host_driver_operation operation,
                         const std::function<tla_status()> &work) override;
    void in_pool(std::uint32_t sip, const std::function<void()> &work) override;
    void wait_for_driver(std::uint32_t sip) override;
    void launch_ended() override { launch_ended_.notify(sc_core::SC_ZERO_TIME); }
    void serve(unsigned pe, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override; // serves a page fault
    void note_page(unsigned pe, tlm::tlm_generic_payload &payload);
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    bool makes_transactions(const tla_command &) const override { return true; } // a PAUSE waits
    tla_status change_tables(const tla_command &command);
    tla_status pause(const tla_command &command);
    tla_status resume(const tla_command &command);
    void let_in();
    class passage;
    tla_status move_memory(tlm::tlm_command command, tla_paddr pa, std::uint8_t *bytes, std::uint64_t nbytes,
                           tla_error *error, tla_completion *done);
    tla_status move_tensor(const tensor &t, tlm::tlm_command command, std::uint8_t *bytes, tla_error *error);

    const config config_;
    requester requester_, paging_; // for everything that the host sends: trusted, and its blocks belong to
                                   // config::asid; for copies of pages
    std::uint64_t transfer_latency_ps_ = 0;
    outlet to_fabric_, to_va_;
    arrival_gate fault_gate_{name()};
    turnstile fault_turn_;                // an operation that serves a page fault, or that removes a tensor from faults
    std::unique_ptr<host_driver> driver_; // or null
    std::unique_ptr<control_window> tables_; // or null
    std::unique_ptr<tla_pauses, void (*)(tla_pauses *)> pauses_{nullptr, tla_pauses_destroy};
    arrival_gate tables_gate_{name()}; // transfers, then commands, of one time
    sc_core::sc_event drained_, let_in_;
    tla_command remapped_{};                                        // the last REMAP, with the addresses before it
    std::map<std::uint32_t, turnstile> command_turns_, pool_turns_; // per SIP: a sender of commands, a user of the pool
    sc_core::sc_event launch_ended_, reset_began_;
};

} // namespace tlmalloc
#endif
