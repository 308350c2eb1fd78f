/* A stand-in for Pyxis, for tests. It takes Pyxis's options from srun, sbatch and #SBATCH lines, runs no container, and
 *  - appends one JSON line a task to the file that log= names: job, step, node and every option that was given;
 *  - shows each task the same as CTROPT_CONTAINER_IMAGE=..., flags as 1;
 *  - refuses a mount whose source does not exist on the node, in Pyxis's words;
 *  - ignores mounts without an image, as Pyxis does;
 *  - sets the variables of the file image_env= (NAME=VALUE lines: "the image's environment") except those that
 *    --container-env names, which keep the job's value.
 * Build: gcc -shared -fPIC -o spank_ctropts.so spank_ctropts.c */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <slurm/spank.h>

SPANK_PLUGIN(ctropts, 1)

static int take(int val, const char *arg, int remote);

enum { IMAGE, MOUNTS, WORKDIR, NAME, SAVE, ENV };
#define VALUE(n, info) { n, info, "[stand-in] " n, 1, __COUNTER__, take }
#define FLAG(n)        { n, NULL, "[stand-in] " n, 0, __COUNTER__, take }
static struct spank_option table[] = {
	VALUE("container-image", "IMAGE|PATH"),
	VALUE("container-mounts", "SRC:DST[:FLAGS][,SRC:DST...]"),
	VALUE("container-workdir", "PATH"),
	VALUE("container-name", "NAME[:FLAG]"),
	VALUE("container-save", "PATH"),
	VALUE("container-env", "NAME[,NAME...]"),
	VALUE("container-unshare", "NS[,NS...]"),
	FLAG("container-mount-home"), FLAG("no-container-mount-home"),
	FLAG("container-remap-root"), FLAG("no-container-remap-root"),
	FLAG("container-entrypoint"), FLAG("no-container-entrypoint"),
	FLAG("container-entrypoint-log"),
	FLAG("container-writable"), FLAG("container-readonly"),
	SPANK_OPTIONS_TABLE_END
};
#define N (sizeof table / sizeof *table - 1)
static char got[N][8192];

/* val is the option's place in the table; called where it is parsed, and again in slurmstepd. */
static int take(int val, const char *arg, int remote)
{
	if (table[val].has_arg && (!arg || !*arg)) {
		slurm_error("pyxis: --%s: argument required", table[val].name);
		return -1;
	}
	snprintf(got[val], sizeof got[val], "%s", table[val].has_arg ? arg : "1");
	return 0;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	if (spank_context() == S_CTX_SLURMD)
		return 0;
	for (size_t i = 0; i < N; i++)
		if (spank_option_register(sp, &table[i]) != ESPANK_SUCCESS)
			return -1;
	return 0;
}

static const char *plugin_arg(int ac, char **av, const char *name)
{
	size_t len = strlen(name);
	for (int i = 0; i < ac; i++)
		if (!strncmp(av[i], name, len) && av[i][len] == '=')
			return av[i] + len + 1;
	return NULL;
}

static void json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < 32)
			fprintf(out, "\\u%04x", *s);
		else
			fputc(*s, out);
	fputc('"', out);
}

static void record(spank_t sp, const char *path)
{
	char line[65536] = "", node[256] = "";
	uint32_t job = 0, step = 0;
	FILE *out = fmemopen(line, sizeof line, "w");
	int fd = open(path, O_WRONLY | O_APPEND);

	spank_get_item(sp, S_JOB_ID, &job);
	spank_get_item(sp, S_JOB_STEPID, &step);
	gethostname(node, sizeof node);
	/* the batch script itself is a step with a number near 2^32 */
	fprintf(out, "{\"job\": %u, \"step\": %d, \"node\": \"%s\"", job, (int)step, node);
	for (size_t i = 0; i < N; i++)
		if (*got[i]) {
			fprintf(out, ", \"%s\": ", table[i].name);
			json_string(out, got[i]);
		}
	fputs("}\n", out);
	fclose(out);
	if (fd < 0 || write(fd, line, strlen(line)) < 0) /* one write: lines of several tasks do not mix */
		slurm_error("ctropts: cannot write %s", path);
	close(fd);
}

static int mounts_exist(void)
{
	char copy[8192], *rest = copy, *mount;

	strcpy(copy, got[MOUNTS]);
	while ((mount = strsep(&rest, ","))) {
		char *source = strsep(&mount, ":");
		if (*source != '/' && *source != '.') {
			slurm_error("pyxis: --container-mounts: invalid format: %s", source);
			return 0;
		}
		if (access(source, F_OK)) {
			slurm_error("pyxis: --container-mounts: source path does not exist: %s", source);
			return 0;
		}
	}
	return 1;
}

static void image_environment(spank_t sp, const char *path)
{
	char line[4096], keep[8200], name[4096];
	FILE *in = fopen(path, "r");

	snprintf(keep, sizeof keep, ",%s,", got[ENV]);
	while (in && fgets(line, sizeof line, in)) {
		char *value = strchr(line, '=');
		line[strcspn(line, "\n")] = 0;
		if (!value)
			continue;
		*value++ = 0;
		snprintf(name, sizeof name, ",%.4000s,", line);
		if (!strstr(keep, name))
			spank_setenv(sp, line, value, 1);
	}
	if (in)
		fclose(in);
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	const char *log = plugin_arg(ac, av, "log"), *image_env = plugin_arg(ac, av, "image_env");

	if (log)
		record(sp, log);
	if (!*got[IMAGE] && !*got[NAME]) {
		if (*got[MOUNTS])
			slurm_error("pyxis: ignoring --container-mounts because neither --container-image nor --container-name is set");
		return 0;
	}
	if (*got[MOUNTS] && !mounts_exist())
		return -1;
	if (image_env)
		image_environment(sp, image_env);
	for (size_t i = 0; i < N; i++) {
		char key[64] = "CTROPT_", *k = key + 7;
		for (const char *c = table[i].name; *c; c++)
			*k++ = *c == '-' ? '_' : toupper((unsigned char)*c);
		if (*got[i])
			spank_setenv(sp, key, got[i], 1);
	}
	return 0;
}
