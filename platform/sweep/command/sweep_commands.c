/* The commands that can be swept, with the options that can be: a table, to which a new command is a row. Its name
 * finds what runs (cli/commands.h). */
#include "sweep/command/sweep_commands.h"

#include "cli/law_argument.h"

#include <string.h>

/* Finds the paths in "profile DIR" and "platform CONFIG + LAW". */
static size_t paths_of_law(const char *value, sweep_path paths[SWEEP_PATHS_MAX]) {
    static const char profile[] = "profile ";
    const char *config;
    size_t count = 0, length;
    const char *law = platform_law_split(value, &config, &length);
    if (law) paths[count++] = (sweep_path){(size_t)(config - value), length};
    if (!law) law = value;
    if (strncmp(law, profile, sizeof profile - 1) == 0) {
        const char *folder = law + sizeof profile - 1;
        paths[count++] = (sweep_path){(size_t)(folder - value), strlen(folder)};
    }
    return count;
}

const sweep_command sweep_commands[] = {
    {.name = "run",
     .platform = SWEEP_PLATFORM_ARGUMENT,
     .options = {{"--kernel", .is_file = true}, {"--parameter"}, {"--from", .is_file = true}}},
    {.name = "replay",
     .platform = SWEEP_PLATFORM_OPTION,
     .input = true,
     .input_needed = true,
     .options = {{"--capacity"},
                 {"--from", .is_file = true},
                 {"--memory"},
                 {"--policy"},
                 {"--align"},
                 {"--speed"},
                 {"--device"},
                 {"--settings"},
                 {"--pytorch"}}},
    {.name = "traffic",
     .platform = SWEEP_PLATFORM_ARGUMENT,
     .timing_profile = true,
     .input = true,
     .options = {{"--map"}, {"--window"}, {"--pattern"}, {"--seed"}, {"--count"}}},
    {.name = "serve",
     .input = true,
     .input_needed = true,
     .options = {{"--settings", .is_file = true}, {"--step-time", .paths = paths_of_law}, {"--from", .is_file = true}},
     .settings = true},
    {.name = "plan",
     .input = true,
     .input_needed = true,
     .options = {{"--capacity"},
                 {"--method"},
                 {"--minimize", .is_flag = true},
                 {"--time-limit"},
                 {"--device"},
                 {"--address-mode"},
                 {"--io-start"},
                 {"--literal", .is_flag = true},
                 {"--align"}}},
    {.name = "reproduce", .platform = SWEEP_PLATFORM_ARGUMENT, .experiment = true},
    {.name = 0},
};
