// The steps of page faults (fault_pool.h), one fault at a time, each in the thread that brought it.
#include "controller_faults.hpp"

#include "controller_figures.hpp"
#include "controller_work.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/time.hpp"

#include <new>
#include <string>
#include <utility>

namespace tlmalloc {

std::uint64_t memory_controller::faults::now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

memory_controller::faults::faults(memory_controller &of)
    : in("faults", *this, 1), of_(of), gate_(of.name()), maps_gate_(std::string(of.name()) + ".maps") {
    tla_fault_pool *made = nullptr;
    const tla_fault_pool_config config{&of.config_.memory, of.config_.fault_page_size, of.config_.fault_pool};
    if (tla_fault_pool_create(&config, &made)) throw std::bad_alloc();
    pool_.reset(made);
    commands_.bind(of.control);
    in.serve_for(of);
}

void memory_controller::faults::lead_on() {
    if (of_.maps.size() == 0) of_.refuse_config("maps is not bound, but the controller serves page faults");
    if (of_.config_.fault_port >= of_.config_.ports) of_.refuse_config("fault_port must be less than ports");
}

void memory_controller::faults::make_new() {
    tla_fault_pool_reset(pool_.get());
    show();
}

void memory_controller::faults::show() {
    of_.figures_->fault_pool_bytes().set(now_ps(), counts().given_bytes);
}

// --- delegations -----------------------------------------------------------------------------------------------------

bool memory_controller::faults::takes(const tla_command &command) {
    return command.opcode == TLA_OP_MAP || command.opcode == TLA_OP_UNMAP;
}

std::uint64_t memory_controller::faults::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    std::uint64_t accepted_ps = arrival_ps;
    if (!answers(port, command, arrival_ps, accepted_ps)) held_.push_back({port, command});
    return accepted_ps;
}

// False: a withdrawal waits until the fault is over that is being served in its ranges.
bool memory_controller::faults::answers(unsigned port, const tla_command &command, std::uint64_t arrival_ps,
                                        std::uint64_t &accepted_ps) {
    tla_work work{};
    const tla_status status = command.opcode == TLA_OP_MAP ? tla_fault_pool_delegate(pool_.get(), &command, &work)
                                                           : tla_fault_pool_withdraw(pool_.get(), &command, &work);
    if (status == TLA_BUSY && command.opcode == TLA_OP_UNMAP) return false;
    tla_completion completion = control_window::answer_to(command, status);
    completion.nbytes = status ? 0 : command.count;
    accepted_ps = of_.work_->answer(port, completion, work, arrival_ps);
    show();
    return true;
}

void memory_controller::faults::answer_held() {
    if (held_.empty()) return;
    of_.control.between_commands([this] {
        std::uint64_t accepted_ps = 0;
        for (const held_command &held : std::exchange(held_, {}))
            answers(held.port, held.command, now_ps(), accepted_ps); // no fault is being served
    });
}

// --- faults ----------------------------------------------------------------------------------------------------------

void memory_controller::faults::serve(unsigned, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (!payload.is_write() || payload.get_data_length() != page_fault::bytes{}.size()) return;
    const page_fault fault = page_fault::decode(payload.get_data_ptr());
    const tla_page_request asked{{fault.va}, fault.asid, (fault.access & page_fault::again) != 0};
    catch_up_with(delay);
    const std::uint64_t begin_ps = now_ps();
    tla_fault_step end{};
    {
        std::optional<arrival_gate::passage> order(std::in_place, gate_, 0);
        const turnstile::turn turn(turn_, [&order] { order.reset(); });
        of_.figures_->faults_in_service().set(now_ps(), 1);
        end = make_steps(asked);
        of_.figures_->faults_in_service().set(now_ps(), 0);
        show();
        answer_held();
    }
    delay = sc_core::SC_ZERO_TIME;
    if (end == TLA_FAULT_IS_SERVED && of_.fault_served) of_.fault_served(fault.va, begin_ps, now_ps());
    if (end == TLA_FAULT_IS_SERVED)
        payload.set_response_status(of_.in_reset() ? tlm::TLM_GENERIC_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE);
    if (end != TLA_FAULT_PASSES_ON || of_.host_faults.size() == 0) return;
    of_.host_faults->b_transport(payload, delay);
    if (payload.is_response_ok()) tla_fault_pool_served_by_host(pool_.get(), &asked);
}

tla_fault_step memory_controller::faults::make_steps(const tla_page_request &asked) {
    tla_work work{};
    tla_fault_step step = tla_fault_pool_begin(pool_.get(), &asked, &work);
    charge(work);
    while (step == TLA_FAULT_SENDS || step == TLA_FAULT_TELLS)
        step = step == TLA_FAULT_SENDS ? send(*tla_fault_pool_command(pool_.get()))
                                       : tell(*tla_fault_pool_page(pool_.get()));
    return step;
}

// The engine has decided.
void memory_controller::faults::charge(const tla_work &work) {
    std::uint64_t done_ps = 0;
    of_.control.between_commands([&] { done_ps = of_.work_->charge_alone(work, now_ps()); });
    if (done_ps > now_ps()) sc_core::wait(from_ps(done_ps - now_ps()));
}

// Blocks belong to the address space for which they are made, as if the host had made them.
tla_fault_step memory_controller::faults::send(tla_command command) {
    requester who(tla_fault_pool_page(pool_.get())->asid, 0, true);
    who.waits = true;
    command.request_id = ++request_id_;
    tla_completion done{};
    sc_core::sc_time delay;
    std::optional<turn_at_maps> turn;
    const bool to_manager = command.target == TLA_TARGET_VA_MANAGER;
    if (to_manager) turn.emplace(*this, rank_of_faults);
    const tla_status status = to_manager
                                  ? send_command(of_.maps, of_.config_.maps_port, command, done, delay, &who)
                                  : send_command(commands_, of_.config_.fault_port * std::uint64_t{TLA_PORT_BYTES},
                                                 command, done, delay, &who);
    catch_up_with(delay);
    return tla_fault_pool_report(pool_.get(), status, done.value);
}

tla_fault_step memory_controller::faults::tell(const tla_given_page &page) {
    page_notice::bytes bytes = page_notice{page.va.value, page.pa.value, page.nbytes, page.asid, page.mapped}.encode();
    tlm::tlm_generic_payload payload;
    payload.set_write();
    payload.set_address(0);
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_streaming_width(static_cast<unsigned>(bytes.size()));
    sc_core::sc_time delay;
    if (of_.host_faults.size() > 0) of_.host_faults->b_transport(payload, delay);
    catch_up_with(delay);
    return tla_fault_pool_report(pool_.get(), payload.is_response_ok() ? TLA_OK : TLA_NOT_FOUND, 0);
}

} // namespace tlmalloc
