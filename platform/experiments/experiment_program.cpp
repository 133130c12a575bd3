// A program whose values share bytes, by the plan of `tlmalloc plan', with real bytes: what TPU-MLIR's literal rule
// overwrites, beside the repaired rule. Every value is compared with a reference that shares no memory.
#include "experiments/experiment_dma.hpp"
#include "network/network.h"
#include "plan/plan_program.h"

#include <algorithm>
#include <cinttypes>
#include <set>

namespace tlmalloc {

namespace {

enum figure { figure_kernel, figure_height, figure_values, figure_outputs, figure_count };

const char *rule_name(std::uint64_t value) {
    static const char *const names[] = {"repaired", "literal"};
    return value < std::size(names) ? names[value] : nullptr;
}

// Tags are further apart than a slice has bytes.
constexpr tla_address_mode modes[] = {TLA_ADDRESS_BASIC, TLA_ADDRESS_IO_ALONE, TLA_ADDRESS_IO_RELOC};

const char *mode_name(std::uint64_t value) {
    return value < std::size(modes) ? tla_address_mode_name(modes[value]) : nullptr;
}

// The program of a row, with the addresses of its values, and its ops as a network.
class planned_program {
  public:
    planned_program() = default;
    planned_program(const planned_program &) = delete;
    planned_program &operator=(const planned_program &) = delete;
    ~planned_program() {
        plan_result_clear(&result_);
        plan_program_clear(&planned_);
        lifetimes_clear(&list_);
    }

    tla_status load(const experiment_parameters &p, tla_error *error) {
        plan_request request{};
        request.trace_path = p.files.at("program").c_str();
        request.method = TLA_PLAN_SIZE_ORDER; // TPU-MLIR's, by size
        request.literal = p.at("rule") == 1;
        request.mode = modes[p.at("address_mode")];
        request.alignment = p.at("align");
        if (request.alignment & (request.alignment - 1))
            return tla_error_set(error, TLA_UNSUPPORTED, "align: expected a power of two");
        tla_status status = lifetimes_load(request.trace_path, TRACE_FIRST_DEVICE, &list_, error);
        if (!status) status = make_ops(request.trace_path, error);
        if (!status) status = plan_program_reduce(&request, &list_, &planned_, error);
        if (!status) status = plan_find(&request, &planned_.planned, &result_, error);
        return status ? status : plan_program_complete(&request, &result_, &planned_, error);
    }

    std::size_t count() const { return list_.count; }
    const char *name(std::size_t value) const { return lifetimes_id(&list_, value); }
    std::uint64_t nbytes(std::size_t value) const { return list_.buffers[value].nbytes; }
    std::uint64_t address(std::size_t value) const { return planned_.addresses[value]; }
    tla_plan_io io(std::size_t value) const { return list_.io[value]; }
    bool is_computed(std::size_t value) const { return !list_.views[value].count && io(value) != TLA_PLAN_INPUT; }
    std::uint64_t height() const {
        std::uint64_t height = 0;
        for (std::size_t v = 0; v < count(); v++)
            height = std::max(height, address(v) + nbytes(v));
        return height;
    }
    std::vector<std::size_t> operands(std::size_t value) const {
        std::size_t n = 0;
        const std::size_t *const first = lifetimes_operands(&list_, value, &n);
        return {first, first + n};
    }
    std::vector<std::uint64_t> arguments(std::size_t value, const std::vector<network_home> &homes) const {
        std::vector<std::uint64_t> arguments(NETWORK_ARGUMENTS_MAX);
        arguments.resize(network_arguments(&ops_, op_of_[value], homes.data(), arguments.data()));
        return arguments;
    }

    // The bytes of all values of a PE, each in memory of its own.
    std::vector<std::vector<std::uint8_t>> compute(std::uint32_t pe) const {
        std::vector<std::vector<std::uint8_t>> all(count());
        std::vector<std::uint8_t *> bytes;
        for (std::size_t v = 0; v < count(); v++) {
            all[v].resize(nbytes(v));
            bytes.push_back(all[v].data());
            if (io(v) == TLA_PLAN_INPUT) network_fill(&ops_, v, pe, bytes[v]);
            if (is_computed(v)) network_compute_op(&ops_, op_of_[v], bytes.data());
            if (list_.views[v].count) view(v, all);
        }
        return all;
    }

  private:
    void view(std::size_t v, std::vector<std::vector<std::uint8_t>> &all) const {
        std::uint64_t to = 0;
        for (const std::size_t source : operands(v)) {
            const std::uint64_t from = list_.views[v].offset, n = std::min(nbytes(source) - from, nbytes(v) - to);
            std::copy_n(&all[source][from], n, &all[v][to]);
            to += n;
        }
    }

    tla_status reject(const char *path, std::size_t v, const char *expected, tla_error *error) const {
        return tla_error_set(error, TLA_UNSUPPORTED, "%s:%" PRIu64 ": a platform runs %s, which '%s' is not", path,
                             list_.first_line + v, expected, name(v));
    }

    // Each computed value is an op of the network.
    tla_status make_ops(const char *path, tla_error *error) {
        if (!list_.views || list_.count == 0)
            return tla_error_set(error, TLA_UNSUPPORTED, "%s: expected a program, a table with the column operands",
                                 path);
        for (std::size_t v = 0; v < count(); v++) {
            const std::vector<std::size_t> read = operands(v);
            if (nbytes(v) % NETWORK_WORD_BYTES || list_.views[v].offset % NETWORK_WORD_BYTES)
                return reject(path, v, "values of whole words of 4 B", error);
            if (is_computed(v) && read.size() >= NETWORK_OP_TENSORS_MAX)
                return reject(path, v, "ops of at most 4 operands", error);
            network_tensor t{};
            t.nbytes = nbytes(v);
            t.bytes_of = v;
            tensors_.push_back(t);
            op_of_.push_back(made_.size());
            if (!is_computed(v)) continue;
            network_op op{};
            std::copy(read.begin(), read.end(), op.tensors);
            op.tensors[read.size()] = v;
            op.input_count = read.size();
            op.output_count = 1;
            made_.push_back(op);
        }
        ops_.tensors = tensors_.data();
        ops_.tensor_count = tensors_.size();
        ops_.ops = made_.data();
        ops_.op_count = made_.size();
        return TLA_OK;
    }

    lifetime_list list_{};
    plan_program planned_{};
    plan_result result_{};
    std::vector<network_tensor> tensors_;
    std::vector<network_op> made_;
    std::vector<std::size_t> op_of_; // of each value
    network ops_{};
};

class program_run : public platform_run {
  public:
    program_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {kernels, 1}), p_(p) {
        platform_.host().main = [this] {
            tla_status status = run();
            if (const tla_status cleaned = platform_.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
            finished_ = status == TLA_OK;
        };
    }

  private:
    static constexpr tl_kernel kernels[] = {network_kernel};

    tla_status deploy() {
        std::vector<planned_tensor> planned;
        for (std::size_t v = 0; v < program_.count(); v++)
            planned.push_back({program_.name(v), program_.nbytes(v), program_.address(v)});
        const tla_status status = platform_.host().deploy("program", program_.height(), planned,
                                                          platform_.host().everywhere(), &made_, &failure_);
        for (const tensor &t : made_.tensors)
            homes_.push_back({t.va.value, program_.height()});
        return status;
    }

    tla_status write_input(std::size_t v) {
        std::vector<std::uint8_t> all;
        for (const auto &pe : expected_)
            all.insert(all.end(), pe[v].begin(), pe[v].end());
        return platform_.host().write_tensor(made_.tensors[v], all.data(), &failure_);
    }

    // The bytes of a value that are not the reference's, in all PEs.
    tla_status look(std::size_t v, std::uint64_t *wrong) {
        const std::uint64_t nbytes = program_.nbytes(v);
        std::vector<std::uint8_t> found(nbytes * expected_.size());
        const tla_status status = platform_.host().read_tensor(made_.tensors[v], found.data(), &failure_);
        *wrong = 0;
        for (std::size_t pe = 0; pe < expected_.size(); pe++)
            for (std::uint64_t i = 0; i < nbytes; i++)
                *wrong += found[pe * nbytes + i] != expected_[pe][v][i];
        if (*wrong) wrong_.insert(v);
        return status;
    }

    // After its op, a value and its operands are as they should be.
    tla_status make(std::size_t v) {
        std::uint64_t wrong = 0;
        host::launched done;
        tla_status status = TLA_OK;
        if (program_.is_computed(v))
            status = platform_.host().launch(0, program_.arguments(v, homes_), &failure_, &done);
        kernel_ps_ += done.duration_ps;
        for (const std::size_t operand : program_.operands(v))
            if (!status) status = look(operand, &wrong);
        return status ? status : look(v, &wrong);
    }

    tla_status run() {
        tla_status status = program_.load(p_, &failure_);
        for (std::uint32_t pe = 0; pe < platform_.pes().size() && !status; pe++)
            expected_.push_back(program_.compute(pe));
        if (!status) status = deploy();
        for (std::size_t v = 0; v < program_.count() && !status; v++)
            if (program_.io(v) == TLA_PLAN_INPUT) status = write_input(v);
        for (std::size_t v = 0; v < program_.count() && !status; v++)
            status = make(v);
        std::uint64_t outputs = 0;
        for (std::size_t v = 0; v < program_.count() && !status; v++) {
            std::uint64_t wrong = 0;
            if (program_.io(v) != TLA_PLAN_INNER) status = look(v, &wrong);
            if (program_.io(v) == TLA_PLAN_OUTPUT) outputs += wrong;
        }
        results_.assign(figure_count, 0);
        results_[figure_kernel] = static_cast<double>(kernel_ps_) / 1e6;
        results_[figure_height] = static_cast<double>(made_.height) / 1024;
        results_[figure_values] = static_cast<double>(wrong_.size());
        results_[figure_outputs] = static_cast<double>(outputs);
        return status;
    }

    const experiment_parameters p_;
    planned_program program_;
    std::vector<std::vector<std::vector<std::uint8_t>>> expected_; // of each PE, of each value
    deployment made_;
    std::vector<network_home> homes_; // of each value
    std::set<std::size_t> wrong_;
    std::uint64_t kernel_ps_ = 0;
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    planned_program program;
    return program.load(p, error);
}

} // namespace

experiment_workload programs() {
    return {"program",
            {{"program", TLA_VALUE_TEXT},
             {"rule", TLA_VALUE_NAMED, rule_name},
             {"address_mode", TLA_VALUE_NAMED, mode_name},
             {"align", TLA_VALUE_SIZE}},
            {"kernel", "height", "wrong_values", "wrong_outputs"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<program_run>(name, config, p));
            },
            check,
            {"us", "KiB", "values", "bytes"}};
}

} // namespace tlmalloc
