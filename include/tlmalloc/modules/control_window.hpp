// The common interface for commands: an array of control ports at one socket, a queue, and an engine that executes
// commands.
#ifndef TLMALLOC_MODULES_CONTROL_WINDOW_HPP
#define TLMALLOC_MODULES_CONTROL_WINDOW_HPP

#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tlmalloc {

// The interface through which a control window passes commands to its module.
class command_handler {
  public:
    // Executes a well-formed command for this kind of target, which arrived at a port at arrival_ps. This is local
    // time; it lies before the kernel's time if the command had to wait for earlier commands. The handler calls
    // control_window::complete for that port, now or later. Returns the time at which the handler accepted the command
    // (>= arrival_ps); the write of the command ends at that time. The handler may wait: the window executes no other
    // command before it returns.
    virtual std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) = 0;

    // Returns whether the execution of this command makes transactions. If so, a thread of the window executes the
    // command after the earlier commands are done. The write of the command does not wait for that.
    virtual bool makes_transactions(const tla_command &) const { return false; }

    // Reads the register L1 (control_port.h), and writes it at at_ps, which is local time. A handler with such a memory
    // has the register; it may refuse a value with a text, and then has the old one. TLA_OUT_OF_RANGE: no register.
    virtual std::uint64_t l1() const { return 0; }
    virtual tla_status set_l1(std::uint64_t, std::uint64_t, tla_error &) { return TLA_OUT_OF_RANGE; }

  protected:
    ~command_handler() = default;
};

// Command counters that every module has.
struct command_counts {
    std::uint64_t failed = 0;  // commands that ended with an error
    std::uint64_t busy_ps = 0; // time spent on commands
};

using command_route = tla_command_route;

// A command with its answer. The references are valid only during the call of `answered`.
struct answered_command {
    unsigned port;
    std::uint64_t sender; // tla_who, or TLA_WHO_UNKNOWN
    const tla_command &command;
    const tla_completion &completion;
    const std::vector<std::uint8_t> &result; // bytes that the command leaves in the command area
    // The arrival of the command, the start of the engine's work, and the completion, which may lie in the future. In a
    // module without an engine, start_ps is arrival_ps.
    std::uint64_t arrival_ps, start_ps, done_ps;
};

// Port p occupies bytes [p * 4096, (p + 1) * 4096) of the socket's address space (registers: control_port.h). Writes
// are posted: a write ends when the window accepts the command. A read of a running command's completion, or of its
// result in the command area, ends when the command is done. An initiator can poll the state register without waiting.
// The window executes commands one after the other, in the order of their writes. If accesses arrive at one time, the
// access to the lower port goes first.
//
// The window answers a write with TLM_GENERIC_ERROR_RESPONSE for a bad descriptor, a descriptor for another kind of
// target, a busy port, or a reset. The first three are also warnings. The first two also leave a completion with the
// status. The window rejects byte enables and streaming. It declines DMI, because registers are not memory. Debug
// accesses read registers as they are and do not write.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/CONTROL_WINDOW.md.
class control_window : private access_target, public target_socket<0> {
  public:
    // `module` is the module's name in the report ids /tlmalloc/<module>/control and /tlmalloc/<module>/config. The
    // constructor reports the latter unless ports is at least 1 and queue_depth is 1 .. TLA_COMMAND_QUEUE_DEPTH_MAX.
    control_window(const char *socket_name, const char *module, tla_target target, unsigned ports,
                   command_handler &handler, unsigned queue_depth = 16);

    // Called with every command as soon as its answer is known, in no order of time. Set it before the simulation runs.
    // It must neither wait nor send commands. The window does not call it for a write that it rejects before a command
    // exists, nor for a command that a reset ends. If it is empty, the window makes no call and spends nothing on it.
    std::function<void(const answered_command &)> answered;

    // --- for the module that owns the window

    // From now on the engine begins commands at multiples of period_ps. With 0, the initial value, it begins commands
    // at any time.
    void set_clock(std::uint64_t period_ps) { engine_.clock_ps = period_ps; }

    // The module counts this window's commands as outstanding. The window rejects commands during the module's reset.
    void serve_for(resettable &module) { of_ = &module; }

    // Begins a reset: ends every running command and drops every waiting command.
    void end_commands();

    // Ends a reset: the engine is idle.
    void make_new();

    // Returns an answer that contains only the ids of the command and the status.
    static tla_completion answer_to(const tla_command &command, tla_status status = TLA_OK);

    // Returns " (correlation 3, request 17)", for reports about a command; an empty string if the command has no ids.
    static std::string ids_of(const tla_command &command);

    // Completes the command that runs at `port`, at done_ps (local time), and leaves `result`, at most
    // TLA_COMMAND_MAX_BYTES, in the command area. If a reset has ended the command, the call has no effect.
    void complete(unsigned port, const tla_completion &completion, std::uint64_t done_ps,
                  const std::vector<std::uint8_t> &result = {});

    // Completes the command after its wait in the queue and completion.service_ps of the engine's work, and counts it.
    // arrival_ps is the argument of execute(). Returns the times of the service.
    tla_service finish(unsigned port, const tla_completion &completion, std::uint64_t arrival_ps,
                       command_counts &counts, const std::vector<std::uint8_t> &result = {});

    // The engine begins no command before until_ps, because the next command needs hardware that works until then.
    void wait_until(std::uint64_t until_ps) { tla_command_queue_wait(&engine_, until_ps); }

    // With occupy, the engine works for service_ps on a command that arrives at arrival_ps. With look, nothing changes:
    // the result says when the engine would begin.
    tla_service occupy(std::uint64_t arrival_ps, std::uint64_t service_ps);
    tla_service look(std::uint64_t arrival_ps) const { return tla_command_queue_look(&engine_, arrival_ps); }

    // Runs `work`, which is not a command, while the window executes no command. `work` may wait, as an execution may.
    template <typename Work>
    void between_commands(Work work) {
        const resettable::visit here(of_);
        const turnstile::turn turn(execution_);
        if (!in_reset()) work();
    }

    // The sender of the command that the window executes (extensions.hpp); valid during command_handler::execute.
    std::uint64_t sender() const { return sender_; }

    std::uint64_t rejected() const { return rejected_; } // writes answered with an error

  private:
    struct watched_command {
        std::uint64_t sender, arrival_ps, start_ps;
        tla_command command;
    };
    struct port_state {
        tla_control_port registers{};
        std::uint64_t done_ps = 0;
        std::unique_ptr<watched_command> watched; // the running command, if `answered` is set
    };

    void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override;
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    port_state &state_of(unsigned port);
    bool in_one_port(const tlm::tlm_generic_payload &payload) const;
    tlm::tlm_response_status check(const tlm::tlm_generic_payload &payload) const;
    // The place of an access in the order of arrival; the access leaves it before it waits.
    using arrival = std::optional<arrival_gate::passage>;
    tla_status write(unsigned port, const tlm::tlm_generic_payload &payload, sc_core::sc_time &delay, arrival &order,
                     tla_error &error);
    tla_status read(unsigned port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay, arrival &order);
    tla_status write_l1(unsigned port, const tlm::tlm_generic_payload &payload, std::uint64_t at_ps, arrival &order,
                        tla_error &error);
    void show_l1(tlm::tlm_generic_payload &payload) const;
    tla_status submit(unsigned port, std::uint64_t sender, sc_core::sc_time &delay, arrival &order, tla_error &error);

    class acceptance;
    void execute_queued();
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps);

    bool in_reset() const { return of_ && of_->in_reset(); }
    std::uint64_t resets() const { return of_ ? of_->resets() : 0; }

    struct queued { // a command that makes transactions
        unsigned port;
        std::uint64_t sender, arrival_ps;
        tla_command command;
        std::uint64_t resets_before; // at its arrival; a later reset drops the command, begun or not
    };

    const std::string report_id_;
    const tla_target target_;
    command_handler &handler_;
    const std::size_t queue_depth_;
    arrival_gate gate_{name()};
    std::deque<const acceptance *> waiting_; // writes that found the queue full
    std::list<queued> queue_;                // allocates only for waiting commands, 4 KiB each too
    sc_core::sc_event queue_changed_;
    std::vector<std::unique_ptr<port_state>> ports_; // allocated on first use, 4 KiB each
    tla_command_queue engine_{};
    turnstile execution_;
    sc_core::sc_event completed_, was_reset_;
    resettable *of_ = nullptr; // the module that owns the window, if it can be reset
    std::uint64_t rejected_ = 0, sender_ = 0;
};

} // namespace tlmalloc
#endif
