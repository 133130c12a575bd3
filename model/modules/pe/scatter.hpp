// Transactions and commands that one thread makes at the same time, and their answers gathered.
#ifndef TLMALLOC_MODULES_PE_SCATTER_HPP
#define TLMALLOC_MODULES_PE_SCATTER_HPP

#include "modules/kit/lent_payload.hpp"
#include "tlmalloc/command/command.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/extensions.hpp"

#include <deque>
#include <functional>
#include <vector>

namespace tlmalloc {

// Everything that is added begins at its own time, whatever the others take; gather() makes all of it, and the calling
// thread waits until the last is answered.
class scatter {
  public:
    explicit scatter(outlet &out) : outlet_(&out) {}
    ~scatter();
    scatter(const scatter &) = delete;
    scatter &operator=(const scatter &) = delete;

    // The exit of what is added from now on.
    void lead_to(outlet &out) { outlet_ = &out; }

    // How a transaction ended: OK or not, and when its answer was back.
    using answered = std::function<void(bool ok, std::uint64_t at_ps)>;

    // A transaction for accesses of this scatter, who keeps it. Null without host memory.
    tla_transaction *transaction(std::uint64_t window, bool posted) {
        return transactions_.emplace_back(new_transaction(window, posted)).get();
    }

    // The bytes stay the caller's, and must live until gather() has returned. `transaction`: for which it is issued, if
    // for any. `then` may add more.
    void access(tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes, std::uint64_t at_ps,
                requester *who = nullptr, tla_transaction *transaction = nullptr, answered then = {});

    // A command, or the reading of a completion; what becomes of it is written into the sent, which must live until
    // gather() has returned.
    void post(tla_sent_command &sent, requester *who = nullptr);

    // Returns the time of the last answer (0: nothing was sent). If the thread is killed or reset, the accesses in
    // flight continue with bytes of their own, and their answers are dropped.
    std::uint64_t gather();

  private:
    struct bus_access {
        scatter *owner = nullptr;
        outlet *out = nullptr;
        in_order_request request;
        lent_payload payload;
        requester *who = nullptr;
        transaction_part part;
        answered then;
        std::vector<std::uint8_t> bytes; // of a command or a completion
        bool under_way = false;
    };

    void begin_or_wait(bus_access &i);
    bus_access &add(tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes,
                    std::uint64_t at_ps, requester *who, answered then);
    void read_completion(tla_sent_command &sent, std::uint64_t at_ps, requester *who);
    void begin(bus_access &i);
    void end(bus_access &i);

    outlet *outlet_;
    std::deque<transaction_ptr> transactions_;
    std::deque<bus_access> accesses_;
    std::vector<bus_access *> unused_;
    std::deque<bus_access *> waiting_; // not begun
    std::size_t under_way_ = 0;
    std::uint64_t end_ps_ = 0;
    bool gathering_ = false, abandoned_ = false;
    sc_core::sc_event *finished_ = nullptr;
};

} // namespace tlmalloc
#endif
