// A PE's memory management unit: virtual addresses in, physical addresses out, mappings by command.
#ifndef TLMALLOC_MODULES_PE_MMU_HPP
#define TLMALLOC_MODULES_PE_MMU_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/engine.h"
#include "tlmalloc/modules/at_target.hpp"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/waveform.hpp"
#include "tlmalloc/page_table.h"

#include <map>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

namespace tlmalloc {

// Every access through `in` costs a fixed overhead and is translated (KernBench ADR-0039: no capacity, no walks). An
// access that crosses pages or regions is split where the physical addresses part, and all of it is translated before
// any of it moves. An access with an unmapped byte is answered with TLM_ADDRESS_ERROR_RESPONSE, one that the mapping
// forbids with TLM_COMMAND_ERROR_RESPONSE; with TLA_UNMAPPED_PA_FALLBACK an unmapped byte's address is used as physical
// (KernBench's PageFault path), and counted. `control` takes MAP and UNMAP (command.h); their scope is for the
// va_manager and not looked at here. A command that fails changes nothing.
//
// `in` is approximately timed too (at_target.hpp), and then calls b_transport on `out`. DMI is what `out` grants, page
// by page (or region by region): at virtual addresses, what the mapping permits, overhead_ps added. Accesses by DMI are
// not counted as lookups, so an unmapped address that is taken as physical is never granted. A MAP or UNMAP withdraws
// DMI for its addresses; what `out` withdraws is withdrawn wherever it was granted.
class pe_mmu : public sc_core::sc_module, private command_handler {
  public:
    struct config {
        std::uint64_t page_size = std::uint64_t{2} << 20; // bytes, power of two (ADR-0039: 2 MiB)
        std::uint64_t overhead_ps = 0;                    // per access (ADR-0039: 0)
        tla_unmapped unmapped = TLA_UNMAPPED_ERROR;
        bool allow_remap = false; // false: a MAP that overlaps fails; true: the last one wins
        tla_cost_profile cost{};  // of a command; all zero: mappings cost nothing
        unsigned ports = 16;
        unsigned queue_depth = 16;
        unsigned outstanding = 64; // AT: accepted requests of an initiator without END_RESP; more wait for END_REQ
        bool dmi = true;           // pass on DMI
    };

    struct statistics {
        std::uint64_t lookups = 0;      // accesses translated
        std::uint64_t splits = 0;       // accesses that became more than one
        std::uint64_t maps = 0;         // entries mapped
        std::uint64_t unmaps = 0;       // ranges unmapped
        std::uint64_t failed = 0;       // commands refused
        std::uint64_t faults = 0;       // accesses answered with an error
        std::uint64_t pa_fallbacks = 0; // pieces whose virtual address was taken as physical
        std::uint64_t busy_ps = 0;      // time commands took
        tla_page_table_stats table{};
    };

    tlm_utils::simple_target_socket<pe_mmu> in{"in"};
    tlm_utils::simple_initiator_socket<pe_mmu> out{"out"};

  private:
    control_window window_;

  public:
    control_window::target_socket &control = window_.socket;

    pe_mmu(sc_core::sc_module_name name, const config &settings);

    statistics get_statistics() const;
    void record(waveform &wave);
    void trace(sc_core::sc_trace_file *file) const override;

  private:
    struct piece {
        std::uint64_t pa, nbytes;
        bool fallback;
    };

    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay);
    unsigned transport_dbg(tlm::tlm_generic_payload &payload);
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi);
    void invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last);
    void withdraw_dmi(const tla_command &command);
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    tla_status translate(std::uint64_t va, std::uint64_t nbytes, std::uint32_t access,
                         std::vector<piece> &pieces) const;
    void transport_pieces(tlm::tlm_generic_payload &payload, const std::vector<piece> &pieces, sc_core::sc_time &delay);

    const config config_;
    std::unique_ptr<tla_page_table, void (*)(tla_page_table *)> table_{nullptr, tla_page_table_destroy};
    at_target at_;
    struct dmi_grant {
        std::uint64_t nbytes, pa;
    };
    std::map<std::uint64_t, dmi_grant> dmi_grants_; // by virtual address: what an initiator may hold
    bool dmi_asked_ = false;                        // it may also remember a refusal
    tla_engine engine_{};
    statistics statistics_;
    figure lookups_{"lookups", 32}, maps_in_flight_{"maps_in_flight", 16}, mapped_bytes_{"mapped_bytes", 48},
        faults_{"faults", 32}, pa_fallbacks_{"pa_fallbacks", 32};
};

} // namespace tlmalloc
#endif
