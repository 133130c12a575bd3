// `tlmalloc COMMAND ...`: finds the command and runs it inside SystemC's sc_elab_and_sim.
#include "cli/commands.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <systemc>

namespace {

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

const command commands[] = {
    {"run", tlmalloc_run, "build a platform, run a kernel on it, check and report"},
    {"replay", tlmalloc_replay, "replay an allocation trace: placements, failures, cost"},
    {"age", tlmalloc_age, "play a trace and keep the arena's state, for replays that start with it"},
    {"traffic", tlmalloc_traffic, "drive one pseudo-channel's timing with an address trace"},
    {"reproduce", tlmalloc_reproduce, "run experiments and compare them with what was published"},
    {"check", tlmalloc_check, "check a configuration and print it resolved"},
};

void print_help(FILE *out) {
    std::fprintf(out, "Usage: tlmalloc COMMAND [ARGUMENT...]\n\n"
                      "Memory allocators as hardware: a SystemC virtual platform.\n\nCommands:\n");
    for (const command &c : commands)
        std::fprintf(out, "  %-10s %s\n", c.name, c.summary);
    std::fprintf(out, "\n`tlmalloc COMMAND --help` describes a command. `tlmalloc --version` prints the versions.\n"
                      "Exit status: 0 it ran, 1 it failed, 2 bad input.\n");
}

} // namespace

int sc_main(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return CLI_BAD_INPUT;
    }
    if (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return CLI_OK;
    }
    if (std::strcmp(argv[1], "--version") == 0) {
        std::printf("tlmalloc %s (SystemC %s)\n", TLMALLOC_VERSION, sc_core::sc_release());
        return CLI_OK;
    }
    for (const command &c : commands)
        if (std::strcmp(argv[1], c.name) == 0) {
            std::string name = std::string("tlmalloc ") + c.name;
            argv[1] = name.data();
            return c.run(argc - 1, argv + 1);
        }
    std::fprintf(stderr, "tlmalloc: found '%s', expected a command:", argv[1]);
    for (const command &c : commands)
        std::fprintf(stderr, " %s", c.name);
    std::fprintf(stderr, "\nTry `tlmalloc --help'.\n");
    return CLI_BAD_INPUT;
}

// libsystemc brings a main() that prints a banner before sc_main can prevent it; hence one of our own.
int main(int argc, char **argv) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
    return sc_core::sc_elab_and_sim(argc, argv);
}
