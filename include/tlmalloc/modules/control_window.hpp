// One way to take commands: an array of control ports behind one socket, a queue, and an engine that works them off.
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

// What a module with a control window does with a command.
class command_handler {
  public:
    // A well-formed command for this kind of target has arrived at a port at arrival_ps (local time; before the
    // kernel's, when the command had to wait for those before it). The handler calls control_window::complete for that
    // port, now or later. Returns when the command was accepted (>= arrival_ps): the write that brought it ends then.
    // It may wait: no other command of the window is executed before it returns.
    virtual std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) = 0;

    // Whether the execution of this command makes transactions. Then it is executed by a thread of the
    // window, when the commands before it are done, and its write does not wait for that.
    virtual bool makes_transactions(const tla_command &) const { return false; }

  protected:
    ~command_handler() = default;
};

// What every module counts of its commands.
struct command_counts {
    std::uint64_t failed = 0;  // commands that were refused
    std::uint64_t busy_ps = 0; // time that commands took
};

using command_route = tla_command_route;

// A command that has been answered. Its references are valid during the call that tells of it.
struct answered_command {
    unsigned port;
    std::uint64_t sender; // tla_who, or TLA_WHO_UNKNOWN
    const tla_command &command;
    const tla_completion &completion;
    const std::vector<std::uint8_t> &result; // what it leaves in the command area
    // When it arrived; when the engine began with it, where the module has one (else as arrival); when it is done,
    // which may lie ahead.
    std::uint64_t arrival_ps, start_ps, done_ps;
};

// Port p occupies bytes [p * 4096, (p + 1) * 4096) of the socket's address space (registers: control_port.h). Writes
// are posted: they end when the command is accepted. A read that touches a running command's completion, or what it
// leaves in the command area, ends when the command is done; the state register can be polled without waiting. Commands
// are executed one after the other, in the order of their writes; of accesses of one time that of the lower port goes
// first.
//
// A bad descriptor, a descriptor for another kind of target, and a write to a busy port or in a reset are answered with
// TLM_GENERIC_ERROR_RESPONSE; the first three are warnings, the first two also leave a completion with the status. Byte
// enables and streaming are refused. DMI is refused: registers are not memory. Debug accesses read registers as they
// are and do not write.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/CONTROL_WINDOW.md.
class control_window : private access_target, public target_socket<0> {
  public:
    // `module` is the module's name in report ids: /tlmalloc/<module>/control, and /tlmalloc/<module>/config unless
    // ports is at least 1 and queue_depth 1 .. TLA_COMMAND_QUEUE_DEPTH_MAX.
    control_window(const char *socket_name, const char *module, tla_target target, unsigned ports,
                   command_handler &handler, unsigned queue_depth = 16);

    // Told of every command as soon as its answer is known, in no order of time; to be set before the simulation runs.
    // It must neither wait nor send commands. What is refused before it is a command, and what a reset ends, is not
    // told. Empty: nobody is told, and nothing is spent on it.
    std::function<void(const answered_command &)> answered;

    // --- for the module whose window it is

    // From now on the engine begins commands at multiples of this; 0, as before the first call: at any time.
    void set_clock(std::uint64_t period_ps) { engine_.clock_ps = period_ps; }

    // Commands are under way in this module, and refused during its reset.
    void serve_for(resettable &module) { of_ = &module; }

    // A reset begins: every command is ended, those that wait are dropped.
    void end_commands();

    // And ends: the engine is idle.
    void make_new();

    // An answer to the command that says nothing yet but whose it is.
    static tla_completion answer_to(const tla_command &command, tla_status status = TLA_OK);

    // " (correlation 3, request 17)", for what is reported of a command; nothing where it has no ids.
    static std::string ids_of(const tla_command &command);

    // The command that runs at `port` is done at done_ps (local time), and leaves `result` in the command area.
    void complete(unsigned port, const tla_completion &completion, std::uint64_t done_ps,
                  const std::vector<std::uint8_t> &result = {});

    // The command waits in the queue, the engine works for completion.service_ps, and then it is done; that is counted.
    tla_service finish(unsigned port, const tla_completion &completion, std::uint64_t arrival_ps,
                       command_counts &counts, const std::vector<std::uint8_t> &result = {});

    // No command begins before until_ps: the next one needs what is at work until then.
    void wait_until(std::uint64_t until_ps) { tla_command_queue_wait(&engine_, until_ps); }

    // The engine works for service_ps on a command that arrives at arrival_ps; or, with look, it would begin to.
    tla_service occupy(std::uint64_t arrival_ps, std::uint64_t service_ps);
    tla_service look(std::uint64_t arrival_ps) const { return tla_command_queue_look(&engine_, arrival_ps); }

    // Does something that is no command while none is executed. It may wait, as an execution may.
    template <typename Work>
    void between_commands(Work work) {
        const resettable::visit here(of_);
        const turnstile::turn turn(execution_);
        if (!in_reset()) work();
    }

    // Who sent the command that is being executed (extensions.hpp); during command_handler::execute.
    std::uint64_t sender() const { return sender_; }

    std::uint64_t rejected() const { return rejected_; } // writes that were answered with an error

  private:
    struct watched_command {
        std::uint64_t sender, arrival_ps, start_ps;
        tla_command command;
    };
    struct port_state {
        tla_control_port registers{};
        std::uint64_t done_ps = 0;
        std::unique_ptr<watched_command> watched; // what runs here, where somebody wants to know
    };

    void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override;
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    port_state &state_of(unsigned port);
    bool in_one_port(const tlm::tlm_generic_payload &payload) const;
    tlm::tlm_response_status check(const tlm::tlm_generic_payload &payload) const;
    // Where an access has arrived among others; it is left before the access waits.
    using arrival = std::optional<arrival_gate::passage>;
    tla_status write(unsigned port, const tlm::tlm_generic_payload &payload, sc_core::sc_time &delay, arrival &order,
                     tla_error &error);
    tla_status read(unsigned port, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay, arrival &order);
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
        std::uint64_t resets_before; // it is not done where another has begun since, though it had not begun itself
    };

    const std::string report_id_;
    const tla_target target_;
    command_handler &handler_;
    const std::size_t queue_depth_;
    arrival_gate gate_{name()};
    std::deque<const acceptance *> waiting_; // writes that found the queue full
    std::list<queued> queue_;                // takes memory with a command only, of 4 KiB too
    sc_core::sc_event queue_changed_;
    std::vector<std::unique_ptr<port_state>> ports_; // of those that have been used: each has 4 KiB
    tla_command_queue engine_{};
    turnstile execution_;
    sc_core::sc_event completed_, was_reset_;
    resettable *of_ = nullptr; // the module whose window it is, if it can be reset
    std::uint64_t rejected_ = 0, sender_ = 0;
};

} // namespace tlmalloc
#endif
