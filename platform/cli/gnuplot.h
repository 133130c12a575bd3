/* Pictures by gnuplot, where it is installed. */
#ifndef TLMALLOC_PLATFORM_CLI_GNUPLOT_H
#define TLMALLOC_PLATFORM_CLI_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

bool gnuplot_is_there(void);

/* Draws a script that holds its data and names no output into a file that is open. False when gnuplot fails. */
bool gnuplot_draw(const char *script, FILE *picture);

#ifdef __cplusplus
}
#endif
#endif
