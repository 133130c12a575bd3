// The transactions of the runtime; tensors written and read in chunks; page faults in the order of arrival.
#include "tlmalloc/modules/host.hpp"

#include "host_passage.hpp"
#include "modules/pe/bulk_transfer.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <new>
#include <optional>

namespace tlmalloc {

// For an MMU in four phases: the host serves faults one at a time, and other faults may wait at the MMU.
static constexpr unsigned faults_under_way = 1;

host::host(sc_core::sc_module_name name, config settings)
    : sc_module(name), runtime(settings), faults("faults", *this, faults_under_way), config_(std::move(settings)),
      requester_(config_.asid, 0, true) {
    require_ps_resolution();
    requester_.waits = true;
    requester_.purpose = TLA_PURPOSE_HOST;
    paging_ = requester_;
    paging_.purpose = TLA_PURPOSE_MOVE;
    if (config_.dma_chunk == 0) SC_REPORT_ERROR("/tlmalloc/host/config", "dma_chunk must be above 0");
    if (config_.outstanding == 0) SC_REPORT_ERROR("/tlmalloc/host/config", "outstanding must be above 0");
    for (const pe_location &pe : config_.pes) {
        tla_paddr pa{};
        if (tla_paddr_pe_control(pe.sip, pe.cube, pe.pe, TLA_CONTROL_MEMORY_CONTROLLER, 0, &pa))
            SC_REPORT_ERROR("/tlmalloc/host/config",
                            ("pes: the address map does not include " + to_string(pe)).c_str());
    }
    if (config_.driver.kind != TLA_HOST_DRIVER_NONE) {
        host_driver::config of_driver(config_.driver);
        for (const pe_location &pe : config_.pes)
            of_driver.devices = std::max(of_driver.devices, pe.sip + 1);
        driver_ = std::make_unique<host_driver>("driver", of_driver);
        driver_->wait_for_device = [this](std::uint32_t sip) {
            while (launches_on(sip) > 0 && !in_reset())
                sc_core::wait(launch_ended_);
        };
        reset_with(*driver_);
    }
    if (config_.moves) {
        tla_pauses *made = nullptr;
        if (tla_pauses_create(&made)) throw std::bad_alloc();
        pauses_.reset(made);
        command_handler &handler = *this;
        tables_ = std::make_unique<control_window>("tables", "host", TLA_TARGET_HOST, config_.ports, handler);
        tables_->serve_for(*this);
    }
    faults.serve_for(*this);
    TLMALLOC_HAS_PROCESS(host);
    SC_THREAD(run);
}

void host::run() {
    if (main) main();
}

void host::begin_reset() {
    reset_began_.notify(sc_core::SC_ZERO_TIME);
    launch_ended_.notify(sc_core::SC_ZERO_TIME); // threads that wait for launches check again
    if (tables_) tables_->end_commands();
}

void host::make_new() {
    forget_all();
    if (!tables_) return;
    tla_pauses_end_all(pauses_.get());
    let_in();
    remapped_ = {};
    tables_->make_new();
}

void host::start_of_simulation() {
    to_fabric_.lead_to(*out.operator->(), out.name());
    to_va_.lead_to(*va.operator->(), va.name());
    if (static_cast<std::size_t>(faults.size()) > config_.pes.size())
        SC_REPORT_ERROR("/tlmalloc/host/config",
                        (std::to_string(faults.size()) + " MMUs are bound to faults, but the configuration has " +
                         std::to_string(config_.pes.size()) + " PEs")
                            .c_str());
}

// --- services for the runtime
// --------------------------------------------------------------------------------------------

std::uint64_t host::now_ps() const {
    return to_ps(sc_core::sc_time_stamp());
}

void host::wait_for_ps(std::uint64_t duration_ps) {
    if (!in_reset()) sc_core::wait(from_ps(duration_ps), reset_began_);
}

// Waits until all commands are answered, also during a reset: no answer may arrive after the reset.
void host::wait_for_answers(std::uint64_t at_ps) {
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (at_ps > now) sc_core::wait(from_ps(at_ps - now));
}

void host::post(way to, const std::vector<tla_sent_command *> &commands) {
    if (!in_reset()) send_and_gather(to, commands);
    if (!in_reset()) return;
    for (tla_sent_command *command : commands)
        command->status = TLA_RESET;
}

void host::send_and_gather(way to, const std::vector<tla_sent_command *> &commands) {
    scatter round(to == way::fabric ? to_fabric_ : to_va_);
    for (tla_sent_command *command : commands)
        round.post(*command, &requester_);
    wait_for_answers(round.gather());
}

tla_status host::send(way to, std::uint64_t port_address, const tla_command &command, tla_completion &completion,
                      std::uint64_t &at_ps) {
    if (in_reset()) return TLA_RESET;
    sc_core::sc_time delay;
    set_local_ps(delay, at_ps);
    const tla_status status = send_command(to == way::fabric ? out : va, port_address, command, completion, delay,
                                           config_.retry, retries_, &requester_);
    catch_up_with(delay);
    at_ps = local_ps(delay);
    return in_reset() ? TLA_RESET : status;
}

tla_status host::move_pages(bool write, const std::vector<page_bytes> &pieces, std::uint64_t &at_ps) {
    std::vector<bulk_transfer::piece> all;
    for (const page_bytes &p : pieces)
        all.push_back({p.pa, p.bytes, p.nbytes});
    bulk_transfer transfer{to_fabric_, config_.dma_chunk, config_.outstanding, &paging_, this};
    const std::size_t refused = transfer.move(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, all, at_ps);
    transfer_latency_ps_ += transfer.latency_ps;
    at_ps = std::max(at_ps, transfer.end_ps);
    wait_for_answers(at_ps);
    return in_reset() ? TLA_RESET : refused < all.size() ? TLA_BUS_ERROR : TLA_OK;
}

void host::between_faults(const std::function<void()> &change) {
    const turnstile::turn turn(fault_turn_);
    change();
}

tla_status host::in_driver(std::uint32_t sip, tla_host_driver_operation operation,
                           const std::function<tla_status()> &work) {
    if (driver_) return driver_->call(sip, operation, work);
    const turnstile::turn turn(command_turns_[sip]); // a port takes one command at a time
    return work();
}

void host::in_pool(std::uint32_t sip, const std::function<void()> &work) {
    const turnstile::turn turn(pool_turns_[sip]);
    work();
}

void host::wait_for_driver(std::uint32_t sip) {
    const std::uint64_t ready_ps = driver_ ? driver_->ready_ps(sip) : 0;
    if (ready_ps > now_ps()) wait_for_ps(ready_ps - now_ps());
}

void host::serve(unsigned pe, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (payload.is_write() && payload.get_data_length() == page_notice::bytes{}.size()) {
        note_page(pe, payload);
        return;
    }
    if (!payload.is_write() || payload.get_data_length() != page_fault::bytes{}.size()) return;
    const page_fault asked = page_fault::decode(payload.get_data_ptr());
    std::uint64_t at_ps = local_ps(delay);
    std::optional<arrival_gate::passage> order(std::in_place, fault_gate_, pe);
    const turnstile::turn turn(fault_turn_, [&order] { order.reset(); });
    const std::uint64_t begin_ps = at_ps;
    at_ps = std::max(at_ps, now_ps());
    const paging_counts before = fault_ended ? paging_statistics() : paging_counts{};
    const bool again = asked.access & page_fault::again;
    if (in_reset() || (asked.asid == config_.asid && !bring_page(config_.pes[pe], asked.va, again, at_ps)))
        payload.set_response_status(in_reset() ? tlm::TLM_GENERIC_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
    set_local_ps(delay, at_ps);
    if (!fault_ended) return;
    const paging_counts after = paging_statistics();
    fault_ended({config_.pes[pe], asked.va, begin_ps, at_ps, payload.is_response_ok(), after.fetches - before.fetches,
                 after.prefetches - before.prefetches});
}

// A memory controller has given a page.
void host::note_page(unsigned pe, tlm::tlm_generic_payload &payload) {
    const page_notice given = page_notice::decode(payload.get_data_ptr());
    const arrival_gate::passage order(fault_gate_, pe);
    const shard page{config_.pes[pe], {given.pa}, given.nbytes, 0, now_ps()};
    if (!in_reset() && given.asid == config_.asid && take_page(page, {given.va}, given.mapped) == TLA_OK)
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

// --- data ------------------------------------------------------------------------------------------------------------

tla_status host::move_tensor(const tensor &t, tlm::tlm_command command, std::uint8_t *bytes, tla_error *error) {
    for (std::size_t i = 0; i < t.shards.size(); i++) // a page fault may bring more meanwhile
        wait_for_driver(tla_memory_of_pe(t.memory, t.shards[i].where).sip);
    std::optional<turnstile::turn> no_faults;
    if (has_home(t)) no_faults.emplace(fault_turn_);
    const std::uint64_t start = now_ps();
    if (t.kind == spread::demand && !has_home(t) && command == tlm::TLM_WRITE_COMMAND)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "tensor %s is allocated on demand and cannot be written by the host", t.name.c_str());
    const passage here(*this, t, command == tlm::TLM_WRITE_COMMAND);
    if (in_reset()) return TLA_RESET;
    const std::vector<shard> shards = list_places(t, command == tlm::TLM_WRITE_COMMAND); // of the moment, likewise
    tla_tensor all = view(t);
    all.shards = shards.data();
    std::vector<bulk_transfer::piece> pieces;
    std::vector<const shard *> homes; // of each piece
    for (const shard &s : shards) {
        if (command == tlm::TLM_READ_COMMAND && tla_tensor_is_copy(&all, &s)) continue;
        pieces.push_back({s.pa.value, bytes + s.offset, s.nbytes});
        homes.push_back(&s);
    }
    bulk_transfer transfer{to_fabric_, config_.dma_chunk, config_.outstanding, &requester_, this};
    const std::size_t refused = transfer.move(command, pieces, start);
    transfer_latency_ps_ += transfer.latency_ps;
    const std::uint64_t end = std::max(transfer.end_ps, now_ps());
    if (in_reset()) return TLA_RESET;
    if (refused < pieces.size())
        return tla_error_set(error, TLA_BUS_ERROR, "tensor %s: %s returned an error response", t.name.c_str(),
                             to_string(homes[refused]->where).c_str());
    wait_for_ps(end - now_ps());
    return TLA_OK;
}

tla_status host::move_memory(tlm::tlm_command command, tla_paddr pa, std::uint8_t *bytes, std::uint64_t nbytes,
                             tla_error *error, tla_completion *done) {
    tla_completion completion{};
    completion.correlation_id = new_correlation();
    completion.request_id = new_request();
    completion.value = now_ps();
    bulk_transfer transfer{to_fabric_, config_.dma_chunk, config_.outstanding, &requester_, this};
    const bool refused = nbytes > 0 && transfer.move(command, {{pa.value, bytes, nbytes}}, completion.value) == 0;
    transfer_latency_ps_ += transfer.latency_ps;
    const std::uint64_t end = std::max(transfer.end_ps, now_ps());
    wait_for_ps(end - now_ps());
    if (in_reset()) return TLA_RESET;
    completion.status = refused ? TLA_BUS_ERROR : TLA_OK;
    completion.nbytes = refused ? 0 : nbytes;
    completion.service_ps = end - completion.value;
    if (done) *done = completion;
    if (!refused) return TLA_OK;
    return tla_error_set(error, TLA_BUS_ERROR, "%llu bytes at 0x%llx: %s (correlation %u, request %u)",
                         static_cast<unsigned long long>(nbytes), static_cast<unsigned long long>(pa.value),
                         tla_status_text(TLA_BUS_ERROR), completion.correlation_id, completion.request_id);
}

tla_status host::write_memory(tla_paddr pa, const std::uint8_t *bytes, std::uint64_t nbytes, tla_error *error,
                              tla_completion *done) {
    const call here(*this, "write of memory", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    auto *const source = const_cast<std::uint8_t *>(bytes); // a target only reads the bytes
    return here.result(move_memory(tlm::TLM_WRITE_COMMAND, pa, source, nbytes, error, done));
}

tla_status host::read_memory(tla_paddr pa, std::uint8_t *bytes, std::uint64_t nbytes, tla_error *error,
                             tla_completion *done) {
    const call here(*this, "read of memory", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    return here.result(move_memory(tlm::TLM_READ_COMMAND, pa, bytes, nbytes, error, done));
}

tla_status host::write_tensor(const tensor &to, const std::uint8_t *bytes, tla_error *error) {
    const call here(*this, "write of a tensor", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    auto *const source = const_cast<std::uint8_t *>(bytes); // a target only reads the bytes
    return here.result(move_tensor(to, tlm::TLM_WRITE_COMMAND, source, error));
}

tla_status host::read_tensor(const tensor &from, std::uint8_t *bytes, tla_error *error) {
    const call here(*this, "read of a tensor", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    return here.result(move_tensor(from, tlm::TLM_READ_COMMAND, bytes, error));
}

} // namespace tlmalloc
