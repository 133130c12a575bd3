// The host as a module: the runtime, with transactions for everything that it sends.
#ifndef TLMALLOC_MODULES_HOST_HPP
#define TLMALLOC_MODULES_HOST_HPP

#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/host_driver.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/runtime.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <functional>
#include <map>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace tlmalloc {

// Every call of the runtime blocks its thread (`main`) until the simulated work is done; call them from there only.
// `out` leads into the fabric, `va` to va_manager.control. The transactions name initiator 0 as requester, trusted, for
// the address space of its tensors (extensions.hpp).
//
// A reset (resettable.hpp) drops everything that the host holds, and numbers commands from 1 again; devices keep what
// they were given unless they are reset too. A call in progress or during the reset returns TLA_RESET. `main`
// continues: wait_for_reset() returns when it can begin again. Tensors from before are invalid.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/HOST.md.
class host : public sc_core::sc_module, public runtime, public resettable, private access_target {
  public:
    struct config : runtime::config {
        using runtime::config::config;

        unsigned outstanding = 1024; // transactions that move tensors under way, far more than links hold
    };

    tlm_utils::simple_initiator_socket<host> out{"out"};
    tlm_utils::simple_initiator_socket<host> va{"va"};

    // Page faults (pe_mmu.hpp) of the MMUs, bound in the order of config::pes; answered with OK when there is
    // memory. One is served at a time, in the order in which they come: fault_latency_ps, then ALLOC and MAP as they
    // come. A fault of a page that is under way already is answered when that is there; one of a tensor that is mapped,
    // but not visibly where the fault is, after fault_latency_ps: the MMU waits for what it has been sent.
    target_socket<0, sc_core::SC_ZERO_OR_MORE_BOUND> faults;

    // What the host does; runs as a SystemC thread from time 0.
    std::function<void()> main;

    host(sc_core::sc_module_name name, config settings);

    // Moves all bytes of a tensor over the fabric, by physical address (KernBench ADR-0016): writes every copy, reads
    // the first. Of a tensor on demand what is there is read, and nothing can be written: TLA_UNSUPPORTED.
    tla_status write_tensor(const tensor &to, const std::uint8_t *bytes, tla_error *error);
    tla_status read_tensor(const tensor &from, std::uint8_t *bytes, tla_error *error);

    // Memory by physical address: no processor is on the way (KernBench's MemoryWriteMsg and MemoryReadMsg). One
    // transaction in accesses of host.dma_chunk; the bytes lie in one memory. *done, if wanted: ids, status, when it
    // began (value), how long it took (service_ps) and what was moved (nbytes). TLA_BUS_ERROR when an access was
    // answered with an error: what had begun by then has been moved.
    tla_status write_memory(tla_paddr pa, const std::uint8_t *bytes, std::uint64_t nbytes, tla_error *error,
                            tla_completion *done = nullptr);
    tla_status read_memory(tla_paddr pa, std::uint8_t *bytes, std::uint64_t nbytes, tla_error *error,
                           tla_completion *done = nullptr);

    // The driver of the process (host.driver); null where there is none.
    host_driver *driver() { return driver_.get(); }

    // Sum of the latencies of all chunks that were moved.
    std::uint64_t transfer_latency_ps() const { return transfer_latency_ps_; }

  private:
    void run();
    void begin_reset() override;
    void make_new() override { forget_all(); }
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
    void between_faults(const std::function<void()> &change) override;
    tla_status in_driver(std::uint32_t sip, tla_host_driver_operation operation,
                         const std::function<tla_status()> &work) override;
    void in_pool(std::uint32_t sip, const std::function<void()> &work) override;
    void wait_for_driver(std::uint32_t sip) override;
    void launch_ended() override { launch_ended_.notify(sc_core::SC_ZERO_TIME); }
    void serve(unsigned pe, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override; // a page fault
    tla_status move_memory(tlm::tlm_command command, tla_paddr pa, std::uint8_t *bytes, std::uint64_t nbytes,
                           tla_error *error, tla_completion *done);
    tla_status move(const tensor &t, tlm::tlm_command command, std::uint8_t *bytes, tla_error *error);

    const config config_;
    requester requester_; // of everything that it sends: trusted, and its blocks belong to config::asid
    std::uint64_t transfer_latency_ps_ = 0;
    outlet to_fabric_, to_va_;
    arrival_gate fault_gate_{name()};
    turnstile fault_turn_;                // who serves a page fault, or takes a tensor away from them
    std::unique_ptr<host_driver> driver_; // or none
    std::map<std::uint32_t, turnstile> command_turns_, pool_turns_; // of each SIP: who sends, who uses the pool
    sc_core::sc_event launch_ended_, reset_began_;
};

} // namespace tlmalloc
#endif
