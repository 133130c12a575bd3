// A PE's messages to other PEs, and their end with the kernel.
#include "kernel_operation.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/pe_ipcq.hpp"
#include "tlmalloc/modules/time.hpp"

#include <cinttypes>
#include <utility>

namespace tlmalloc {

tla_status processing_element::send(std::uint32_t peer, const tl_tile &tile) {
    if (const tla_status status = check_tile(tile)) return status;
    if (!messages_) return problem(TLA_UNSUPPORTED, "tl_send: this PE has no message unit");
    if (const tla_status status = check_use(tile, false)) return status;
    begin();
    const std::uint64_t since = local_ps(delay_);
    tla_error why{};
    const tla_status status = messages_->send(peer, tile, delay_, &why);
    end(run_.message_ps, since, TLA_TIME_MESSAGE);
    return status ? problem(status, "%s", why.text) : TLA_OK;
}

tla_status processing_element::receive(std::uint32_t peer, const tl_tile &tile) {
    if (const tla_status status = check_tile(tile)) return status;
    if (!messages_) return problem(TLA_UNSUPPORTED, "tl_recv: this PE has no message unit");
    if (const tla_status status = check_use(tile, true, messages_)) return status;
    begin();
    const std::uint64_t since = local_ps(delay_);
    tla_error why{};
    const tla_status status = messages_->receive(peer, tile, delay_, &why);
    end(run_.message_ps, since, TLA_TIME_MESSAGE);
    return status ? problem(status, "%s", why.text) : TLA_OK;
}

struct processing_element::asynchronous_receive final : operation {
    asynchronous_receive(std::uint32_t peer, const tl_tile &tile)
        : operation("tl_recv_async", {{tile, true}}), reception(std::make_shared<pe_ipcq::receiving>()) {
        reception->call = call;
        reception->peer = peer;
        reception->tile = tile;
    }

    tla_status finish(processing_element &element, std::uint64_t &end_ps) override {
        tla_error why{};
        const tla_status status =
            element.messages_->wait_for(reception, "tl_wait for its tl_recv_async", element.delay_, &why);
        end_ps = local_ps(element.delay_);
        return status ? element.problem(status, "%s", why.text) : TLA_OK;
    }

    bool is_message() const override { return true; }

    const pe_ipcq::receiving_ptr reception;
};

tla_status processing_element::receive_async(std::uint32_t peer, const tl_tile &tile, tl_handle &handle) {
    handle = tl_handle{};
    if (const tla_status status = check_tile(tile)) return status;
    if (!messages_) return problem(TLA_UNSUPPORTED, "tl_recv_async: this PE has no message unit");
    if (const tla_status status = check_use(tile, true, messages_)) return status;
    if (const tla_status status = check_room()) return status;
    begin();
    const std::uint64_t since = local_ps(delay_);
    auto made = std::make_unique<asynchronous_receive>(peer, tile);
    made->engine = messages_;
    tla_error why{};
    const tla_status status = messages_->begin_receive(made->reception, delay_, &why);
    end(run_.message_ps, since, TLA_TIME_MESSAGE);
    return status ? problem(status, "%s", why.text) : add_operation(std::move(made), handle);
}

tla_status processing_element::program_at(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe,
                                          std::uint32_t &program) {
    if (!messages_) return problem(TLA_UNSUPPORTED, "tl_program_at: this PE has no message unit");
    const std::uint32_t found = messages_->program_at({sip, cube, pe}, delay_);
    if (found == message_ledger::none)
        return problem(TLA_NOT_FOUND,
                       "tl_program_at: this launch has no program on SIP %" PRIu32 ", cube %" PRIu32 ", PE %" PRIu32,
                       sip, cube, pe);
    program = found;
    return TLA_OK;
}

tla_status processing_element::place_of(std::uint32_t program, tl_place &found) {
    if (!messages_) return problem(TLA_UNSUPPORTED, "tl_place_of: this PE has no message unit");
    if (program >= launch_.programs)
        return problem(TLA_INVALID_ARGUMENT, "tl_place_of: program %" PRIu32 " must be less than %" PRIu32, program,
                       launch_.programs);
    const pe_location where = messages_->place_of(program, delay_);
    found = {where.sip, where.cube, where.pe};
    return TLA_OK;
}

// The kernel has ended with a status: nothing of its messages stays behind.
tla_status processing_element::end_messages(tla_status status) {
    if (!messages_) return status;
    tla_error why{};
    const tla_status ended = messages_->end_kernel(delay_, &why);
    return status || !ended ? status : problem(ended, "%s", why.text);
}

} // namespace tlmalloc
