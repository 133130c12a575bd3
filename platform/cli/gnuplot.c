/* Pictures by gnuplot: the script is a file without a name, the picture returns by a pipe. */
#include "cli/gnuplot.h"

#include <stdlib.h>

bool gnuplot_is_there(void) {
    return system("command -v gnuplot >/dev/null 2>&1") == 0;
}

bool gnuplot_draw(const char *script, FILE *picture) {
    FILE *file = tmpfile(), *drawn = NULL;
    char command[64], bytes[4096];
    if (file) {
        fputs(script, file);
        fflush(file);
        snprintf(command, sizeof command, "gnuplot /dev/fd/%d", fileno(file));
        drawn = popen(command, "r");
    }
    for (size_t count; drawn && (count = fread(bytes, 1, sizeof bytes, drawn));)
        fwrite(bytes, 1, count, picture);
    const bool good = drawn && pclose(drawn) == 0;
    if (file) fclose(file);
    return good;
}
