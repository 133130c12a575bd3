// One run of a kernel on a platform, in the thread of the host.
#include "run/workload.hpp"

#include "model/modules/pe/kernel_stack.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

void workload::keep_accounts() {
    tla_time_account *made = nullptr;
    tla_time_account_create(&made);
    account_.reset(made);
    for (pe_unit *pe : platform_.pes())
        pe->element.keep_account();
}

void workload::main() {
    tla_time_account_begin(account_.get(), to_ps(sc_core::sc_time_stamp()));
    const tla_status status = run();
    tla_error error{};
    if (platform_.host().cleanup(&error) && !status) failure_ = error;
    finished_ = true;
    sc_core::sc_pause();
}

workload::on_demand workload::demand_of(const tla_config &config) {
    if (config.mmu.unmapped != TLA_UNMAPPED_DEMAND) return on_demand::none;
    return config.host.eviction == TLA_EVICTION_OFF ? on_demand::outputs : on_demand::hbm;
}

tla_status workload::create_tensors(std::vector<tensor *> &made) {
    tlmalloc::host &host = platform_.host();
    for (std::uint32_t i = 0; i < tl_kernel_tensor_count(&kernel_); i++) {
        const tl_kernel_tensor &wanted = kernel_.tensors[i];
        tlmalloc::host::sharding where = host.everywhere();
        if (wanted.spread == TL_REPLICATED) where.kind = spread::replicate;
        if (wanted.memory == TL_SRAM) where.memory = TLA_SRAM;
        if (wanted.memory == TL_HOST) where.memory = TLA_HOST_MEMORY;
        where.read_only = wanted.use == TL_IN;
        if (on_demand_ != on_demand::none && wanted.use == TL_OUT) where.kind = spread::demand;
        if (on_demand_ == on_demand::hbm && where.memory == TLA_HBM) where.kind = spread::demand;
        tensor *t = nullptr;
        const std::uint64_t since_ps = to_ps(sc_core::sc_time_stamp());
        const tla_status status = host.create_tensor(wanted.name, tl_kernel_elements(&kernel_, &size_, i),
                                                     tl_dtype_bytes(wanted.dtype), where, &t, &failure_);
        const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
        if (status) { // with any status
            tla_time_account_pass(account_.get(), now_ps, TLA_TIME_HOST_COMMAND);
            return status;
        }
        made.push_back(t);
        tla_time_account_pass(account_.get(), std::min(since_ps + t->alloc_service_ps, now_ps), TLA_TIME_HOST_ALLOC);
        tla_time_account_pass(account_.get(), std::min(since_ps + t->alloc_ps, now_ps), TLA_TIME_HOST_COMMAND);
        tla_time_account_pass(account_.get(), now_ps, TLA_TIME_HOST_MAP);
        tensors_.push_back({t->name, t->va, t->nbytes, t->shards.size(), 0, t->alloc_ps, t->map_ps, t->object});
    }
    return TLA_OK;
}

tla_status workload::in_file(const char *part, const std::function<tla_status()> &body, tla_error &error) {
    const std::size_t stack_bytes = 8 << 20;
    kernel_stack stack(stack_bytes);
    if (!stack.is_there()) return tla_error_set(&error, TLA_NO_HOST_MEMORY, "no host memory");
    tla_status status = TLA_OK;
    const kernel_stack::outcome outcome = stack.run([&] { status = body(); }, 0, part);
    if (outcome.how == kernel_stack::end::returned) return status;
    return tla_error_set(&error, TLA_CRASHED, "kernel %s, its %s: %s", what_.title.c_str(), part,
                         outcome.text().c_str());
}

// The failure of a kernel about which a PE has more than a status is the failure of the launch. If some kernels were
// ended in a deadlock, the failure that stopped them counts.
tla_status workload::launch(const std::vector<tla_vaddr> &addresses) {
    std::vector<std::uint64_t> arguments(TL_KERNEL_ARGUMENTS_MAX);
    arguments.resize(tl_kernel_arguments(&kernel_, &size_, addresses.data(), arguments.data()));
    tla_status status = platform_.host().launch(0, arguments, &failure_);
    if (!status) return find_lost_messages();
    const bool waited = status == TLA_DEADLOCK; // the host reports the first PE that ended so
    for (const pe_unit *pe : platform_.pes()) {
        const processing_element::run &run = pe->element.last_run();
        if (status == TLA_DEADLOCK && run.status) status = run.status;
    }
    if (status == TLA_DEADLOCK) return tell_deadlock();
    for (const pe_unit *pe : platform_.pes()) {
        const processing_element::run &run = pe->element.last_run();
        const tla_error &problem = waited && run.problem.status != status ? run.failed : run.problem;
        if (run.status != status || problem.status != status) continue;
        return tla_error_set(&failure_, status, "kernel %s on %s: %s", what_.title.c_str(),
                             to_string(pe->where).c_str(), problem.text);
    }
    return status;
}

const pe_unit *workload::first_failed_call() const {
    const pe_unit *first = nullptr;
    for (const pe_unit *pe : platform_.pes()) {
        const processing_element::run &run = pe->element.last_run();
        if (run.failed.status && (!first || run.failed_ps < first->element.last_run().failed_ps)) first = pe;
    }
    return first;
}

// A call that failed before, and whose error the kernel did not return, may be the cause: it comes first. The text then
// lists as many waits as it has room for; the command lists all (print_waits).
tla_status workload::tell_deadlock() {
    const std::vector<message_ledger::wait> &waits = platform_.messages().deadlocked();
    std::string text;
    if (const pe_unit *const first = first_failed_call())
        text = "on " + to_string(first->where) + ": " + first->element.last_run().failed.text + "; after that ";
    text += std::to_string(waits.size()) + " PEs wait for messages, and no PE can continue";
    std::size_t told = 0;
    for (; told < waits.size() && text.size() < sizeof failure_.text / 2; told++)
        text += (told > 0 ? "; " : ": ") + message_ledger::text(waits[told]);
    if (told < waits.size()) text += "; and " + std::to_string(waits.size() - told) + " more";
    return tla_error_set(&failure_, TLA_DEADLOCK, "kernel %s: %s", what_.title.c_str(), text.c_str());
}

// All kernels have ended well; but a message that was sent must have been received.
tla_status workload::find_lost_messages() {
    const std::vector<message_ledger::lost> &lost = platform_.messages().never_received();
    if (lost.empty()) return TLA_OK;
    const message_ledger::lost &first = lost.front();
    const std::string more = lost.size() > 1 ? "; and " + std::to_string(lost.size() - 1) + " more pairs of PEs" : "";
    return tla_error_set(
        &failure_, TLA_NOT_RECEIVED, "kernel %s: %s sent %llu bytes in %llu messages to %s that were never received%s",
        what_.title.c_str(), to_string(first.from).c_str(), static_cast<unsigned long long>(first.nbytes),
        static_cast<unsigned long long>(first.messages), to_string(first.to).c_str(), more.c_str());
}

tla_status workload::run() {
    host &host = platform_.host();
    std::vector<tensor *> made;
    if (const tla_status status = create_tensors(made)) return status;

    std::vector<std::vector<std::uint8_t>> bytes;
    std::vector<const void *> views, expected;
    std::vector<tla_vaddr> addresses;
    for (std::uint32_t i = 0; i < made.size(); i++) {
        bytes.emplace_back(made[i]->nbytes);
        addresses.push_back(made[i]->va);
        expected.push_back(what_.files[i].empty() ? nullptr : what_.files[i].data());
        if (!tl_kernel_goes_in(&kernel_, i)) continue;
        if (expected[i])
            bytes[i] = what_.files[i];
        else if (const tla_status status = in_file(
                     "inputs",
                     [&] {
                         tl_kernel_fill(&kernel_, &size_, i, bytes[i].data());
                         return TLA_OK;
                     },
                     failure_))
            return status;
        if (const tla_status status = host.write_tensor(*made[i], bytes[i].data(), &failure_)) return status;
    }
    tla_time_account_pass(account_.get(), to_ps(sc_core::sc_time_stamp()), TLA_TIME_HOST_COPY);
    const tla_status launched = launch(addresses);
    count_pieces(made);
    if (launched) return launched;
    for (std::uint32_t i = 0; i < made.size(); i++) {
        views.push_back(bytes[i].data());
        if (!tl_kernel_comes_out(&kernel_, i)) continue;
        if (const tla_status status = host.read_tensor(*made[i], bytes[i].data(), &failure_)) return status;
    }
    const auto verify = [&] {
        return tl_kernel_verify(&kernel_, &size_, views.data(), expected.data(), &wrong_result_);
    };
    const tla_status status = in_file("check", verify, failure_);
    computed_ = status == TLA_OK || status == wrong_result_.status;
    return computed_ ? TLA_OK : status;
}

// Pages that were allocated on demand are shards, too, in the order of their allocation.
void workload::count_pieces(const std::vector<tensor *> &made) {
    for (std::size_t i = 0; i < made.size(); i++) {
        std::vector<shard> shards = made[i]->shards;
        std::sort(shards.begin(), shards.end(), [](const shard &a, const shard &b) { return a.offset < b.offset; });
        for (std::size_t j = 0; j < shards.size(); j++)
            tensors_[i].pieces += j == 0 || shards[j].pa.value != shards[j - 1].pa.value + shards[j - 1].nbytes;
    }
}

workload::critical_path workload::path() const {
    critical_path path{tensor_alloc_ps(), tensor_map_ps()};
    std::uint64_t first_ps = UINT64_MAX, last_ps = 0;
    for (const pe_unit *pe : platform_.pes()) {
        const processing_element::run &run = pe->element.last_run();
        if (run.end_ps == 0) continue; // did not run
        first_ps = std::min(first_ps, run.start_ps);
        if (run.end_ps <= last_ps) continue;
        last_ps = run.end_ps;
        path.device_alloc_ps = run.alloc_ps;
    }
    if (last_ps > 0) path.kernel_ps = last_ps - first_ps;
    return path;
}

double workload::critical_path::alloc_and_map() const {
    const std::uint64_t all = tensor_alloc_ps + tensor_map_ps + kernel_ps;
    return all ? static_cast<double>(tensor_alloc_ps + tensor_map_ps + device_alloc_ps) / static_cast<double>(all) : 0;
}

std::uint64_t workload::tensor_alloc_ps() const {
    std::uint64_t sum = 0;
    for (const tensor_report &t : tensors_)
        sum += t.alloc_ps;
    return sum;
}

std::uint64_t workload::tensor_map_ps() const {
    std::uint64_t sum = 0;
    for (const tensor_report &t : tensors_)
        sum += t.map_ps;
    return sum;
}

} // namespace tlmalloc
