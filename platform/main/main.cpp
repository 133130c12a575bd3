// `tlmalloc COMMAND ...`: finds the command and runs it inside SystemC's sc_elab_and_sim.
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/main_stack.hpp"
#include "cli/message.h"
#include "cli/output.h"
#include "main/components.hpp"
#include "model/base/suggest.h"
#include "tlmalloc/version.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <systemc>

namespace {

// Returns a name among the commands of this build.
const char *command_name(std::uint64_t index) {
    for (const cli_command *c = cli_commands(); c->name; c++)
        if (c->run && index-- == 0) return c->name;
    return index == 0 ? "help" : nullptr;
}

const char *option_name(std::uint64_t index) {
    static const char *const names[] = {"--help", "--version"};
    return index < 2 ? names[index] : nullptr;
}

void print_help(FILE *out) {
    std::fprintf(out, "Usage: tlmalloc COMMAND [ARGUMENT...]\n\n"
                      "Memory allocators as hardware: a SystemC virtual platform.\n\nCommands:\n");
    for (const cli_command *c = cli_commands(); c->name; c++)
        if (c->run) std::fprintf(out, "  %-10s %s\n", c->name, c->summary);
    std::fprintf(out, "  %-10s %s\n", "help", "describe a command: `tlmalloc help COMMAND'");
    std::fprintf(out, "\n`tlmalloc COMMAND --help' describes a command too. `tlmalloc --version' prints the versions.\n"
                      "Exit status: 0 success, 1 failure, 2 bad input; after a signal: 128 plus its number.\n");
}

int refuse(const char *text) {
    const bool option = text[0] == '-';
    std::string names;
    for (std::uint64_t i = 0; command_name(i); i++)
        names += std::string(" ") + command_name(i);
    print_message("tlmalloc: found '%s', expected a command:%s%s", text, names.c_str(),
                  tla_did_you_mean(text, option ? option_name : command_name).text);
    print_message("Try `tlmalloc --help'.");
    return CLI_BAD_INPUT;
}

std::string name = "tlmalloc"; // of the command

void tell(const char *what) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), what);
}

// An exception that nothing caught, such as one in a thread of the command's own: unfinished outputs go all the same.
[[noreturn]] void end_by_exception() {
    try {
        if (const std::exception_ptr problem = std::current_exception()) std::rethrow_exception(problem);
    } catch (const std::bad_alloc &) {
        tell("TLA_NO_HOST_MEMORY: no host memory");
        output_remove_unfinished();
        std::_Exit(CLI_FAILED);
    } catch (const std::exception &problem) {
        tell(problem.what());
    } catch (...) {
    }
    output_remove_unfinished();
    std::abort();
}

int run(const cli_command &c, int argc, char **argv) {
    if (!c.run) {
        print_message("tlmalloc %s: %s", c.name, c.missing);
        return CLI_BAD_INPUT;
    }
    name = std::string("tlmalloc ") + c.name;
    interrupt_name(name.c_str());
    argv[0] = name.data();
    try {
        return c.run(argc, argv);
    } catch (const std::bad_alloc &) {
        tell("TLA_NO_HOST_MEMORY: no host memory");
        return CLI_FAILED;
    }
}

// `tlmalloc help [COMMAND]`
int help(int argc, char **argv) {
    if (argc > 2) {
        print_message("tlmalloc help: found a second argument '%s', expected one COMMAND", argv[2]);
        return CLI_BAD_INPUT;
    }
    const cli_command *found = argc == 2 ? cli_find_command(argv[1]) : nullptr;
    if (argc == 2 && !found && std::strcmp(argv[1], "help") != 0) return refuse(argv[1]);
    if (!found) {
        print_help(stdout);
        return CLI_OK;
    }
    char option[] = "--help";
    char *arguments[] = {nullptr, option, nullptr};
    return run(*found, 2, arguments);
}

} // namespace

int sc_main(int argc, char **argv) {
    add_components();
    interrupt_prepare("tlmalloc");
    std::set_terminate(end_by_exception);
    if (argc < 2) {
        print_help(stderr);
        return CLI_BAD_INPUT;
    }
    if (std::strcmp(argv[1], "help") == 0) return help(argc - 1, argv + 1);
    if (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return CLI_OK;
    }
    if (std::strcmp(argv[1], "--version") == 0) {
        std::printf("tlmalloc %s (SystemC %s)\n", tla_version(), sc_core::sc_release());
        return CLI_OK;
    }
    const cli_command *found = cli_find_command(argv[1]);
    return found ? run(*found, argc - 1, argv + 1) : refuse(argv[1]);
}

// libsystemc brings a main() that prints a banner before sc_main can prevent it; hence one of our own.
int main(int argc, char **argv) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
    const int status = sc_core::sc_elab_and_sim(argc, argv);
    restore_main_stack();
    return status;
}
