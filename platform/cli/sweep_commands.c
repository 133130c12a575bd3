/* The commands that can be swept, with the options that can be: a table, to which a new command is a row. */
#include "cli/sweep_commands.h"

#include "cli/commands.h"

const sweep_command sweep_commands[] = {
    {.name = "run",
     .run = tlmalloc_run,
     .platform = SWEEP_PLATFORM_ARGUMENT,
     .options = {{"--kernel", .is_file = true}, {"--parameter"}, {"--from", .is_file = true}}},
    {.name = "replay",
     .run = tlmalloc_replay,
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
     .run = tlmalloc_traffic,
     .platform = SWEEP_PLATFORM_ARGUMENT,
     .timing_profile = true,
     .input = true,
     .options = {{"--map"}, {"--window"}, {"--pattern"}, {"--seed"}, {"--count"}}},
    {.name = "plan",
     .run = tlmalloc_plan,
     .input = true,
     .input_needed = true,
     .options = {{"--capacity"}, {"--method"}, {"--minimize", .is_flag = true}, {"--time-limit"}, {"--device"}}},
    {.name = "reproduce", .run = tlmalloc_reproduce, .platform = SWEEP_PLATFORM_ARGUMENT, .experiment = true},
    {.name = 0},
};
