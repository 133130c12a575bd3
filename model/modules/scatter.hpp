// Transactions and commands that one thread makes at the same time, and their answers gathered.
#ifndef TLMALLOC_MODEL_MODULES_SCATTER_HPP
#define TLMALLOC_MODEL_MODULES_SCATTER_HPP

#include "tlmalloc/detail/in_order.hpp"
#include "tlmalloc/device/command.h"
#include "tlmalloc/device/control_port.h"
#include "tlmalloc/modules/requester.hpp"

#include <deque>
#include <functional>
#include <vector>

namespace tlmalloc {

// Everything that is added begins at its own time, whatever the others take; gather() makes all of it. In the fast
// style (no outlet) that takes no time of the kernel, and transactions are called in the order of adding; in the exact
// style the calling thread waits until the last is answered.
class scatter {
  public:
    scatter(tlm::tlm_fw_transport_if<> &target, outlet *in_order) : target_(target), outlet_(in_order) {}
    scatter(const scatter &) = delete;
    scatter &operator=(const scatter &) = delete;

    // How a transaction ended: OK or not, and when its answer was back.
    using answered = std::function<void(bool ok, std::uint64_t at_ps)>;

    // What became of a command. A refused write leaves TLA_BUS_ERROR, one that cannot be encoded TLA_INVALID_ARGUMENT.
    struct outcome {
        tla_status status = TLA_OK;
        std::uint64_t written_ps = 0, answered_ps = 0; // the latter: of a command whose completion is read
        tla_completion completion{};
    };

    // The bytes stay the caller's, and must live until gather() has returned. `then` may add more.
    void access(tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes, std::uint64_t at_ps,
                requester *who = nullptr, answered then = {});

    // Writes a command and, if its answer is wanted, reads the completion as soon as that is written. Returns its place
    // in outcomes().
    std::size_t command(std::uint64_t port_address, const tla_command &command, std::uint64_t at_ps, bool gather_answer,
                        requester *who = nullptr);

    // Reads the completion of a command that was written earlier.
    std::size_t completion(std::uint64_t port_address, std::uint64_t at_ps, requester *who = nullptr);

    // Returns when the last answer was back (0: there was nothing to do).
    std::uint64_t gather();

    const std::deque<outcome> &outcomes() const { return outcomes_; }

  private:
    struct item {
        scatter *owner = nullptr;
        in_order_request request;
        tlm::tlm_generic_payload payload;
        requester *who = nullptr;
        answered then;
        std::vector<std::uint8_t> bytes; // of a command or a completion
    };

    void begin_or_wait(item &i);
    item &add(tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes, std::uint64_t at_ps,
              requester *who, answered then);
    void read_completion(std::uint64_t port_address, std::uint64_t at_ps, requester *who, outcome &result);
    void begin(item &i);
    void end(item &i);

    tlm::tlm_fw_transport_if<> &target_;
    outlet *const outlet_;
    std::deque<item> items_;
    std::vector<item *> unused_;
    std::deque<item *> waiting_; // not begun
    std::deque<outcome> outcomes_;
    std::size_t under_way_ = 0;
    std::uint64_t end_ps_ = 0;
    bool gathering_ = false;
    sc_core::sc_event *finished_ = nullptr;
};

} // namespace tlmalloc
#endif
