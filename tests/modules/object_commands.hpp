// Commands about blocks that are counted, in batches and under keys, and a controller that takes its time for them.
#ifndef TLMALLOC_TESTS_MODULES_OBJECT_COMMANDS_HPP
#define TLMALLOC_TESTS_MODULES_OBJECT_COMMANDS_HPP

#include "controller_bench.hpp"

#include <string>
#include <vector>

namespace object_commands {

using namespace controller_bench;

inline tla_command count_command(tla_opcode opcode, std::uint64_t pa, std::uint64_t timeout_ps = 0) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.pa = {pa};
    command.timeout_ps = timeout_ps;
    return command;
}

inline std::uint64_t statistic_of(const memory_controller &controller, const std::string &name) {
    for (const statistics_group &part : controller.list_statistics())
        for (const statistic &s : part.statistics)
            if (name == s.name) return s.value;
    return UINT64_MAX;
}

inline memory_controller::config priced() {
    memory_controller::config config = small();
    config.cost = {};
    config.cost.fixed_ps = 10'000;
    config.cost.node_ps = 1000;
    config.cost.merge_ps = 300;
    config.cost.metadata_line_ps = 77;
    return config;
}

inline tla_command group(tla_opcode opcode, tla_memory_kind kind = TLA_HBM) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.memory = kind;
    return command;
}

inline std::vector<std::uint64_t> addresses_at(initiator &cpu, std::uint64_t port, std::size_t n) {
    const bytes data = cpu.read(port, 8 * n);
    std::vector<std::uint64_t> result(n);
    for (std::size_t i = 0; i < 8 * n; i++)
        result[i / 8] |= std::uint64_t{data[i]} << 8 * (i % 8);
    return result;
}

} // namespace object_commands

#endif
