// SPDX-License-Identifier: MIT
// A client of NFS on libnfs, which is not ours, for tests/apps/nfs_program_test.py:
//
//   nfs_client URL VERB [PATH...]
//     mkdir P | rmdir P | unlink P | rename A B | link A B | symlink TEXT P | readlink P
//     chmod OCTAL P | truncate SIZE P | stat P | list P | put LOCAL P | get P LOCAL
//     copy LOCAL_FOLDER P COUNT    writes COUNT files 0, 1, ..., and reads each again
//
// URL is nfs://HOST/EXPORT?nfsport=N&mountport=N. It connects again as often as it must. When a
// connection breaks during a CREATE that the server, killed since, has done already, the repeat
// says EEXIST; for `copy` the file is then its own.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <nfsc/libnfs.h>  // needs struct timeval

enum { BLOCK = 1 << 20 };
static unsigned char block[BLOCK], again[BLOCK];

static int failed(struct nfs_context* nfs, const char* what, const char* path, int code) {
  fprintf(stderr, "%s %s: %s (%s)\n", what, path, strerror(-code), nfs_get_error(nfs));
  return 1;
}

static int put(struct nfs_context* nfs, const char* local, const char* path, int own) {
  struct nfsfh* to = NULL;
  FILE* from = fopen(local, "rb");
  if (from == NULL) {
    perror(local);
    return 1;
  }
  int code = nfs_creat(nfs, path, 0644, &to);
  if (code == -EEXIST && own) code = nfs_open(nfs, path, O_RDWR, &to);
  uint64_t at = 0;
  while (code >= 0) {
    const size_t count = fread(block, 1, sizeof block, from);
    if (count == 0) break;
    code = nfs_pwrite(nfs, to, at, count, block);
    if (code >= 0 && (size_t)code != count) code = -EIO;
    at += count;
  }
  if (code >= 0) code = nfs_fsync(nfs, to);
  if (to != NULL) nfs_close(nfs, to);
  fclose(from);
  return code < 0 ? failed(nfs, "put", path, code) : 0;
}

/// Reads a file; into `local`, or to compare it with that.
static int get(struct nfs_context* nfs, const char* path, const char* local, int compare) {
  struct nfsfh* from = NULL;
  FILE* file = fopen(local, compare ? "rb" : "wb");
  if (file == NULL) {
    perror(local);
    return 1;
  }
  int code = nfs_open(nfs, path, O_RDONLY, &from);
  uint64_t at = 0;
  while (code >= 0) {
    code = nfs_pread(nfs, from, at, sizeof block, block);
    if (code <= 0) break;
    const size_t count = (size_t)code;
    if (compare ? fread(again, 1, count, file) != count || memcmp(block, again, count) != 0
                : fwrite(block, 1, count, file) != count)
      code = -EIO;
    at += count;
  }
  if (code >= 0 && compare && fgetc(file) != EOF) code = -EIO;
  if (from != NULL) nfs_close(nfs, from);
  if (fclose(file) != 0 && code >= 0) code = -EIO;
  return code < 0 ? failed(nfs, "get", path, code) : 0;
}

static int copy(struct nfs_context* nfs, const char* local, const char* path, int count) {
  char from[4096], to[4096];
  const int made = nfs_mkdir(nfs, path);
  if (made < 0 && made != -EEXIST) return failed(nfs, "mkdir", path, made);
  for (int i = 0; i < count; ++i) {
    snprintf(from, sizeof from, "%s/%d", local, i);
    snprintf(to, sizeof to, "%s/%d", path, i);
    if (put(nfs, from, to, 1) != 0 || get(nfs, to, from, 1) != 0) return 1;
  }
  return 0;
}

static int list(struct nfs_context* nfs, const char* path) {
  struct nfsdir* dir = NULL;
  const int code = nfs_opendir(nfs, path, &dir);
  if (code < 0) return failed(nfs, "list", path, code);
  for (struct nfsdirent* e = nfs_readdir(nfs, dir); e != NULL; e = nfs_readdir(nfs, dir))
    printf("%s %o %llu\n", e->name, e->mode & 0777u, (unsigned long long)e->size);
  nfs_closedir(nfs, dir);
  return 0;
}

static int show(struct nfs_context* nfs, const char* path) {
  struct nfs_stat_64 st;
  const int code = nfs_lstat64(nfs, path, &st);
  if (code < 0) return failed(nfs, "stat", path, code);
  printf("mode %llo links %llu uid %llu gid %llu size %llu\n", (unsigned long long)st.nfs_mode,
         (unsigned long long)st.nfs_nlink, (unsigned long long)st.nfs_uid,
         (unsigned long long)st.nfs_gid, (unsigned long long)st.nfs_size);
  return 0;
}

static int run(struct nfs_context* nfs, const char* verb, const char* a, const char* b,
               const char* c) {
  const int two = b[0] != '\0';
  int code = -EINVAL;
  if (strcmp(verb, "list") == 0) return list(nfs, a);
  if (strcmp(verb, "stat") == 0) return show(nfs, a);
  if (strcmp(verb, "put") == 0 && two) return put(nfs, a, b, 0);
  if (strcmp(verb, "get") == 0 && two) return get(nfs, a, b, 0);
  if (strcmp(verb, "copy") == 0 && two) return copy(nfs, a, b, atoi(c));
  if (strcmp(verb, "mkdir") == 0) code = nfs_mkdir(nfs, a);
  if (strcmp(verb, "rmdir") == 0) code = nfs_rmdir(nfs, a);
  if (strcmp(verb, "unlink") == 0) code = nfs_unlink(nfs, a);
  if (strcmp(verb, "rename") == 0) code = nfs_rename(nfs, a, b);
  if (strcmp(verb, "link") == 0) code = nfs_link(nfs, a, b);
  if (strcmp(verb, "symlink") == 0) code = nfs_symlink(nfs, a, b);
  if (strcmp(verb, "chmod") == 0) code = nfs_chmod(nfs, b, (int)strtol(a, NULL, 8));
  if (strcmp(verb, "truncate") == 0) code = nfs_truncate(nfs, b, strtoull(a, NULL, 10));
  if (strcmp(verb, "readlink") == 0) {
    code = nfs_readlink(nfs, a, (char*)block, sizeof block - 1);
    if (code >= 0) printf("%s\n", (char*)block);
  }
  return code < 0 ? failed(nfs, verb, a, code) : 0;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: nfs_client URL VERB PATH...\n");
    return 2;
  }
  struct nfs_context* nfs = nfs_init_context();
  if (nfs == NULL) return 1;
  struct nfs_url* url = nfs_parse_url_dir(nfs, argv[1]);
  if (url == NULL) {
    fprintf(stderr, "%s: %s\n", argv[1], nfs_get_error(nfs));
    return 2;
  }
  int code = nfs_mount(nfs, url->server, url->path);
  const int patient = strcmp(argv[2], "copy") == 0;  // the server may be starting again
  for (int tries = 0; code < 0 && patient && tries < 200; ++tries) {
    usleep(50 * 1000);
    code = nfs_mount(nfs, url->server, url->path);
  }
  if (code < 0) {
    failed(nfs, "mount", argv[1], code);
    return 1;
  }
  nfs_set_autoreconnect(nfs, -1);
  code = run(nfs, argv[2], argv[3], argc > 4 ? argv[4] : "", argc > 5 ? argv[5] : "");
  nfs_destroy_url(url);
  nfs_destroy_context(nfs);
  return code;
}
