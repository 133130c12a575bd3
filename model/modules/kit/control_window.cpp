// Control ports behind a socket: descriptors in, completions out, an engine in between.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/control_window.hpp"

#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cstring>

namespace tlmalloc {

control_window::control_window(const char *socket_name, const char *module, tla_target target, unsigned ports,
                               command_handler &handler, unsigned queue_depth)
    : target_socket(socket_name, *this, std::max(ports, 1u)),
      report_id_(std::string("/tlmalloc/") + module + "/control"), target_(target), handler_(handler),
      queue_depth_(queue_depth), ports_(ports) {
    if (ports == 0 || queue_depth == 0 || queue_depth > TLA_COMMAND_QUEUE_DEPTH_MAX)
        SC_REPORT_ERROR((std::string("/tlmalloc/") + module + "/config").c_str(),
                        "ports must be at least 1, queue_depth 1 .. 256");
    engine_.depth = queue_depth;
    // Begins with the first command that is queued, not for a module that was given up before the simulation.
    sc_core::sc_spawn_options options;
    options.dont_initialize();
    options.set_sensitivity(&queue_changed_);
    sc_core::sc_spawn([this] { execute_queued(); },
                      sc_core::sc_gen_unique_name((std::string(socket_name) + "_commands").c_str()), &options);
}

control_window::port_state &control_window::state_of(unsigned port) {
    std::unique_ptr<port_state> &state = ports_[port];
    if (!state) state = std::make_unique<port_state>();
    return *state;
}

// The access has bytes, and all of them lie in one port.
bool control_window::in_one_port(const tlm::tlm_generic_payload &payload) const {
    const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
    return length > 0 && address / TLA_PORT_BYTES < ports_.size() &&
           length <= TLA_PORT_BYTES - address % TLA_PORT_BYTES;
}

tlm::tlm_response_status control_window::check(const tlm::tlm_generic_payload &payload) const {
    const std::uint64_t length = payload.get_data_length();
    if (payload.get_byte_enable_ptr()) return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
    if (length == 0 || payload.get_streaming_width() < length) return tlm::TLM_BURST_ERROR_RESPONSE;
    if (!payload.get_data_ptr()) return tlm::TLM_GENERIC_ERROR_RESPONSE;
    return in_one_port(payload) ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

void control_window::serve(unsigned, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    if (refuses_exclusive(payload)) return;
    catch_up_with(delay);
    arrival order(std::in_place, gate_, static_cast<unsigned>(payload.get_address() / TLA_PORT_BYTES));
    tlm::tlm_response_status response = check(payload);
    if (response == tlm::TLM_OK_RESPONSE && payload.get_command() != tlm::TLM_IGNORE_COMMAND) {
        const auto port = static_cast<unsigned>(payload.get_address() / TLA_PORT_BYTES);
        tla_error error{};
        const tla_status status =
            payload.is_write() ? write(port, payload, delay, order, error) : read(port, payload, delay, order);
        if (status == TLA_OUT_OF_RANGE)
            response = tlm::TLM_ADDRESS_ERROR_RESPONSE;
        else if (status)
            response = tlm::TLM_GENERIC_ERROR_RESPONSE;
        if (status && error.text[0]) SC_REPORT_WARNING(report_id_.c_str(), error.text);
    }
    if (response != tlm::TLM_OK_RESPONSE) rejected_++;
    payload.set_response_status(response);
}

tla_status control_window::write(unsigned port, const tlm::tlm_generic_payload &payload, sc_core::sc_time &delay,
                                 arrival &order, tla_error &error) {
    port_state &state = state_of(port);
    if (in_reset()) return TLA_BUSY;
    if (payload.get_address() % TLA_PORT_BYTES == TLA_PORT_L1 && payload.get_data_length() == sizeof(std::uint64_t))
        return write_l1(port, payload, local_ps(delay), order, error);
    // The command was decided when it arrived, but to the bus it runs until its time is over.
    if (state.registers.state == TLA_PORT_DONE && local_ps(delay) < state.done_ps)
        return tla_error_set(&error, TLA_BUSY, "port %u: write of a command while the previous one is still executing",
                             port);
    bool complete_descriptor = false;
    const tla_status status =
        tla_control_port_write(&state.registers, static_cast<std::uint32_t>(payload.get_address() % TLA_PORT_BYTES),
                               payload.get_data_ptr(), payload.get_data_length(), &complete_descriptor, &error);
    return status || !complete_descriptor ? status : submit(port, who_asks(payload), delay, order, error);
}

// Between two commands, as if it were one.
tla_status control_window::write_l1(unsigned port, const tlm::tlm_generic_payload &payload, std::uint64_t at_ps,
                                    arrival &order, tla_error &error) {
    if (execution_.entered_by_caller())
        return tla_error_set(&error, TLA_BUSY, "port %u: nested write: a command is still executing", port);
    std::uint64_t value = 0;
    for (unsigned i = 0; i < sizeof value; i++)
        value |= std::uint64_t{payload.get_data_ptr()[i]} << 8 * i;
    const std::uint64_t resets_before = resets();
    const resettable::visit here(of_);
    const turnstile::turn turn(execution_, [&order] { order.reset(); });
    tla_error why{};
    const tla_status status = resets() != resets_before ? TLA_BUSY : handler_.set_l1(value, at_ps, why);
    if (status && why.text[0]) tla_error_set(&error, status, "port %u: %s", port, why.text);
    return status;
}

// The register has no place in a port: it is the same in all of them.
void control_window::show_l1(tlm::tlm_generic_payload &payload) const {
    const std::uint64_t value = handler_.l1(), offset = payload.get_address() % TLA_PORT_BYTES;
    for (std::uint64_t i = 0; i < sizeof value; i++)
        if (TLA_PORT_L1 + i >= offset && TLA_PORT_L1 + i - offset < payload.get_data_length())
            payload.get_data_ptr()[TLA_PORT_L1 + i - offset] = static_cast<unsigned char>(value >> 8 * i);
}

// A write that waits for a place in the queue, in the order in which such writes have come.
class control_window::acceptance {
  public:
    acceptance(control_window &window, arrival &order) : window_(window) {
        window_.waiting_.push_back(this);
        order.reset();
        try {
            const std::uint64_t resets = window_.resets();
            while (window_.resets() == resets && // else nothing is to be accepted any more
                   (window_.waiting_.front() != this ||
                    window_.queue_.size() > window_.queue_depth_)) // the first one is executing
                sc_core::wait(window_.queue_changed_);
        } catch (...) { // a thread that is killed or reset
            leave();
            throw;
        }
    }
    ~acceptance() { leave(); }
    acceptance(const acceptance &) = delete;
    acceptance &operator=(const acceptance &) = delete;

  private:
    void leave() {
        auto &waiting = window_.waiting_;
        waiting.erase(std::find(waiting.begin(), waiting.end(), this));
        window_.queue_changed_.notify(sc_core::SC_ZERO_TIME);
    }
    control_window &window_;
};

tla_status control_window::submit(unsigned port, std::uint64_t sender, sc_core::sc_time &delay, arrival &order,
                                  tla_error &error) {
    port_state &state = state_of(port);
    tla_command command;
    tla_status status = tla_command_decode(state.registers.command, state.registers.staged, &command, &error);
    if (!status && command.target != target_)
        status = tla_error_set(&error, TLA_MISDIRECTED, "port %u: descriptor for target %d, but this is target %d",
                               port, command.target, target_);
    if (!status && execution_.entered_by_caller())
        status =
            tla_error_set(&error, TLA_BUSY, "port %u: nested command: the previous command is still executing", port);
    if (status) {
        const std::string why = error.text + ids_of(command);
        complete(port, answer_to(command, status), local_ps(delay));
        return tla_error_set(&error, status, "%s", why.c_str());
    }
    const std::uint64_t arrival_ps = local_ps(delay), resets_before = resets();
    const resettable::visit here(of_);
    if (handler_.makes_transactions(command)) {
        const acceptance accepted(*this, order);
        if (resets() == resets_before) queue_.push_back({port, sender, arrival_ps, command, resets_before});
        return TLA_OK;
    }
    const turnstile::turn turn(execution_, [&order] { order.reset(); });
    if (resets() != resets_before) return TLA_OK; // ended by a reset meanwhile
    sender_ = sender;
    const std::uint64_t accepted = execute(port, command, arrival_ps);
    set_local_ps(delay, std::max(accepted, to_ps(sc_core::sc_time_stamp()))); // the handler may have waited
    return TLA_OK;
}

// Lets the module execute it; `sender_` is the sender.
std::uint64_t control_window::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    if (answered)
        state_of(port).watched =
            std::make_unique<watched_command>(watched_command{sender_, arrival_ps, arrival_ps, command});
    return handler_.execute(port, command, arrival_ps);
}

// A thread. A command is done before the next one begins: its answer may lie ahead.
void control_window::execute_queued() {
    for (;;) {
        while (queue_.empty())
            sc_core::wait(queue_changed_);
        const queued &next = queue_.front();
        {
            const resettable::visit here(of_);
            const turnstile::turn turn(execution_);
            sender_ = next.sender;
            if (resets() == next.resets_before) execute(next.port, next.command, next.arrival_ps);
        }
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp()), done = state_of(next.port).done_ps;
        if (done > now) sc_core::wait(from_ps(done - now), was_reset_);
        queue_.pop_front();
        queue_changed_.notify(sc_core::SC_ZERO_TIME);
    }
}

tla_completion control_window::answer_to(const tla_command &command, tla_status status) {
    tla_completion completion{};
    completion.status = status;
    completion.correlation_id = command.correlation_id;
    completion.request_id = command.request_id;
    completion.opcode = command.opcode;
    return completion;
}

std::string control_window::ids_of(const tla_command &command) {
    if (command.correlation_id == 0 && command.request_id == 0) return "";
    return " (correlation " + std::to_string(command.correlation_id) + ", request " +
           std::to_string(command.request_id) + ")";
}

tla_service control_window::occupy(std::uint64_t arrival_ps, std::uint64_t service_ps) {
    return tla_command_queue_serve(&engine_, arrival_ps, service_ps);
}

tla_service control_window::finish(unsigned port, const tla_completion &completion, std::uint64_t arrival_ps,
                                   command_counts &counts, const std::vector<std::uint8_t> &result) {
    const tla_service service = occupy(arrival_ps, completion.service_ps);
    counts.failed += completion.status != TLA_OK;
    counts.busy_ps += completion.service_ps;
    watched_command *const watched = state_of(port).watched.get();
    if (watched) watched->start_ps = service.start_ps;
    complete(port, completion, service.done_ps, result);
    return service;
}

void control_window::complete(unsigned port, const tla_completion &completion, std::uint64_t done_ps,
                              const std::vector<std::uint8_t> &result) {
    port_state &state = state_of(port);
    if (state.registers.state != TLA_PORT_RUNNING) return; // ended by a reset
    tla_control_port_complete_with(&state.registers, &completion, result.data(),
                                   static_cast<std::uint32_t>(result.size()));
    state.done_ps = done_ps;
    completed_.notify(sc_core::SC_ZERO_TIME);
    const std::unique_ptr<watched_command> watched = std::move(state.watched);
    if (watched)
        answered({port, watched->sender, watched->command, completion, result, watched->arrival_ps, watched->start_ps,
                  done_ps});
}

void control_window::end_commands() {
    for (const auto &port : ports_) {
        if (!port) continue;
        if (tla_control_port_reset(&port->registers)) port->done_ps = to_ps(sc_core::sc_time_stamp());
        port->watched.reset();
    }
    if (queue_.size() > 1)
        queue_.erase(std::next(queue_.begin()), queue_.end()); // the first is being executed, or over
    was_reset_.notify();
    queue_changed_.notify(sc_core::SC_ZERO_TIME);
    completed_.notify(sc_core::SC_ZERO_TIME);
}

void control_window::make_new() {
    const tla_command_queue before = engine_;
    engine_ = {};
    engine_.depth = before.depth;
    engine_.clock_ps = before.clock_ps;
}

tla_status control_window::read(unsigned port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay,
                                arrival &order) {
    port_state &state = state_of(port);
    const auto offset = static_cast<std::uint32_t>(payload.get_address() % TLA_PORT_BYTES);
    const std::uint32_t length = payload.get_data_length();
    if (offset < TLA_PORT_STATE && (offset + length > TLA_PORT_COMPLETION || offset < state.registers.result)) {
        std::uint64_t local = local_ps(delay);
        if (state.registers.state == TLA_PORT_RUNNING) order.reset();
        while (state.registers.state == TLA_PORT_RUNNING)
            sc_core::wait(completed_);
        local = std::max({local, state.done_ps, to_ps(sc_core::sc_time_stamp())});
        set_local_ps(delay, local);
    }
    const tla_status status = tla_control_port_read(&state.registers, offset, payload.get_data_ptr(), length);
    if (!status) show_l1(payload);
    if (status || state.registers.state != TLA_PORT_DONE || local_ps(delay) >= state.done_ps) return status;
    // A poll before the end of the command: the state register still reads as running.
    if (offset <= TLA_PORT_STATE && offset + length > TLA_PORT_STATE)
        payload.get_data_ptr()[TLA_PORT_STATE - offset] = TLA_PORT_RUNNING;
    return status;
}

unsigned control_window::debug(tlm::tlm_generic_payload &payload) {
    if (!payload.is_read() || !payload.get_data_ptr() || !in_one_port(payload)) return 0;
    const auto port = static_cast<unsigned>(payload.get_address() / TLA_PORT_BYTES);
    const tla_control_port &registers = state_of(port).registers;
    const auto offset = static_cast<std::uint32_t>(payload.get_address() % TLA_PORT_BYTES);
    if (tla_control_port_read(&registers, offset, payload.get_data_ptr(), payload.get_data_length())) return 0;
    show_l1(payload);
    return payload.get_data_length();
}

} // namespace tlmalloc
