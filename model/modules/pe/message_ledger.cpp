// The programs of launches, their messages, and the moment when none of them can continue.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include <algorithm>
#include <utility>

namespace tlmalloc {

namespace {

// Ascending by SIP, cube and PE.
std::uint64_t number_of(const pe_location &where) {
    return std::uint64_t{where.sip} << 32 | std::uint64_t{where.cube} << 16 | where.pe;
}

bool is_same(const pe_location &a, const pe_location &b) {
    return number_of(a) == number_of(b);
}

} // namespace

std::string message_ledger::text(const wait &of) {
    return to_string(of.who) + " in " + of.call + ": waits for " +
           (of.for_credit ? "a credit to send " : "a message of ") + std::to_string(of.nbytes) + " bytes " +
           (of.for_credit ? "to" : "from") + " program " + std::to_string(of.peer_program) + ", " + to_string(of.peer);
}

// --- programs --------------------------------------------------------------------------------------------------------

void message_ledger::enter(std::uint32_t launch, std::uint32_t program, std::uint32_t programs, pe_ipcq &unit) {
    launch_state &of = launches_[launch];
    const std::size_t count = std::max({of.units.size(), std::size_t{programs}, std::size_t{program} + 1});
    of.units.resize(count, nullptr);
    of.places.resize(count);
    of.ended.resize(count, false);
    of.units[program] = &unit;
    of.places[program] = unit.where();
    of.entered++;
    for (pe_ipcq *waits : std::exchange(waiting_, {}))
        waits->look_again();
}

void message_ledger::wait_for_programs(pe_ipcq &unit_that_waits) {
    waiting_.push_back(&unit_that_waits);
}

void message_ledger::leave(std::uint32_t launch, std::uint32_t program) {
    launch_state &of = launches_[launch];
    of.ended[program] = true;
    of.left++;
    if (of.left < of.units.size()) {
        consider(of);
        return;
    }
    close(of);
    launches_.erase(launch);
}

pe_ipcq *message_ledger::unit_of(std::uint32_t launch, std::uint32_t program) const {
    const auto found = launches_.find(launch);
    return found == launches_.end() || program >= found->second.units.size() ? nullptr : found->second.units[program];
}

bool message_ledger::is_complete(std::uint32_t launch) const {
    const auto found = launches_.find(launch);
    return found != launches_.end() && found->second.entered == found->second.units.size();
}

std::uint32_t message_ledger::program_at(std::uint32_t launch, const pe_location &where) const {
    const auto found = launches_.find(launch);
    if (found == launches_.end()) return none;
    const std::vector<pe_location> &places = found->second.places;
    const auto at =
        std::find_if(places.begin(), places.end(), [&where](const pe_location &p) { return is_same(p, where); });
    return at == places.end() ? none : static_cast<std::uint32_t>(at - places.begin());
}

// --- operations in flight, and waits
// ------------------------------------------------------------------------------------

void message_ledger::depart(std::uint32_t launch) {
    const auto found = launches_.find(launch);
    if (found != launches_.end()) found->second.under_way++;
}

void message_ledger::arrive(std::uint32_t launch) {
    const auto found = launches_.find(launch);
    if (found == launches_.end()) return; // the last program has ended
    found->second.under_way--;
    consider(found->second);
}

void message_ledger::begin_wait(std::uint32_t launch, const wait &what, std::function<bool()> can_go_on) {
    launch_state &of = launches_[launch];
    of.waits[what.program] = {what, std::move(can_go_on)};
    consider(of);
}

void message_ledger::end_wait(std::uint32_t launch, std::uint32_t program) {
    const auto found = launches_.find(launch);
    if (found != launches_.end()) found->second.waits.erase(program);
}

bool message_ledger::is_deadlocked(std::uint32_t launch) const {
    const auto found = launches_.find(launch);
    return found != launches_.end() && found->second.deadlocked;
}

void message_ledger::consider(launch_state &of) {
    const bool all_wait = of.entered == of.units.size() && of.under_way == 0 && !of.waits.empty() &&
                          of.left + of.waits.size() == of.units.size();
    if (!all_wait || of.deadlocked) return;
    for (const auto &[program, waiting] : of.waits)
        if (waiting.second()) return;
    of.deadlocked = true;
    for (auto &[program, waiting] : of.waits) {
        waiting.first.peer = of.places[waiting.first.peer_program];
        deadlocked_.push_back(waiting.first);
        of.units[program]->look_again();
    }
}

// --- messages --------------------------------------------------------------------------------------------------------

void message_ledger::sent(std::uint32_t launch, std::uint32_t from, std::uint32_t to, std::uint64_t nbytes,
                          std::uint64_t at_ps) {
    launches_[launch].pending[{from, to}].push_back({nbytes, at_ps});
}

void message_ledger::received(std::uint32_t launch, std::uint32_t from, std::uint32_t to, std::uint64_t at_ps) {
    launch_state &of = launches_[launch];
    std::deque<message> &pending = of.pending[{from, to}];
    const message first = pending.front();
    pending.pop_front();
    path &p = paths_[{number_of(of.places[from]), number_of(of.places[to])}];
    p.from = of.places[from];
    p.to = of.places[to];
    const std::uint64_t took_ps = at_ps > first.at_ps ? at_ps - first.at_ps : 0;
    p.messages++;
    p.nbytes += first.nbytes;
    p.least_ps = std::min(p.least_ps, took_ps);
    p.most_ps = std::max(p.most_ps, took_ps);
    p.sum_ps += took_ps;
    if (delivered) delivered({p.from, p.to, first.nbytes, first.at_ps, std::max(at_ps, first.at_ps)});
}

// The launch is over: messages that were not received are lost.
void message_ledger::close(const launch_state &of) {
    for (const auto &[who, pending] : of.pending) {
        if (pending.empty()) continue;
        lost l{of.places[who.first], of.places[who.second], pending.size(), 0};
        for (const message &m : pending)
            l.nbytes += m.nbytes;
        lost_.push_back(l);
        SC_REPORT_WARNING("/tlmalloc/pe_ipcq/lost",
                          (to_string(l.from) + " sent " + std::to_string(l.nbytes) + " bytes in " +
                           std::to_string(l.messages) + " messages to " + to_string(l.to) + " that were never received")
                              .c_str());
    }
}

std::vector<message_ledger::path> message_ledger::paths() const {
    std::vector<path> all;
    for (const auto &[ends, p] : paths_)
        all.push_back(p);
    return all;
}

} // namespace tlmalloc
