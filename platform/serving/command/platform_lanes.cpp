// Lanes of DMA: their tiles, and the end of all lanes.
#include "serving/command/platform_lanes.hpp"

#include "serving/command/platform_port.hpp"
#include "tlmalloc/modules/time.hpp"

#include <string>

namespace tlmalloc {

namespace {

constexpr unsigned tiles = 2; // of a PE

} // namespace

struct platform_lanes::lane : sc_core::sc_module {
    lane(sc_core::sc_module_name name, platform_lanes &whole, std::size_t its_pe)
        : sc_module(name), all(whole), pe(its_pe) {
        TLMALLOC_HAS_PROCESS(lane);
        SC_THREAD(run);
    }
    void run() {
        for (;;) {
            wait(all.begin_);
            while (all.next_(pe, tile)) {
            }
            if (--all.running_ == 0) all.end_.notify();
        }
    }

    platform_lanes &all;
    const std::size_t pe;
    std::uint64_t tile = 0;
};

struct platform_lanes::unit {
    unit(const std::string &name, std::size_t its_number, pe_unit &its_pe)
        : number(its_number), pe(its_pe), controller((name + "_controller").c_str()), bytes((name + "_bytes").c_str()) {
        controller.bind(pe.controller.control);
        bytes.bind(pe.controller.in);
    }

    const std::size_t number;
    pe_unit &pe;
    tlm_utils::simple_initiator_socket<platform_lanes> controller, bytes;
    std::vector<std::unique_ptr<lane>> lanes;
};

platform_lanes::platform_lanes(sc_core::sc_module_name name, npu &platform, std::uint64_t tile_bytes, work next)
    : sc_module(name), tile_bytes_(tile_bytes), next_(std::move(next)) {
    for (std::size_t i = 0; i < platform.pes().size(); i++) {
        pes_.push_back(std::make_unique<unit>("pe" + std::to_string(i), i, *platform.pes()[i]));
        for (unsigned k = 0; k < tiles; k++)
            pes_[i]->lanes.push_back(std::make_unique<lane>(sc_core::sc_gen_unique_name("lane"), *this, i));
    }
}

platform_lanes::~platform_lanes() = default;

pe_unit &platform_lanes::pe(std::size_t number) const {
    return pes_[number]->pe;
}

tla_status platform_lanes::run(std::uint64_t &took_ps, tla_error *error) {
    for (std::size_t i = 0; i < pes_.size() && !has_tiles_; i++)
        for (const auto &one : pes_[i]->lanes)
            if (const tla_status status = tile_command(*pes_[i], TLA_OP_ALLOC, one->tile, error)) return status;
    has_tiles_ = true;
    const std::uint64_t start_ps = to_ps(sc_core::sc_time_stamp());
    running_ = tiles * pes_.size();
    begin_.notify(sc_core::SC_ZERO_TIME);
    sc_core::wait(end_);
    took_ps = to_ps(sc_core::sc_time_stamp()) - start_ps;
    return TLA_OK;
}

tla_status platform_lanes::give_tiles_back(tla_error *error) {
    for (std::size_t i = 0; i < pes_.size() && has_tiles_; i++)
        for (const auto &one : pes_[i]->lanes)
            if (const tla_status status = tile_command(*pes_[i], TLA_OP_FREE, one->tile, error)) return status;
    has_tiles_ = false;
    return TLA_OK;
}

tla_status platform_lanes::tile_command(unit &of, tla_opcode opcode, std::uint64_t &pa, tla_error *error) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.memory = TLA_TCM;
    command.nbytes = tile_bytes_;
    command.pa = {pa};
    tla_completion completion{};
    const tla_status status = command_beside(of.controller, command, completion);
    if (status)
        return tla_error_set(error, status, "%s of a tile of %llu bytes in the TCM of PE %zu: %s",
                             opcode == TLA_OP_ALLOC ? "ALLOC" : "FREE", static_cast<unsigned long long>(tile_bytes_),
                             of.number, tla_status_text(status));
    pa = completion.value;
    return TLA_OK;
}

bool platform_lanes::look(std::size_t pe, std::uint64_t pa, std::uint8_t *bytes, std::uint64_t nbytes) {
    return debug_access(pes_[pe]->bytes, tlm::TLM_READ_COMMAND, pa, bytes, nbytes);
}

} // namespace tlmalloc
